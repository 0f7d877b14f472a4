//! What programs that are built already rely on: the symbols of the library, the numbers of the
//! constants, and the types behind every function, beside what is committed in `abi/`.
#![cfg(all(feature = "capi", target_pointer_width = "64", target_os = "linux"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "header/mod.rs"]
mod header;
#[allow(dead_code, reason = "shared with the tests of the C interface")]
#[path = "capi/tools.rs"]
mod tools;

use header::{Header, name_of, read, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use tools::{Folder, command, library, run};

const SYMBOLS: &str = "tests/abi/symbols.txt";
const CONSTANTS: &str = "tests/abi/constants.txt";
const TYPES: &str = "tests/abi/libseconder.abi";
const ADVICE: &str = "CONTRIBUTING.md, \"The C interface\", says which changes are allowed; \
                      `make abi-baseline` writes down what is";

#[test]
fn the_symbols_are_those_that_were_promised() {
    let promised = read(SYMBOLS);
    let shown = symbols();
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) =
        (promised.lines().collect(), shown.lines().collect());
    let gone: Vec<_> = old.difference(&new).collect();
    let come: Vec<_> = new.difference(&old).collect();
    assert!(gone.is_empty() && come.is_empty(), "{SYMBOLS}: gone {gone:?}, new {come:?}. {ADVICE}");
    let foreign: Vec<_> = new.iter().filter(|name| !name.starts_with("seconder_")).collect();
    assert!(new.len() > 100 && foreign.is_empty(), "{foreign:?}");
}

/// A line for each symbol that the library shows.
fn symbols() -> String {
    let found = run(command("nm").args(["-D", "--defined-only"]).arg(library()));
    let mut names: Vec<&str> =
        found.text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    names.sort_unstable();
    names.iter().map(|name| format!("{name}\n")).collect()
}

#[test]
fn the_constants_have_the_numbers_that_were_promised() {
    assert_eq!(constants(), read(CONSTANTS), "{CONSTANTS}: {ADVICE}");
}

fn constants() -> String {
    let constants = Header::read().constants;
    constants.iter().map(|c| format!("{} {}\n", c.name, c.value)).collect()
}

/// The header as a C compiler reads it, and abidiff's judgement.
#[test]
fn the_types_are_those_that_were_promised() {
    let folder = Folder::new();
    let fresh = types(&folder);
    let outcome = run(command("abidiff").arg(root().join(TYPES)).arg(fresh));
    assert!(outcome.good, "{TYPES}: {ADVICE}\n{}", outcome.text);
}

/// A field in the middle, another type and a function that is gone are found.
#[test]
fn abidiff_sees_what_breaks_programs() {
    let header = read("include/seconder.h");
    let changes = [
        ("    bool force;\n", "    bool before;\n    /** It. */\n    bool force;\n"),
        ("uint64_t seconder_device_id(", "uint32_t seconder_device_id("),
        ("const char *seconder_version(void);", ""),
    ];
    for (from, to) in changes {
        assert!(header.contains(from), "{from}");
        let folder = Folder::new();
        let changed = types_of(&folder, &header.replace(from, to));
        let outcome = run(command("abidiff").arg(root().join(TYPES)).arg(changed));
        assert!(!outcome.good, "{from}: {}", outcome.text);
    }
}

#[test]
#[ignore = "writes tests/abi"]
fn write_baseline() {
    let folder = Folder::new();
    fs::write(root().join(SYMBOLS), symbols()).unwrap();
    fs::write(root().join(CONSTANTS), constants()).unwrap();
    fs::copy(types(&folder), root().join(TYPES)).unwrap();
}

fn types(folder: &Folder) -> PathBuf {
    types_of(folder, &read("include/seconder.h"))
}

/// What abidw writes of a library that has every function of the header, and that a C compiler
/// built: what a compiler for Rust says of the same types tells of what is behind the handles too,
/// which may change.
fn types_of(folder: &Folder, header: &str) -> PathBuf {
    folder.write("seconder.h", header);
    let mut source = "#include \"seconder.h\"\n".to_owned();
    for function in Header::parse(header).functions {
        let parameters = function.parameters.join(", ");
        let used = function.parameters.iter().map(|p| format!("(void){}; ", name_of(p)));
        let used: String = used.collect();
        let value = if function.returns == "void" { "" } else { "return 0; " };
        let parameters = if parameters.is_empty() { "void" } else { &parameters };
        source +=
            &format!("{} {}({parameters}) {{ {used}{value}}}\n", function.returns, function.name);
    }
    folder.write("header.c", &source);
    let built = folder.path().join("libseconder.so");
    let soname = concat!("-Wl,-soname,libseconder.so.", env!("CARGO_PKG_VERSION_MAJOR"));
    let mut compiler = command("gcc");
    // The name of the source is written down, so it is told without its folder.
    compiler.current_dir(folder.path()).args(["-std=c11", "-g", "-shared", "-fPIC", soname]);
    compiler.arg("header.c").arg("-o").arg(&built);
    let outcome = run(&mut compiler);
    assert!(outcome.good, "{}", outcome.text);
    let written = folder.path().join("libseconder.abi");
    let mut abidw = command("abidw");
    abidw.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]);
    abidw.args(["--no-architecture", "--no-parameter-names", "--type-id-style", "hash"]);
    let outcome = run(abidw.arg("--out-file").arg(&written).arg(built));
    assert!(outcome.good, "{}", outcome.text);
    written
}
