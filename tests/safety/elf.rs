//! The library's ELF file: what the loader does with it.

use super::programs::{Watch, place};
use super::tools::{command, library, run};

fn read(option: &str) -> String {
    run(command("readelf").args([option, "-W"]).arg(library())).text
}

/// The lines of readelf's output that begin with a word.
fn rows<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.split_whitespace().next() == Some(first)).collect()
}

#[test]
fn no_segment_is_both_writable_and_executable() {
    let segments = read("-l");
    let stack = rows(&segments, "GNU_STACK");
    assert!(stack.len() == 1 && stack[0].contains(" RW "), "{segments}");
    let loaded = rows(&segments, "LOAD");
    assert!(loaded.len() > 2, "{segments}");
    assert!(loaded.iter().all(|line| !(line.contains('W') && line.contains(" R E "))));
    assert!(loaded.iter().all(|line| !line.contains("RWE")), "{segments}");
}

#[test]
fn symbols_are_resolved_at_load_and_then_read_only() {
    assert_eq!(rows(&read("-l"), "GNU_RELRO").len(), 1);
    let dynamic = read("-d");
    assert!(dynamic.contains("(FLAGS)") && dynamic.contains("BIND_NOW"), "{dynamic}");
    assert!(!dynamic.contains("TEXTREL"), "{dynamic}");
    assert!(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"), "{dynamic}");
}

/// Its dependencies allocate memory for the whole process, which every `dlclose()` would leak.
#[test]
fn the_library_is_never_unloaded() {
    assert!(read("-d").contains("NODELETE"));
}

#[test]
fn the_library_starts_no_programs_and_changes_no_signals_or_environment() {
    let needed = run(command("nm").args(["-D", "--undefined-only"]).arg(library())).text;
    let names: Vec<&str> = needed
        .lines()
        .filter_map(|line| line.split_whitespace().last()?.split('@').next())
        .collect();
    // Without a name that must be there, an empty list would pass.
    assert!(names.contains(&"malloc"), "{needed}");
    for name in [
        "sigaction",
        "signal",
        "setenv",
        "putenv",
        "unsetenv",
        "atexit",
        "system",
        "umask",
        "fork",
        "vfork",
        "execv",
        "execve",
        "execvp",
        "posix_spawn",
        "posix_spawnp",
        "setuid",
        "setgroups",
    ] {
        assert!(!names.contains(&name), "{name} is called");
    }
    assert!(place(Watch::Unwatched).join("libseconder.a").exists());
}
