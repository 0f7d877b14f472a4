//! What a process keeps that loads the library: its memory, threads, descriptors and signals as they
//! were, whatever it is given, and a child as safe as its parent. Programs in C, in `safety/`, look
//! at themselves; valgrind and sanitizers look at them and at the programs of `c/`.
#![cfg(all(feature = "capi", target_os = "linux"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "safety/elf.rs"]
mod elf;
#[path = "safety/header.rs"]
mod header;
#[path = "safety/programs.rs"]
mod programs;
#[path = "safety/services.rs"]
mod services;
mod stub;
#[path = "stub/tls.rs"]
mod tls;
#[path = "capi/tools.rs"]
#[allow(dead_code, reason = "each test file uses its part")]
mod tools;
#[path = "safety/watched.rs"]
mod watched;

use programs::{Program, Watch, place};
use services::Service;
use std::fs;
use tools::library;

/// Whoever loads a module and lets it go, ten thousand times.
fn loads(service: &Service, every: &str) {
    let program = Program::compile("tests/safety/load.c", Watch::Nobody, &[]);
    let library = library().display().to_string();
    program.ends_well("load.c", &[&library, &service.url, "10000", every]);
}

#[test]
fn loading_and_unloading_with_a_sandbox_leaves_nothing() {
    loads(&Service::sandbox(), "5");
}

#[test]
fn loading_and_unloading_with_a_database_leaves_nothing() {
    loads(&Service::sqlite(), "50");
}

#[test]
fn loading_and_unloading_with_a_remote_service_leaves_nothing() {
    loads(&Service::http(), "1");
}

fn verifies(service: &Service, times: &str) {
    let program = Program::build("tests/safety/verify.c", Watch::Nobody);
    program.ends_well("verify.c", &service.arguments(times));
}

#[test]
fn verifications_in_a_sandbox_leave_nothing() {
    verifies(&Service::sandbox(), "100000");
}

#[test]
fn verifications_on_a_database_leave_nothing() {
    verifies(&Service::sqlite(), "100000");
}

#[test]
fn verifications_by_a_remote_service_leave_nothing() {
    verifies(&Service::http(), "100000");
}

#[test]
fn verifications_over_tls_leave_nothing() {
    verifies(&Service::https(), "20000");
}

#[test]
fn a_fork_between_opening_and_verifying_does_no_harm() {
    let program = Program::build("tests/safety/fork.c", Watch::Nobody);
    for service in Service::each() {
        program.ends_well("fork.c", &service.arguments("100"));
    }
}

#[test]
fn wrong_arguments_are_errors() {
    let functions = header::functions(&tools::header());
    let program = Program::build("tests/safety/misuse.c", Watch::Nobody);
    let lines = fs::read_to_string(program.folder().join("misuse.inc")).unwrap();
    let shown = tools::run(tools::command("nm").args(["-D", "--defined-only"]).arg(library()));
    let shown: Vec<&str> =
        shown.text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(functions.len(), shown.len());
    for name in shown {
        assert!(lines.contains(&format!("{{\"{name}\", ")), "{name} is tried");
    }
    program.ends_well::<&str>("misuse.c", &[]);
}

/// C's own types tell handles of different kinds apart.
#[test]
fn a_handle_of_another_kind_does_not_compile() {
    let text = "#include \"seconder.h\"\nvoid f(seconder_error *e);\n\
                void f(seconder_error *e) { seconder_service_free(e); }\n";
    let folder = tools::Folder::new();
    let source = folder.write("kinds.c", text);
    let outcome =
        tools::run(tools::strict("gcc", "c99").args(["-c", "-o", "/dev/null"]).arg(source));
    assert!(!outcome.good && outcome.text.contains("incompatible"), "{}", outcome.text);
}

#[test]
fn copies_of_the_library_do_not_meet() {
    let with = [place(Watch::Nobody).join("libseconder.a").display().to_string()];
    for exporting in [&[][..], &["-rdynamic".to_owned()]] {
        let with = [&with[..], exporting].concat();
        let program = Program::compile("tests/safety/copies.c", Watch::Nobody, &with);
        let another = program.folder().join("another.so");
        fs::copy(library(), &another).unwrap();
        program.ends_well("copies.c", &[program.folder(), &library(), &another]);
    }
}
