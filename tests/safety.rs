//! The library leaves no trace in the process that loads it: memory, threads, descriptors and
//! signals stay as they were, whatever arguments it gets, and a forked child is as safe as its
//! parent. The C programs in `safety/` inspect themselves; valgrind and sanitizers check them and
//! those in `c/`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "safety/archive.rs"]
mod archive;
#[path = "safety/elf.rs"]
mod elf;
#[path = "safety/header.rs"]
mod header;
#[path = "safety/programs.rs"]
mod programs;
#[path = "safety/services.rs"]
mod services;
#[path = "safety/stack.rs"]
mod stack;
mod stub;
#[path = "stub/tls.rs"]
mod tls;
#[path = "capi/tools.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod tools;
#[path = "safety/watched.rs"]
mod watched;

use programs::{Program, Watch, place};
use services::Service;
use std::fs;
use tools::library;

/// Loads and unloads the library ten thousand times, as programs with plug-in modules do.
fn loads(service: &Service, every: &str) {
    let program = Program::compile("tests/safety/load.c", Watch::Unwatched, &[]);
    let library = library().display().to_string();
    program.ends_well("load.c", &[&library, &service.url, "10000", every]);
}

#[test]
fn loading_and_unloading_with_a_sandbox_leaks_nothing() {
    loads(&Service::sandbox(), "5");
}

#[test]
fn loading_and_unloading_with_a_database_leaks_nothing() {
    loads(&Service::sqlite(), "50");
}

#[test]
fn loading_and_unloading_with_a_remote_service_leaks_nothing() {
    loads(&Service::http(), "1");
}

fn verifies(service: &Service, times: &str) {
    let program = Program::build("tests/safety/verify.c", Watch::Unwatched);
    program.ends_well("verify.c", &service.arguments(times));
}

#[test]
fn verifications_in_a_sandbox_leak_nothing() {
    verifies(&Service::sandbox(), "100000");
}

#[test]
fn verifications_on_a_database_leak_nothing() {
    verifies(&Service::sqlite(), "100000");
}

#[test]
fn verifications_by_a_remote_service_leak_nothing() {
    verifies(&Service::http(), "100000");
}

#[test]
fn verifications_over_tls_leak_nothing() {
    verifies(&Service::https(), "20000");
}

#[test]
fn a_fork_between_opening_and_verifying_is_safe() {
    let program = Program::build("tests/safety/fork.c", Watch::Unwatched);
    for service in Service::each() {
        program.ends_well("fork.c", &service.arguments("100"));
    }
}

#[test]
fn cancelling_and_logging_in_threads_and_forks_is_safe() {
    Program::build("tests/safety/cancel.c", Watch::Unwatched).ends_well("cancel.c", &["50"]);
}

#[test]
fn no_call_reads_the_environment() {
    let program = Program::build("tests/safety/environment.c", Watch::Unwatched);
    for service in Service::each() {
        program.ends_well("environment.c", &service.places(""));
    }
    let service = Service::https();
    program.ends_well("environment.c", &service.places(&services::proxy(&service)));
}

#[test]
fn invalid_arguments_return_errors() {
    let functions = header::functions(&tools::header());
    let program = Program::build("tests/safety/misuse.c", Watch::Unwatched);
    let lines = fs::read_to_string(program.folder().join("misuse.inc")).unwrap();
    let exported = tools::symbols(&library());
    assert_eq!(functions.len(), exported.len());
    for name in exported {
        assert!(lines.contains(&format!("{{\"{name}\", ")), "{name} is not tested");
    }
    program.ends_well::<&str>("misuse.c", &[]);
}

/// The calls of C in a random order, with valid and invalid arguments.
#[test]
fn calls_in_any_order_return() {
    let program = Program::build("tests/safety/misuse.c", Watch::Program);
    for seed in ["1", "2"] {
        program.ends_well("misuse.c", &["1000", seed]);
    }
}

/// Only the types of C distinguish handles of different kinds: there is no check at run time.
#[test]
fn passing_a_handle_of_another_type_does_not_compile() {
    let text = "#include \"seconder.h\"\nvoid f(seconder_error *e);\n\
                void f(seconder_error *e) { seconder_service_free(e); }\n";
    let folder = tools::Folder::new();
    let source = folder.write("kinds.c", text);
    let outcome =
        tools::run(tools::strict("gcc", "c99").args(["-c", "-o", "/dev/null"]).arg(source));
    assert!(!outcome.good && outcome.text.contains("incompatible"), "{}", outcome.text);
}

#[test]
fn copies_of_the_library_are_independent() {
    let with = [place(Watch::Unwatched).join("libseconder.a").display().to_string()];
    for exporting in [&[][..], &["-rdynamic".to_owned()]] {
        let with = [&with[..], exporting].concat();
        let program = Program::compile("tests/safety/copies.c", Watch::Unwatched, &with);
        let another = program.folder().join("another.so");
        fs::copy(library(), &another).unwrap();
        program.ends_well("copies.c", &[program.folder(), &library(), &another]);
    }
}
