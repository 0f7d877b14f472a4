//! The files of the project as tokens: comments and strings never count, macros always do, and
//! what is under `#[cfg(test)]` is left out.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::fs;
use std::path::Path;

/// A file of Rust, by its path from the root.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Whether nothing of it is part of what is built for use.
    pub(crate) test: bool,
}

pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Source {
    pub(crate) fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }

    pub(crate) fn syntax(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|e| panic!("{}: {e}", self.path))
    }

    /// The tokens, without what is under `#[cfg(test)]`.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        let stream = self.text.parse().unwrap_or_else(|e| panic!("{}: {e}", self.path));
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        tokens
    }

    /// Every path that the file names, from its root, with the line.
    pub(crate) fn paths(&self) -> Vec<(String, usize)> {
        let tokens = self.tokens();
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            // `pub(in crate::engine)` names who sees an item, and uses nothing.
            if at >= 2 && tokens[at - 1].text == "in" && tokens[at - 2].text == "(" {
                at = path_tree(&tokens, at, "", &mut Vec::new());
                continue;
            }
            at = match is_name(&tokens[at].text) {
                true => path_tree(&tokens, at, "", &mut found),
                false => at + 1,
            };
        }
        let module = self.module();
        found.into_iter().map(|(path, line)| (absolute(&path, &module), line)).collect()
    }

    /// `crate::wire::form` for `src/wire/form.rs`.
    pub(crate) fn module(&self) -> String {
        let inner = self.path.split_once("src/").map_or("", |(_, rest)| rest);
        let inner = inner.strip_suffix(".rs").unwrap_or(inner);
        match inner {
            "lib" | "main" | "" => "crate".into(),
            _ => format!("crate::{}", inner.replace('/', "::")),
        }
    }
}

fn absolute(path: &str, module: &str) -> String {
    let (mut module, mut rest) = (module, path);
    let mut relative = false;
    loop {
        if let Some(after) = rest.strip_prefix("super::") {
            module = module.rsplit_once("::").map_or("crate", |(parent, _)| parent);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("self::") {
            rest = after;
        } else {
            break;
        }
        relative = true;
    }
    let whole = if relative { format!("{module}::{rest}") } else { rest.to_owned() };
    whole.strip_suffix("::self").map(str::to_owned).unwrap_or(whole)
}

/// Reads `a::b::{c, d::*}` from where a name stands, and gives where to go on.
fn path_tree(
    tokens: &[Token],
    start: usize,
    before: &str,
    found: &mut Vec<(String, usize)>,
) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let line = tokens[start].line;
    let (mut path, mut at) = (before.to_owned(), start);
    loop {
        if text(at) == "{" && !path.is_empty() {
            at += 1;
            while text(at) != "}" && at < tokens.len() {
                at = match is_name(text(at)) || text(at) == "*" {
                    true => path_tree(tokens, at, &path, found),
                    false => at + 1,
                };
                if text(at) == "as" {
                    at += 2;
                }
            }
            return at + 1;
        }
        path = if path.is_empty() { text(at).into() } else { format!("{path}::{}", text(at)) };
        at += 1;
        if text(at) != "::" || !(is_name(text(at + 1)) || ["{", "*"].contains(&text(at + 1))) {
            found.push((path, line));
            return at;
        }
        at += 1;
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        let mut push = |text: String| into.push(Token { text, line });
        match tree {
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                let attribute = trees.peek().map(|next| next.to_string().replace(' ', ""));
                if attribute.as_deref() == Some("[cfg(test)]") {
                    let ends = |tree: &TokenTree| match tree {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        other => other.to_string() == ";",
                    };
                    trees.by_ref().skip(1).find(ends);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                let double = punct.spacing() == Spacing::Joint
                    && trees.next_if(|next| next.to_string() == ":").is_some();
                push(if double { "::".into() } else { ":".into() });
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(open.into());
                flatten(group.stream(), into);
                into.push(Token { text: close.into(), line });
            }
            other => push(other.to_string()),
        }
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The Rust files of the project. A file that a `#[cfg(test)] mod` names is a test, and so are those of
/// its folder.
pub(crate) fn sources() -> Vec<Source> {
    let mut paths = files(root(), "");
    paths.retain(|path| path.ends_with(".rs"));
    let source = |path: String| Source { text: read(&path), path, test: false };
    let mut sources: Vec<Source> = paths.into_iter().map(source).collect();
    let tests: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for file in &mut sources {
        let inside =
            |test: &String| file.path.starts_with(&format!("{}/", &test[..test.len() - 3]));
        file.test = file.path.starts_with("tests/")
            || tests.contains(&file.path)
            || tests.iter().any(inside);
    }
    sources
}

/// `src/engine/tests.rs` for `#[cfg(test)] mod tests;` in `src/engine.rs`.
fn test_modules(file: &Source) -> Vec<String> {
    let folder = match file.path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder.to_owned(),
        _ => file.path.trim_end_matches(".rs").to_owned(),
    };
    let declared = file.text.split("#[cfg(test)]\nmod ").skip(1);
    let names = declared.filter_map(|rest| rest.split_once(';').map(|(name, _)| name));
    names
        .filter(|name| is_name(name) && !name.contains(' '))
        .map(|n| format!("{folder}/{n}.rs"))
        .collect()
}

/// The files under a folder, by their paths from the root, without what was built.
pub(crate) fn files(folder: &Path, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let built = ["target", "build", "dist", ".git", ".venv", "__pycache__", ".pytest_cache"]
            .contains(&name.as_str());
        match entry.path().is_dir() {
            true if built => {}
            true => found.extend(files(&entry.path(), &format!("{path}/"))),
            false if name.ends_with(".so") || name == ".git" => {}
            false => found.push(path),
        }
    }
    found.sort();
    found
}
