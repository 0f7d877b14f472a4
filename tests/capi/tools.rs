//! Compilers, the shared library, and folders to work in.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::{env, fs};

/// What came of a program.
pub(crate) struct Outcome {
    pub(crate) good: bool,
    /// What it wrote to its two ways out, the errors first.
    pub(crate) text: String,
}

/// A folder that goes when the test ends.
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

/// The header as it was just made of the sources.
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

/// A compiler that forgives nothing.
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

/// The symbols that a library shows.
pub(crate) fn symbols(library: &Path) -> BTreeSet<String> {
    let shown = run(command("nm").args(["-D", "--defined-only"]).arg(library)).text;
    shown.lines().filter_map(|line| Some(line.split_whitespace().last()?.to_owned())).collect()
}

pub(crate) fn library() -> PathBuf {
    place().join("libseconder.so")
}

/// The dynamic section of the library.
pub(crate) fn dynamic() -> String {
    run(command("readelf").arg("-d").arg(library())).text
}

/// Where the library is by all the names that linkers and loaders look for: the folder that
/// `SECONDER_LIBRARY_DIR` names, else one of this test's own.
fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    #[allow(clippy::disallowed_methods, reason = "who runs the tests may have built the library")]
    PLACE.get_or_init(|| match env::var_os("SECONDER_LIBRARY_DIR") {
        Some(place) => root().join(place),
        None => built(&["capi"], "lib"),
    })
}

/// A library of its own kind: without an engine, and with a function that panics.
pub(crate) fn variant() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = built(&["capi,remote,panic-test", "--no-default-features"], "variant");
        // Whoever takes the library from where cargo leaves it must not find this one.
        built(&["capi"], "lib");
        place
    })
}

/// Builds the library with these features, after which more arguments may come, beside what the
/// tests were built into, as `make` does, and puts it into a folder of that name.
fn built(features: &[&str], name: &str) -> PathBuf {
    // Each takes the place of the other where cargo leaves them.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let outcome = run(command(env!("CARGO"))
        .current_dir(root())
        .args(["rustc", "-p", "seconder", "--lib", "--features"])
        .args(features)
        .args(["--crate-type", "cdylib,staticlib", "--target-dir"])
        .arg(target));
    assert!(outcome.good, "{}", outcome.text);
    let place = target.join("tmp").join(name);
    fs::create_dir_all(&place).unwrap();
    let soname = format!("libseconder.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    for name in ["libseconder.so", &soname] {
        // A copy takes the place of another at once, so tests that run meanwhile find either.
        let fresh = place.join(format!("{name}.{}", std::process::id()));
        fs::copy(target.join("debug/libseconder.so"), &fresh).unwrap();
        fs::rename(&fresh, place.join(name)).unwrap();
    }
    place
}
