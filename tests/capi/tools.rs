//! Helpers that run compilers, build the shared library, and create folders to work in.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The result of a program.
pub(crate) struct Outcome {
    pub(crate) good: bool,
    /// Its standard error, followed by its standard output.
    pub(crate) text: String,
}

/// Creates the database that `tests/c/invitations.c` opens in this folder: only Rust says where phones reach a
/// service.
pub(crate) fn create_database_of_invitations(folder: &Path) {
    let url = format!("sqlite:{}", folder.join("invitations.db").display());
    let service = seconder::open(&url).unwrap();
    service.engine().unwrap().set_public_url("https://login.example").unwrap();
}

/// Long enough for every step of a program, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until there is a result.
pub(crate) fn eventually<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(result) = poll() {
            return result;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: never");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A folder that is removed when the test ends.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The header as the build just generated it from the sources.
pub(crate) fn header() -> String {
    include_str!(concat!(env!("OUT_DIR"), "/seconder.h")).to_owned()
}

pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

pub(crate) fn run(command: &mut Command) -> Outcome {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = [output.stderr, output.stdout].concat();
    Outcome { good: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// A compiler that treats every warning as an error.
pub(crate) fn strict(compiler: &str, standard: &str) -> Command {
    let mut command = Command::new(compiler);
    command.arg(format!("-std={standard}"));
    command.args(["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror"]);
    if !standard.contains("++") {
        command.arg("-Wstrict-prototypes");
    }
    command.arg("-I").arg(root().join("include"));
    command
}

/// Builds a program in C that finds the library when it runs.
pub(crate) fn compile(source: &str, folder: &Folder) -> PathBuf {
    compile_with(source, folder, place())
}

/// The same with the library of that folder.
pub(crate) fn compile_with(source: &str, folder: &Folder, place: &Path) -> PathBuf {
    let program = folder.path().join("program");
    let outcome = run(strict("gcc", "c99")
        .arg("-I")
        .arg(folder.path())
        .arg(root().join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(place)
        .arg(format!("-Wl,-rpath,{}", place.display()))
        .args(["-lseconder", "-lpthread"]));
    assert!(outcome.good, "{source}: {}", outcome.text);
    program
}

/// The symbols that a library exports, without their version.
pub(crate) fn symbols(library: &Path) -> BTreeSet<String> {
    let names = versioned_symbols(library);
    names.iter().map(|name| name.split('@').next().unwrap_or_default().to_owned()).collect()
}

/// The symbols that a library exports, as `name@@VERSION`, but for the version itself.
pub(crate) fn versioned_symbols(library: &Path) -> BTreeSet<String> {
    let listed = run(command("nm").args(["-D", "--defined-only"]).arg(library)).text;
    let symbols = listed.lines().filter(|line| !line.contains(" A SECONDER_"));
    symbols.filter_map(|line| Some(line.split_whitespace().last()?.to_owned())).collect()
}

pub(crate) fn library() -> PathBuf {
    place().join("libseconder.so")
}

/// The dynamic section of the library.
pub(crate) fn dynamic() -> String {
    run(command("readelf").arg("-d").arg(library())).text
}

/// The folder with the library under all names that linkers and loaders look for.
fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| built("lib", "c-library"))
}

/// The folder of a different build: without an engine, and with a function that panics.
pub(crate) fn variant() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| built("panic-library", "panic-library"))
}

/// A folder below `build/`, in which this target of the Makefile leaves a library.
pub(crate) fn built(folder: &str, target: &str) -> PathBuf {
    let place = root().join("build").join(folder);
    assert!(place.join("libseconder.so").exists(), "`make {target}` builds it");
    place
}
