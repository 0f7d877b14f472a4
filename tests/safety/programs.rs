//! Builds the programs in C, and runs them under valgrind or with sanitizers.

use super::tools::{self, Folder, Outcome, built, command, library, root, run, strict};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Which tool watches a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    Unwatched,
    /// The program runs in valgrind, which checks every memory access.
    Valgrind,
    /// The program runs in valgrind's helgrind, which looks for races.
    Helgrind,
    /// The program runs in valgrind's DRD, which looks for races by other means.
    Drd,
    /// The program is built with sanitizers, the library is not.
    Program,
    /// The program and the library, including SQLite, are built with sanitizers.
    All,
}

impl Watch {
    /// The option that selects the tool that looks for races.
    fn races(self) -> Option<&'static str> {
        match self {
            Watch::Helgrind => Some("--tool=helgrind"),
            Watch::Drd => Some("--tool=drd"),
            _ => None,
        }
    }
}

/// How many seconds a program may take.
const PATIENCE: &str = "400";

/// A program, and its folder, in which it may write.
pub(crate) struct Program {
    folder: Folder,
    watch: Watch,
}

impl Program {
    pub(crate) fn build(source: &str, watch: Watch) -> Program {
        Program::link(source, watch, &place(watch))
    }

    /// Builds a program that uses the shared library in a folder.
    pub(crate) fn link(source: &str, watch: Watch, place: &Path) -> Program {
        let library = [
            format!("-L{}", place.display()),
            format!("-Wl,-rpath,{}", place.display()),
            "-lseconder".into(),
        ];
        Program::compile(source, watch, &library)
    }

    /// Builds a program with these linker arguments.
    pub(crate) fn compile(source: &str, watch: Watch, with: &[String]) -> Program {
        let folder = Folder::new();
        if source.ends_with("misuse.c") {
            folder.write("misuse.inc", &super::header::misuses(&tools::header()));
        }
        let watched: &[&str] = match watch {
            Watch::Unwatched => &[],
            Watch::Valgrind | Watch::Helgrind | Watch::Drd => &["-DWATCHED"],
            Watch::Program | Watch::All => {
                &["-DWATCHED", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
            }
        };
        let outcome = run(strict("gcc", "c99")
            .args(["-g", "-I"])
            .arg(folder.path())
            .arg("-I")
            .arg(root().join("tests/c"))
            .args(watched)
            .arg(root().join(source))
            .arg("-o")
            .arg(folder.path().join("program"))
            .args(with)
            .args(["-lpthread", "-ldl", "-lm"]));
        assert!(outcome.good, "{source}: {}", outcome.text);
        Program { folder, watch }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn outcome<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Outcome {
        let mut bounded = command("timeout");
        // `--verbose`, so that a program that was stopped does not look like one that leaks.
        bounded.args(["--verbose", PATIENCE]);
        if self.watch == Watch::Valgrind {
            bounded.args(["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"]);
            // Valgrind runs one thread at a time. Without fair scheduling, threads that verify in a
            // loop can keep the main thread waiting for minutes.
            bounded.args(["--exit-on-first-error=yes", "--fair-sched=yes"]);
            // The same suppressions as are installed for users: memory that dependencies keep.
            let known = root().join("packaging/valgrind.supp");
            bounded.arg(format!("--suppressions={}", known.display()));
        }
        if let Some(tool) = self.watch.races() {
            bounded.args(["valgrind", "-q", "--error-exitcode=9", "--fair-sched=yes", tool]);
            let known = root().join("packaging/helgrind.supp");
            bounded.arg(format!("--suppressions={}", known.display()));
        }
        bounded.arg(self.folder().join("program")).args(arguments).env("UBSAN_OPTIONS", UBSAN);
        run(&mut bounded)
    }

    pub(crate) fn ends_well<S: AsRef<OsStr>>(&self, name: &str, arguments: &[S]) {
        let outcome = self.outcome(arguments);
        assert!(outcome.good, "{name}, watched by {:?}: {}", self.watch, outcome.text);
    }
}

const UBSAN: &str = "print_stacktrace=1";

/// The folder of the library for a watch: the usual one, or the one built with sanitizers.
pub(crate) fn place(watch: Watch) -> PathBuf {
    let usual = library().parent().unwrap().to_owned();
    match watch {
        Watch::All => built_by("sanitized-library"),
        _ => usual,
    }
}

/// The folder of a library that a target of the Makefile of the same name builds.
pub(crate) fn built_by(target: &str) -> PathBuf {
    built(target, target)
}
