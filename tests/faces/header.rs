//! Every function of the header documents what its callers must know.

use super::read;
use seconder::calls::ROUTES;
use seconder::codes;

/// A function, as the header declares it.
struct Function {
    name: String,
    /// Its comment, on one line.
    comment: String,
    returns: String,
    arguments: String,
}

impl Function {
    /// The type of the handle that it returns through `out`.
    fn handle(&self) -> Option<&str> {
        let (before, _) = self.arguments.split_once(" **out")?;
        before.rsplit([' ', '(']).next()
    }
}

/// What a function's comment lacks.
fn faults(function: &Function) -> Vec<String> {
    let says = |text: &str| function.comment.contains(text);
    let mut faults = Vec::new();
    if !function.comment.ends_with('.') {
        faults.push("has no comment of whole sentences".to_owned());
    }
    let status = function.returns.contains("seconder_status") && function.name != "error_status";
    let named = function.comment.split("SECONDER_").skip(1);
    if status && !named.into_iter().any(|rest| !rest.starts_with("OK")) {
        faults.push("names no status but SECONDER_OK".to_owned());
    }
    if function.handle().is_some_and(|handle| !says(&format!("{handle}_free()"))) {
        faults.push("does not name the function that frees its result".to_owned());
    }
    if function.returns.contains('*') && !says("NULL") {
        faults.push("does not say when it returns NULL".to_owned());
    }
    if function.name.ends_with("_free") && !says("NULL is fine.") {
        faults.push("does not say that NULL is fine".to_owned());
    }
    let route = ROUTES.iter().position(|route| route.name == function.name);
    let section = route.map(|at| format!("(interface 4.{})", at + 1));
    if section.is_some_and(|section| route < Some(super::IN_DOCUMENT) && !says(&section)) {
        faults.push("does not name its section of the interface".to_owned());
    }
    faults
}

#[test]
fn every_function_documents_what_its_callers_must_know() {
    let found = functions(&read("include/seconder.h"));
    assert_eq!(found.len(), super::c::c_functions().len(), "every function has a comment");
    let complaints: Vec<String> = found
        .iter()
        .flat_map(|function| {
            let complain =
                |fault| format!("src/capi: seconder_{} {fault}: add it there", function.name);
            faults(function).into_iter().map(complain)
        })
        .collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn faults_in_comments_are_found() {
    let found = functions(
        "/**\n * Does something.\n */\nSECONDER_MUST_USE\nseconder_status seconder_verify(int a,\n    \
         struct seconder_text **out);\n\n/**\n * Returns\n */\nconst char *seconder_x(void);\n",
    );
    let faults: Vec<usize> = found.iter().map(|function| faults(function).len()).collect();
    assert_eq!(faults, [3, 2]);
    assert_eq!(found.first().and_then(Function::handle), Some("seconder_text"));
}

/// Every field of a struct and every constant has a comment of its own.
#[test]
fn every_field_and_constant_has_a_comment() {
    let header = read("include/seconder.h");
    let lines: Vec<&str> = header.lines().collect();
    let undocumented = lines.windows(2).filter(|pair| {
        let is_comment = pair[1].starts_with("     *");
        let field = pair[1].starts_with("    ") && pair[1].ends_with(';') && !is_comment;
        let number = pair[1].strip_prefix("#define SECONDER_").and_then(|d| d.split_once(' '));
        let constant = number.is_some_and(|(name, value)| {
            value.parse::<i64>().is_ok() && !name.starts_with("VERSION")
        });
        (field || constant) && !pair[0].trim().ends_with("*/")
    });
    // The second line of a prototype looks like a field.
    let bad: Vec<&str> =
        undocumented.map(|pair| pair[1]).filter(|line| !line.ends_with(");")).collect();
    assert!(bad.is_empty(), "src/capi: say what these are: {bad:?}");
    assert!(lines.iter().any(|line| line.starts_with("#define SECONDER_FOREVER -1")));
}

fn functions(header: &str) -> Vec<Function> {
    header.split("/**\n").skip(1).filter_map(function).collect()
}

fn function(text: &str) -> Option<Function> {
    let (comment, rest) = text.split_once(" */\n")?;
    let (declared, _) = rest.split_once(");")?;
    let (before, arguments) = declared.split_once('(')?;
    let (returns, name) = before.rsplit_once("seconder_")?;
    if before.contains("typedef") || before.contains('{') || name.contains(char::is_whitespace) {
        return None;
    }
    let lines = comment.lines().map(|line| line.trim_start_matches([' ', '*']));
    Some(Function {
        name: name.to_owned(),
        comment: lines.collect::<Vec<_>>().join(" "),
        returns: returns.to_owned(),
        arguments: arguments.to_owned(),
    })
}

#[test]
fn every_service_code_is_in_the_header_and_the_document() {
    let wanted: Vec<(String, String)> =
        codes::ALL.iter().map(|(name, code, _)| ((*name).to_owned(), (*code).to_owned())).collect();
    let header = read("include/seconder.h");
    let constants: Vec<(String, String)> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define SECONDER_CODE_")?.split_once(" \""))
        .map(|(name, code)| (name.to_owned(), code.trim_end_matches('"').to_owned()))
        .collect();
    assert_eq!(constants, wanted, "cbindgen.toml and src/codes.rs");
    let document = read("docs/interface.md");
    for (name, code, meaning) in codes::ALL {
        let row = format!("| {code} | `{name}` | {meaning} |");
        assert!(document.lines().any(|line| line == row), "docs/interface.md lacks {row}");
    }
}
