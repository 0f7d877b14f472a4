//! The static library: only the functions of the header are visible in it, so that it can be linked
//! with anything else.

use super::programs::{Program, Watch, place};
use super::services::Service;
use super::tools::{Folder, Outcome, command, root, run, symbols};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn archive() -> PathBuf {
    place(Watch::Unwatched).join("libseconder.a")
}

/// The linker arguments for libraries that the static one needs, as pkg-config gives them.
fn native() -> Vec<String> {
    let makefile = fs::read_to_string(root().join("packaging/install.mk")).unwrap();
    let line = makefile.lines().find_map(|line| line.strip_prefix("NATIVE_LIBRARIES := "));
    line.unwrap().split_whitespace().map(|name| format!("-l{name}")).collect()
}

/// Runs a tool that must succeed.
fn succeed(program: &str, arguments: &[&Path]) -> String {
    let outcome = run(command(program).args(arguments));
    assert!(outcome.good, "{program}: {}", outcome.text);
    outcome.text
}

#[test]
fn only_the_functions_of_the_header_are_global() {
    let listed = succeed("nm", &[Path::new("-g"), Path::new("--defined-only"), &archive()]);
    let global: Vec<&str> = listed
        .lines()
        .filter(|line| line.split_whitespace().count() == 3)
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    let exported = symbols(&place(Watch::Unwatched).join("libseconder.so"));
    let exported: Vec<&str> = exported.iter().map(String::as_str).collect();
    let mut sorted = global.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, exported);
}

/// A folder with a static library of another project, compiled from one file.
fn library_of(name: &str, compiler: &str, arguments: &[&str], source: &str) -> Folder {
    let folder = Folder::new();
    let archive = folder.path().join(format!("lib{name}.a"));
    let file = folder.write("source", source);
    if compiler == "gcc" {
        let object = folder.path().join("object.o");
        let outcome = run(command("gcc").args(arguments).arg(file).arg("-o").arg(&object));
        assert!(outcome.good, "{}", outcome.text);
        succeed("ar", &[Path::new("crs"), &archive, &object]);
    } else {
        let outcome = run(command(compiler).args(arguments).arg(file).arg("-o").arg(&archive));
        assert!(outcome.good, "{}", outcome.text);
    }
    folder
}

/// Links a program with the library and another one, in either order, and runs it.
fn links_with(source: &str, name: &str, other: &Folder) {
    let theirs = [format!("-L{}", other.path().display()), format!("-l{name}")];
    let ours = [format!("-L{}", place(Watch::Unwatched).display()), "-l:libseconder.a".to_owned()];
    for order in [[ours.clone(), theirs.clone()], [theirs, ours]] {
        let with: Vec<String> = order.into_iter().flatten().chain(native()).collect();
        let program = Program::compile(source, Watch::Unwatched, &with);
        program.ends_well(source, &[program.folder()]);
    }
}

#[test]
fn a_program_keeps_its_own_sqlite() {
    let stub = "#include <stdlib.h>\n\
                const char *sqlite3_libversion(void) { return \"theirs\"; }\n\
                int sqlite3_initialize(void) { return 4711; }\n\
                int sqlite3_open_v2(void) { abort(); }\n\
                int sqlite3_step(void) { abort(); }\n";
    let other = library_of("sqlite3", "gcc", &["-c", "-xc"], stub);
    links_with("tests/safety/own_sqlite.c", "sqlite3", &other);
}

#[test]
fn a_program_may_have_another_library_in_rust() {
    let source = "#[unsafe(no_mangle)]\n\
                  pub extern \"C\" fn others_length(number: u32) -> usize {\n\
                  std::panic::catch_unwind(|| format!(\"{number}\").len()).unwrap_or(0)\n}\n";
    let arguments = ["--edition=2024", "--crate-type=staticlib", "--crate-name=other"];
    #[allow(clippy::disallowed_methods, reason = "cargo names its compiler by the environment")]
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let other = library_of("other", &compiler, &arguments, source);
    links_with("tests/safety/two_in_rust.c", "other", &other);
}

/// No shared library is involved, not even the C library's.
#[test]
fn a_static_program_verifies_by_every_service() {
    let with = [
        vec!["-static".to_owned(), "-DSTATIC".to_owned(), archive().display().to_string()],
        native(),
    ]
    .concat();
    let program = Program::compile("tests/safety/verify.c", Watch::Unwatched, &with);
    let file = program.folder().join("program");
    let segments = succeed("readelf", &[Path::new("-lW"), &file]);
    assert!(!segments.contains("INTERP"), "{segments}");
    for service in Service::each() {
        program.ends_well("verify.c, static", &service.arguments("400"));
    }
}

/// Paths in Rust and in C, of which those of dependencies are absolute, like this one.
#[test]
fn a_build_for_use_does_not_show_where_it_was_made() {
    let build = root().join("build");
    fs::create_dir_all(&build).unwrap();
    let folder = tempfile::tempdir_in(build).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let package = "[package]\nname = \"place\"\nedition = \"2024\"\n[workspace]\n";
    write(
        "Cargo.toml",
        &format!("{package}[lib]\npath = \"lib.rs\"\ncrate-type = [\"staticlib\"]\n"),
    );
    write("lib.rs", &format!("#[path = {:?}]\nmod place;\n", folder.path().join("place.rs")));
    let function = "pub extern \"C\" fn place() -> *const u8 { file!().as_ptr() }";
    write("place.rs", &format!("#[unsafe(no_mangle)]\n{function}\n"));
    write("place.c", "const char *place_in_c(void) { return __FILE__; }\n");

    let shown = |with: &[&str]| {
        let script = "cargo build -q --offline --target-dir . && cc $CFLAGS -c \"$PWD/place.c\"";
        let mut built = command("env");
        let outcome = run(built.args(with).args(["sh", "-c", script]).current_dir(folder.path()));
        assert!(outcome.good, "{}", outcome.text);
        ["debug/libplace.a", "place.o"].map(|file| !shows_paths(&folder.path().join(file)).good)
    };
    assert_eq!(shown(&[]), [true, true]);
    let without = root().join("packaging/without-paths");
    assert_eq!(shown(&[without.to_str().unwrap()]), [false, false]);
}

fn shows_paths(file: &Path) -> Outcome {
    run(command(root().join("packaging/without-paths")).arg("--check").arg(file))
}

#[test]
fn a_path_of_this_machine_is_found() {
    let folder = Folder::new();
    let text = format!("a\0{}/src/lib.rs\0", root().display());
    let outcome = shows_paths(&folder.write("bad", &text));
    assert!(!outcome.good && outcome.text.contains("/src/lib.rs"), "{}", outcome.text);
    assert!(shows_paths(&folder.write("good", "/usr/src/seconder/src/lib.rs")).good);
}
