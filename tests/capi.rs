//! The C interface as C programs see it: the header, the shared library, and the programs in `c/`,
//! which are built against both.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod abi;
#[path = "capi/daemons.rs"]
mod daemons;
#[path = "capi/examples.rs"]
mod examples;
mod header;
#[path = "capi/logins.rs"]
mod logins;
#[path = "capi/remote_service.rs"]
mod remote_service;
mod stub;
#[path = "capi/tools.rs"]
mod tools;
mod wrapper;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use tools::{Folder, compile, dynamic, header, library, root, run, strict};

const C: &[&str] = &["c89", "c99", "c11", "c17", "c2x"];
const CPP: &[&str] = &["c++98", "c++11", "c++14", "c++17", "c++20", "c++2b"];
/// The programs in `c/` whose only argument is a folder to work in.
const PROGRAMS: &[&str] = &[
    "nothing",
    "options",
    "malformed",
    "schemes",
    "formats",
    "totp",
    "verifier",
    "settings",
    "lookups",
    "waiting",
    "cancel",
    "local",
    "log",
    "finaliser",
    "sandbox",
    "calls",
    "audit",
    "jobs",
    "operate",
    "browsers",
    "factors",
    "login",
    "leaks",
    "threads",
    "two_sqlites",
    "closed_descriptors",
];
// Including the header twice must be harmless.
const INCLUDES: &str = "#include \"seconder.h\"\n#include \"seconder.h\"\n";

#[test]
fn the_header_is_up_to_date() {
    assert!(
        header() == fs::read_to_string(root().join("include/seconder.h")).unwrap_or_default(),
        "include/seconder.h:1: is not up to date with its sources. Regenerate it with `make header`"
    );
}

#[test]
#[ignore = "writes include/seconder.h"]
fn write_header() {
    fs::create_dir_all(root().join("include")).unwrap();
    fs::write(root().join("include/seconder.h"), header()).unwrap();
}

#[test]
fn the_header_is_ascii_and_defines_its_version() {
    let header = header();
    assert!(header.is_ascii());
    assert!(
        header.contains(&format!("#define SECONDER_VERSION \"{}\"", env!("CARGO_PKG_VERSION")))
    );
    let included: Vec<&str> = header.lines().filter_map(|l| l.strip_prefix("#include ")).collect();
    assert_eq!(included, ["<stddef.h>", "<stdint.h>", "<stdbool.h>"]);
}

#[test]
fn the_header_compiles_without_warnings_in_every_standard() {
    let folder = Folder::new();
    let c =
        folder.write("header.c", &format!("{INCLUDES}int main(void) {{ return SECONDER_OK; }}\n"));
    let cpp =
        folder.write("header.cpp", &format!("{INCLUDES}int main() {{ return SECONDER_OK; }}\n"));
    for (compilers, standards, source) in
        [(["gcc", "clang"], C, &c), (["g++", "clang++"], CPP, &cpp)]
    {
        for (compiler, standard) in
            compilers.into_iter().flat_map(|c| standards.iter().map(move |s| (c, s)))
        {
            let outcome = run(strict(compiler, standard).arg("-fsyntax-only").arg(source));
            assert!(outcome.good, "{compiler} -std={standard}: {}", outcome.text);
        }
    }
}

#[test]
fn ignoring_a_status_is_a_compiler_warning() {
    let text = "#include \"seconder.h\"\nint main(void) {\n    (void)seconder_version();\n    \
                seconder_verify(0, 0, 0, 0, 0, 0, 0);\n    return 0;\n}";
    let folder = Folder::new();
    let source = folder.write("unseen.c", text);
    let outcome = run(strict("gcc", "c99").args(["-c", "-o", "/dev/null"]).arg(source));
    assert!(!outcome.good && outcome.text.contains("unused-result"), "{}", outcome.text);
}

#[test]
fn every_function_that_returns_a_status_is_marked_must_use() {
    let text = header();
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[1].starts_with("seconder_status seconder_")) {
        // seconder_error_status() only reads a status that another function has returned.
        let reads_one = pair[1].starts_with("seconder_status seconder_error_status(");
        assert!(pair[0] == "SECONDER_MUST_USE" || reads_one, "{}", pair[1]);
    }
}

#[test]
fn the_library_exports_exactly_what_the_header_declares() {
    assert!(exported().len() > 50);
    assert_eq!(tools::symbols(&library()), exported());
}

fn exported() -> BTreeSet<String> {
    header().lines().filter_map(declared).map(str::to_owned).collect()
}

/// Every build exports every function. Those that need a part that was left out return an error.
#[test]
fn a_library_without_an_engine_exports_the_same_functions() {
    let mut shown = tools::symbols(&tools::variant().join("libseconder.so"));
    assert!(shown.remove("seconder_panic_test"), "the function that only this build has");
    assert_eq!(shown, exported());
    succeeds_with_the_variant("remote");
}

#[test]
fn a_panic_does_not_cross_the_ffi_boundary() {
    succeeds_with_the_variant("panic");
}

fn succeeds_with_the_variant(name: &str) {
    let folder = Folder::new();
    let program = tools::compile_with(&format!("tests/c/{name}.c"), &folder, tools::variant());
    let outcome = run(&mut tools::command(&program));
    assert!(outcome.good, "tests/c/{name}.c: {}", outcome.text);
}

