//! Parses the C header into its declarations and their comments, for the tests that compare other
//! files with it: the man pages, the C++ wrapper and the ABI.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::Path;

/// A function, such as `seconder_status seconder_verify(const struct seconder_service *service, ...)`.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) returns: String,
    /// The declaration of each parameter; empty for `void`.
    pub(crate) parameters: Vec<String>,
    pub(crate) about: String,
}

/// A struct whose fields are public.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    /// The declaration and the comment of each field.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) about: String,
}

/// An opaque type, an integer type, or a pointer to a function.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) declaration: String,
    pub(crate) about: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) about: String,
}

#[derive(Default)]
pub(crate) struct Header {
    /// The comment at the start of the header.
    pub(crate) opening: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) structs: Vec<Struct>,
    pub(crate) types: Vec<Type>,
    pub(crate) constants: Vec<Constant>,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

impl Header {
    pub(crate) fn read() -> Header {
        Header::parse(&read("include/seconder.h"))
    }

    pub(crate) fn parse(text: &str) -> Header {
        let (opening, _) = text.split_once("*/").unwrap();
        let mut header = Header { opening: comment(opening), ..Header::default() };
        let body = text.split_once("extern \"C\" {\n#endif").unwrap().1;
        let mut about = String::new();
        let mut rest = body.trim_start();
        while !rest.is_empty() {
            let end = match rest {
                _ if rest.starts_with("/*") => rest.find("*/").unwrap() + 2,
                _ if rest.starts_with('#') => rest.find('\n').unwrap_or(rest.len()),
                _ => item_end(rest),
            };
            let (item, after) = rest.split_at(end);
            match item.starts_with("/*") {
                true => about = comment(item),
                false => header.take(item.trim(), std::mem::take(&mut about)),
            }
            rest = after.trim_start();
        }
        assert!(header.functions.len() > 50 && header.structs.len() > 5);
        header
    }

    fn take(&mut self, item: &str, about: String) {
        if let Some(constant) = item.strip_prefix("#define ") {
            let (name, value) = constant.split_once(' ').unwrap_or((constant, ""));
            let (name, value) = (name.into(), value.trim().into());
            return self.constants.push(Constant { name, value, about });
        }
        if item.starts_with('#') || item == "}" {
            return;
        }
        let Some(kind) = item.strip_prefix("typedef ") else {
            return self.functions.push(function(item, about));
        };
        let declaration = one_line(item);
        match kind.split_once('{') {
            Some((named, fields)) => self.structs.push(Struct {
                name: named.trim_start_matches("struct ").trim().into(),
                fields: self::fields(fields),
                about,
            }),
            None => self.types.push(Type { name: type_name(&declaration), declaration, about }),
        }
    }

    pub(crate) fn is_opaque(&self, name: &str) -> bool {
        let declared = format!("typedef struct {name} {name};");
        self.types.iter().any(|kind| kind.declaration == declared)
    }
}

/// Where a declaration ends: at its semicolon, outside of braces.
fn item_end(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ if depth < 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The text of a comment, without its marks.
fn comment(text: &str) -> String {
    let text = text.trim_start_matches(['/', '*']).trim_end_matches(['/', '*']);
    let line = |line: &str| {
        let line = line.trim();
        let bare = line.strip_prefix("* ").or(line.strip_prefix('*')).unwrap_or(line);
        bare.trim_end().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").trim().to_owned()
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn function(item: &str, about: String) -> Function {
    let declaration = one_line(item.trim_start_matches("SECONDER_MUST_USE"));
    let (before, after) = declaration.split_once('(').unwrap();
    let at = before.rfind([' ', '*']).unwrap() + 1;
    let parameters = after.trim_end_matches([')', ';', ' ']);
    let parameters = parameters.split(", ").filter(|p| *p != "void").map(str::to_owned).collect();
    let (returns, name) = (before[..at].trim().to_owned(), before[at..].to_owned());
    Function { name, returns, parameters, about }
}

/// The fields between the braces of a struct.
fn fields(text: &str) -> Vec<(String, String)> {
    let (mut found, mut rest) = (Vec::new(), text.trim_start());
    while let Some(commented) = rest.strip_prefix("/**") {
        let (about, after) = commented.split_once("*/").unwrap();
        let (field, after) = after.split_once(';').unwrap();
        found.push((one_line(field), comment(about)));
        rest = after.trim_start();
    }
    assert!(rest.starts_with('}'), "a field without a comment: {rest}");
    found
}

fn type_name(declaration: &str) -> String {
    match declaration.split_once("(*") {
        Some((_, after)) => after.split_once(')').unwrap().0.into(),
        None => declaration.trim_end_matches(';').rsplit(' ').next().unwrap().into(),
    }
}

/// The name at the end of `const char *name`.
pub(crate) fn name_of(declaration: &str) -> &str {
    declaration.rsplit([' ', '*']).next().unwrap_or_default()
}
