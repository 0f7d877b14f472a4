//! Runs the programs of the README as a reader would: once with the code that was sent, and with
//! wrong codes. The C and Python programs need what `make test` builds.

use std::ffi::OsString;
use std::fs;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a build on a slow machine.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn the_rust_program_accepts_only_the_right_code() {
    let example = fs::read_to_string(root().join("examples/login.rs")).unwrap();
    let program = example.split_once("\n\n").map_or("", |(_, program)| program);
    assert_eq!(block("rust,no_run"), program, "README.md and examples/login.rs must be the same");
    // Cargo builds the examples with the tests.
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debug/examples/login");
    accepts_only_the_right_code(|_| Ok(Command::new(&built)));
}

#[test]
#[ignore = "`make test` builds build/lib and runs it"]
fn the_c_program_accepts_only_the_right_code() {
    let library = root().join("build/lib");
    accepts_only_the_right_code(|folder| {
        fs::write(folder.join("login.c"), block("c"))?;
        let compiled = Command::new("cc")
            .args([
                "-std=c11",
                "-Wall",
                "-Wextra",
                "-pedantic",
                "-Werror",
                "login.c",
                "-o",
                "login",
            ])
            .arg(option("-I", &root().join("include")))
            .arg(option("-L", &library))
            .arg(option("-Wl,-rpath,", &library))
            .arg("-lseconder")
            .current_dir(folder)
            .status()?;
        assert!(compiled.success(), "the C program does not compile");
        Ok(Command::new(folder.join("login")))
    });
}

#[test]
#[ignore = "`make test` builds build/venv and runs it"]
fn the_python_program_accepts_only_the_right_code() {
    accepts_only_the_right_code(|folder| {
        fs::write(folder.join("login.py"), block("python"))?;
        let mut python = Command::new(root().join("build/venv/bin/python"));
        python.arg("login.py");
        Ok(python)
    });
}

/// The transcript is what the demos print. Digits are masked, as codes are random.
#[test]
#[ignore = "`make test` builds what it needs and runs it"]
fn the_transcript_is_what_the_demos_print() {
    let mut demo = Command::new("make");
    // Cargo describes this package to its tests in the environment. Build scripts such as ring's run again when these
    // variables change, so the demo would compile all that depends on them, and so would the next build.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|of| text.starts_with(of)) {
            demo.env_remove(&name);
        }
    }
    let demo = demo.args(["-s", "demo"]).current_dir(root()).output().unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    let printed = String::from_utf8_lossy(&demo.stdout);
    let begin = printed.find("== The demo in Rust").unwrap_or_default();
    let masked = |text: &str| text.trim().replace(|c: char| c.is_ascii_digit(), "N");
    assert_eq!(
        masked(&fs::read_to_string(root().join("tests/transcript.txt")).unwrap()),
        masked(&printed[begin..]),
        "tests/transcript.txt is not up to date: replace it by the output of `make -s demo`"
    );
}

/// Runs a program three times, each time in a new folder.
fn accepts_only_the_right_code(program: impl Fn(&Path) -> Result<Command>) {
    let run = |typed: &dyn Fn(&str) -> String| match run(&program, typed) {
        Ok(output) => output,
        Err(error) => panic!("the program does not run: {error}"),
    };
    let right = run(&|code| code.to_owned());
    assert!(right.contains("Welcome, Ada."), "the right code must be accepted:\n{right}");
    let wrong = run(&|code| if code == "0000000" { "0000001" } else { "0000000" }.into());
    assert!(!wrong.contains("Welcome"), "a wrong code must be rejected:\n{wrong}");
    let other = run(&|_| "../sms".into());
    assert!(!other.contains("Welcome"), "an invalid code must be rejected:\n{other}");
}

/// The output of a program for which `typed` turns the code of its message into the input.
fn run(
    program: impl Fn(&Path) -> Result<Command>,
    typed: impl Fn(&str) -> String,
) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let mut child = program(folder.path())?
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let started = Instant::now();
    let spool = folder.path().join("seconder.spool");
    let code = loop {
        match sent(&spool)? {
            Some(code) => break code,
            None if started.elapsed() > PATIENCE || child.try_wait()?.is_some() => {
                return Err(Error::new(ErrorKind::NotFound, "no message was delivered"));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if let Some(mut stdin) = child.stdin.take() {
        writeln!(stdin, "{}", typed(&code))?;
    }
    Ok(String::from_utf8_lossy(&child.wait_with_output()?.stdout).into_owned())
}

/// The code of the message in the folder, as soon as there is one.
fn sent(spool: &Path) -> Result<Option<String>> {
    let files = fs::read_dir(spool).into_iter().flatten().flatten().map(|file| file.path());
    let message = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "txt"));
    let Some(message) = message else { return Ok(None) };
    let text = fs::read_to_string(message)?;
    Ok(text.lines().find_map(|line| line.strip_prefix("Code: ")).map(str::to_owned))
}

/// The README's first code block in that language.
fn block(language: &str) -> String {
    let readme = fs::read_to_string(root().join("README.md")).unwrap_or_default();
    let start = format!("```{language}\n");
    let found = readme.split_once(&start).and_then(|(_, rest)| rest.split_once("```\n"));
    found.map_or_else(
        || panic!("README.md has no code block in {language}"),
        |(block, _)| block.into(),
    )
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}