/// The name of the function that a line declares, if any.
fn declared(line: &str) -> Option<&str> {
    let (before, _) = line.split_once('(')?;
    let (kind, name) = before.rsplit_once([' ', '*'])?;
    let is_name = name.starts_with("seconder_") && !kind.is_empty();
    (is_name && !line.starts_with([' ', '#', '/']) && !line.starts_with("typedef")).then_some(name)
}

#[test]
fn the_library_depends_on_system_libraries_only() {
    let found = dynamic();
    let all = |tag: &str| -> Vec<&str> {
        let lines = found.lines().filter(|line| line.contains(tag));
        lines.filter_map(|line| line.split(['[', ']']).nth(1)).collect()
    };
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    assert_eq!(all("(SONAME)"), [format!("libseconder.so.{major}")]);
    for needed in all("(NEEDED)") {
        let system = ["libc.so", "libgcc_s.so", "libm.so", "ld-linux"];
        assert!(system.iter().any(|name| needed.starts_with(name)), "{needed}");
    }
    assert!(all("(RPATH)").is_empty() && all("(RUNPATH)").is_empty());
}

#[test]
fn c_programs_succeed() {
    for name in PROGRAMS {
        let folder = Folder::new();
        let program = compile(&format!("tests/c/{name}.c"), &folder);
        let outcome = run(tools::command(&program).arg(folder.path()));
        assert!(outcome.good, "tests/c/{name}.c: {}", outcome.text);
    }
}

#[test]
fn the_documented_test_in_c_succeeds() {
    let page = fs::read_to_string(root().join("docs/testing.md")).unwrap();
    let (_, code) = page.split_once("```c\n").unwrap();
    let folder = Folder::new();
    folder.write("documented.inc", code.split_once("```").unwrap().0);
    let program = compile("tests/c/documented.c", &folder);
    let outcome = run(&mut tools::command(&program));
    assert!(outcome.good, "docs/testing.md: {}", outcome.text);
}

#[test]
fn a_c_program_invites_phones_to_a_service_that_they_reach() {
    let folder = Folder::new();
    tools::create_database_of_invitations(folder.path());
    let program = compile("tests/c/invitations.c", &folder);
    let outcome = run(tools::command(&program).arg(folder.path()));
    assert!(outcome.good, "tests/c/invitations.c: {}", outcome.text);
}

#[test]
fn the_demo_succeeds() {
    let folder = Folder::new();
    let program = compile("examples/demo.c", &folder);
    let outcome = run(&mut tools::command(&program));
    assert!(outcome.good, "{}", outcome.text);
    assert!(outcome.text.ends_with("All as it should be.\n"), "{}", outcome.text);
}

#[test]
fn recorded_callbacks_are_verified() {
    let vectors = fs::read_to_string(root().join("tests/vectors/callback_signature.json"));
    let vectors: Vec<Value> = serde_json::from_str(&vectors.unwrap()).unwrap();
    let folder = Folder::new();
    let program = compile("tests/c/callback.c", &folder);
    let mut seen = BTreeSet::new();
    for vector in &vectors {
        let text = |field: &str| vector[field].as_str().unwrap_or_default();
        let post = text("method") != "GET";
        let body = vector["body"].as_str().unwrap_or(if post { text("params_json") } else { "" });
        for field in ["api_key", "url", "method", "query", "signature", "nonce"] {
            folder.write(field, text(field));
        }
        folder.write("body", body);
        let found = run(tools::command(&program).arg(folder.path())).text;
        let sent: Value = serde_json::from_str(body).unwrap_or_default();
        let expected = match (text("expect"), &sent["uuid"], &sent["status"]) {
            ("valid", Value::String(uuid), Value::String(status)) if status == "approved" => {
                format!("0 2 {uuid}\n")
            }
            ("valid", Value::String(uuid), Value::String(status)) if status == "denied" => {
                format!("0 3 {uuid}\n")
            }
            ("valid", ..) => continue,
            _ => "16 0 \n".into(),
        };
        assert_eq!(found, expected, "{}", text("name"));
        seen.insert(expected);
    }
    assert!(seen.len() > 1, "the vectors must have callbacks of both kinds");
}

/// Existing programs depend on the offset of each field. Fields may only be added at the end.
#[test]
#[cfg(all(target_pointer_width = "64", target_os = "linux"))]
fn the_layout_of_structs_is_unchanged() {
    let golden = fs::read_to_string(root().join("tests/c/layout.txt")).unwrap_or_default();
    assert_eq!(layout(), golden, "tests/c/layout.txt: a struct changed");
}

#[test]
#[ignore = "writes tests/c/layout.txt"]
fn write_layout() {
    fs::write(root().join("tests/c/layout.txt"), layout()).unwrap();
}

fn layout() -> String {
    let folder = Folder::new();
    folder.write("layout.inc", &fields(&header()));
    let program = compile("tests/c/layout.c", &folder);
    run(&mut tools::command(&program)).text
}

/// A line of C for each field of each struct of the header.
fn fields(header: &str) -> String {
    let (mut name, mut lines) = ("", String::new());
    for line in header.lines() {
        match line.strip_prefix("typedef struct ").and_then(|rest| rest.strip_suffix(" {")) {
            Some(begun) => {
                name = begun;
                lines += &format!("    STRUCT({name});\n");
            }
            None if line.starts_with('}') => name = "",
            // A line of a comment can end like a field.
            None if line.trim_start().starts_with('*') => {}
            None if !name.is_empty() && line.ends_with(';') => {
                let field = line.trim_end_matches(';').rsplit([' ', '*']).next();
                lines += &format!("    FIELD({name}, {});\n", field.unwrap_or_default());
            }
            None => {}
        }
    }
    lines
}
