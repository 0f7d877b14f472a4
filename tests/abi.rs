//! What existing programs rely on: compares the symbols of the library, the values of the constants
//! and the types of every function with the baseline in `abi/`.

#![cfg(all(target_pointer_width = "64", target_os = "linux"))]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::header::{Header, name_of, read, root};
use crate::tools::{Folder, command, library, run, versioned_symbols};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const SYMBOLS: &str = "tests/abi/symbols.txt";
/// The same symbols as dpkg-gensymbols reads them, each with the version that first had it.
const DEBIAN_SYMBOLS: &str = "packaging/libseconder0.symbols";
const CONSTANTS: &str = "tests/abi/constants.txt";
const TYPES: &str = "tests/abi/libseconder.abi";
const ADVICE: &str = "CONTRIBUTING.md, \"The C interface\", says which changes are allowed; \
                      `make abi-baseline` updates the baseline";

#[test]
fn the_symbols_match_the_baseline() {
    let baseline = read(SYMBOLS);
    let current = symbols();
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) =
        (baseline.lines().collect(), current.lines().collect());
    let removed: Vec<_> = old.difference(&new).collect();
    let added: Vec<_> = new.difference(&old).collect();
    assert!(
        removed.is_empty() && added.is_empty(),
        "{SYMBOLS}: removed {removed:?}, added {added:?}. {ADVICE}"
    );
    let version = concat!("@@SECONDER_", env!("CARGO_PKG_VERSION_MAJOR"));
    let ours = |name: &str| name.starts_with("seconder_") && name.ends_with(version);
    let foreign: Vec<_> = new.iter().filter(|name| !ours(name)).collect();
    assert!(new.len() > 100 && foreign.is_empty(), "{foreign:?}");
}

#[test]
fn the_symbols_of_the_debian_package_match_the_baseline() {
    let listed = read(DEBIAN_SYMBOLS);
    let names: Vec<&str> =
        listed.lines().skip(1).filter_map(|line| line.split(' ').nth(1)).collect();
    let expected = debian_symbols(&listed);
    let expected: Vec<&str> =
        expected.lines().skip(1).filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(names, expected, "{DEBIAN_SYMBOLS}: {ADVICE}");
}

/// The file for the library as it is. Functions that it has already keep the version that first had
/// them.
fn debian_symbols(old: &str) -> String {
    let soname = concat!("libseconder.so.", env!("CARGO_PKG_VERSION_MAJOR"));
    let package = concat!("libseconder", env!("CARGO_PKG_VERSION_MAJOR"));
    let version = concat!("SECONDER_", env!("CARGO_PKG_VERSION_MAJOR"));
    let mut names: Vec<String> = symbols().lines().map(|name| name.replace("@@", "@")).collect();
    names.push(format!("{version}@{version}"));
    names.sort();
    let mut text = format!("{soname} {package} #MINVER#\n");
    for name in names {
        let since = old.lines().find_map(|line| line.strip_prefix(&format!(" {name} ")));
        text += &format!(" {name} {}\n", since.unwrap_or(env!("CARGO_PKG_VERSION")));
    }
    text
}

/// One line for each symbol that the library exports, with its version.
fn symbols() -> String {
    let names = versioned_symbols(&library());
    names.iter().map(|name| format!("{name}\n")).collect()
}

#[test]
fn the_constants_match_the_baseline() {
    assert_eq!(constants(), read(CONSTANTS), "{CONSTANTS}: {ADVICE}");
}

fn constants() -> String {
    let constants = Header::read().constants;
    constants.iter().map(|c| format!("{} {}\n", c.name, c.value)).collect()
}

/// abidiff compares the types of the header, as a C compiler understands it, with the baseline.
#[test]
fn the_types_match_the_baseline() {
    let folder = Folder::new();
    let fresh = types(&folder);
    let outcome = run(command("abidiff").arg(root().join(TYPES)).arg(fresh));
    assert!(outcome.good, "{TYPES}: {ADVICE}\n{}", outcome.text);
}

/// It detects a field in the middle of a struct, a changed return type and a removed function.
#[test]
fn abidiff_detects_incompatible_changes() {
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
    let debian = fs::read_to_string(root().join(DEBIAN_SYMBOLS)).unwrap_or_default();
    fs::write(root().join(DEBIAN_SYMBOLS), debian_symbols(&debian)).unwrap();
    fs::write(root().join(CONSTANTS), constants()).unwrap();
    fs::copy(types(&folder), root().join(TYPES)).unwrap();
}

fn types(folder: &Folder) -> PathBuf {
    types_of(folder, &read("include/seconder.h"))
}

/// The output of abidw for a C library with every function of the header. The debug information of
/// the real library would also describe the Rust types behind the handles, which may change.
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
    // The debug information has the path of the source, so the path must not contain the folder.
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
