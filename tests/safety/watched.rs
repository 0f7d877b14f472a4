//! Runs the programs in C under valgrind and with sanitizers.

use super::programs::{Program, Watch, built_by};
use super::services::Service;
use super::tools::{create_database_of_invitations, library, root};
use serde_json::Value;
use std::fs;

/// Programs of `c/` that need other arguments than a folder, or a different build of the library.
// The library leaves what belongs to descriptors that the program took, so `closed_descriptors.c` loses memory.
const OTHERS: &[&str] = &[
    "callback.c",
    "closed_descriptors.c",
    "documented.c",
    "layout.c",
    "panic.c",
    "remote.c",
    "remote_service.c",
];

/// Checks that the watch detects faults in the program and in the library.
fn detects_faults(watch: Watch) {
    let program = Program::build("tests/safety/faults.c", watch);
    for fault in ["leak", "beyond"] {
        // A sanitizer only detects what happens in code that was built with it.
        let blind = watch == Watch::Program && fault == "beyond";
        assert_eq!(program.outcome(&[fault]).good, blind, "{watch:?}: {fault}");
    }
}

/// Runs every program. `rounds` is limited by the speed of the watch. With sanitizers, `forks` is
/// 0, as their own locks do not survive a fork while threads allocate.
fn watch(watch: Watch, rounds: &str, forks: &str) {
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/c")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".c") && !OTHERS.contains(&name.as_str()) {
            let program = Program::build(&format!("tests/c/{name}"), watch);
            if name == "invitations.c" {
                create_database_of_invitations(program.folder());
            }
            program.ends_well(&name, &[program.folder()]);
            count += 1;
        }
    }
    assert!(count > 7);
    let misuse = Program::build("tests/safety/misuse.c", watch);
    misuse.ends_well::<&str>("misuse.c", &[]);
    // Valgrind is slower by far, and finds what the first run finds.
    if watch != Watch::Valgrind {
        misuse.ends_well("misuse.c", &["3000", "3"]);
    }
    Program::build("tests/safety/cancel.c", watch).ends_well("cancel.c", &[forks]);
    let (verify, fork) = (
        Program::build("tests/safety/verify.c", watch),
        Program::build("tests/safety/fork.c", watch),
    );
    // Valgrind takes the output of the TLS ciphers' assembly code for uninitialised.
    let supported =
        |service: &Service| watch != Watch::Valgrind || !service.url.starts_with("https:");
    for service in Service::each().into_iter().filter(supported) {
        verify.ends_well("verify.c", &service.arguments(rounds));
    }
    for service in Service::each().into_iter().filter(supported) {
        fork.ends_well("fork.c", &service.arguments(forks));
    }
}

fn callbacks(watch: Watch) {
    let vectors = fs::read_to_string(root().join("tests/vectors/callback_signature.json"));
    let vectors: Vec<Value> = serde_json::from_str(&vectors.unwrap()).unwrap();
    let program = Program::build("tests/c/callback.c", watch);
    for vector in &vectors {
        for field in ["api_key", "url", "method", "query", "signature", "nonce", "body"] {
            let text = vector[field].as_str();
            let body = if field == "body" { vector["params_json"].as_str() } else { None };
            fs::write(program.folder().join(field), text.or(body).unwrap_or_default()).unwrap();
        }
        program.ends_well("callback.c", &[program.folder()]);
    }
}

#[test]
#[ignore = "`make test-safety` builds what it needs"]
fn valgrind_reports_no_errors() {
    detects_faults(Watch::Valgrind);
    watch(Watch::Valgrind, "400", "1");
    let program = Program::compile("tests/safety/load.c", Watch::Valgrind, &[]);
    let library = library().display().to_string();
    program.ends_well("load.c", &[&library, "sandbox:", "3", "1"]);
}

/// With the suppressions that are installed, helgrind and DRD report the races of a program, even in
/// a function that the library calls, and none in the library.
#[test]
#[ignore = "`make test-safety` builds what it needs"]
fn tools_for_races_report_those_of_the_program_only() {
    for watch in [Watch::Helgrind, Watch::Drd] {
        let program = Program::build("tests/safety/races.c", watch);
        let folder = program.folder().display().to_string();
        let outcome = program.outcome(&[&folder, "race"]);
        let reported = !outcome.good && outcome.text.contains("deliver (races.c:");
        assert!(reported, "{watch:?} does not report the race: {}", outcome.text);
        program.ends_well("races.c", &[&folder, "none"]);
    }
}

#[test]
#[ignore = "`make test-safety` builds what it needs"]
fn sanitized_programs_report_no_errors() {
    detects_faults(Watch::Program);
    watch(Watch::Program, "5000", "0");
}

#[test]
#[ignore = "`make test-safety` builds what it needs"]
fn sanitized_programs_and_library_report_no_errors() {
    detects_faults(Watch::All);
    watch(Watch::All, "5000", "0");
    callbacks(Watch::All);
}

#[test]
#[ignore = "`make test-safety` builds what it needs"]
fn a_panic_does_not_leave_the_library() {
    let place = built_by("panic-library");
    for watch in [Watch::Valgrind, Watch::Program] {
        Program::link("tests/c/panic.c", watch, &place).ends_well::<&str>("panic.c", &[]);
    }
    Program::build("tests/c/panic.c", Watch::All).ends_well::<&str>("panic.c", &[]);
}
