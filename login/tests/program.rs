//! The program `seconder-login`: its exit statuses, and how it asks without a terminal.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder with a configuration of a service that does not run, a key and a map of users.
struct Files(tempfile::TempDir);

impl Files {
    fn new(more: &str) -> Files {
        let files = Files(tempfile::tempdir().unwrap());
        let key = files.write("key", "secret\n");
        let users = files.write("users", "ada = 1\n");
        files.write(
            "pam.conf",
            &format!(
                "url = https://127.0.0.1:1\napi_key_file = {}\nusers = file:{}\nmethod = code\n{more}",
                key.display(),
                users.display()
            ),
        );
        files
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Runs the program in a session without a terminal.
    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.start(arguments);
        // It may end before it has read this.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn start(&self, arguments: &[&str]) -> Child {
        Command::new("setsid")
            .arg("--wait")
            .arg(env!("CARGO_BIN_EXE_seconder-login"))
            .arg("--conf")
            .arg(self.0.path().join("pam.conf"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_exit_status_is_the_verdict() {
    let files = Files::new("");
    for (arguments, expected) in [
        (vec!["ada"], 5),
        (vec!["eve"], 7),
        (vec!["../ada"], 1),
        (vec![], 2),
        (vec!["ada", "--nonsense"], 2),
        (vec!["ada", "--set", "trise=1"], 12),
        (vec!["root", "--set", "except=root"], 10),
        (vec!["eve", "--set", "unenrolled=ignore"], 11),
        (vec!["ada", "--code-from-stdin"], 13),
        (vec!["ada", "--code-from-stdin", "--set", "on_trouble=ignore"], 11),
    ] {
        let output = files.run(&arguments, "123456\n");
        assert_eq!(status(&output), expected, "{arguments:?}: {}", text(&output.stderr));
    }
    fs::remove_file(files.0.path().join("pam.conf")).unwrap();
    let output = files.run(&["ada", "--set", "on_trouble=ignore"], "");
    assert_eq!(status(&output), 12);
    assert!(text(&output.stderr).contains("pam.conf: cannot be opened: No such file"));
}

/// A remote user may have chosen the name, and a script may lack the `--` before it.
#[test]
fn a_name_that_is_an_option_lets_nobody_in() {
    let files = Files::new("");
    for name in ["--help", "-h", "--version", "-V", "-hank", "-", "--", "--json", "-Vera"] {
        for more in [&[][..], &["--code-from-stdin"]] {
            let bare = [more, &[name]].concat();
            assert_ne!(status(&files.run(&bare, "123456\n")), 0, "{bare:?}");
            let separated = [more, &["--", name]].concat();
            assert_eq!(status(&files.run(&separated, "123456\n")), 1, "{separated:?}");
        }
    }
    for option in ["--help", "-h", "--version", "-V"] {
        let output = files.run(&[option], "");
        assert_eq!(status(&output), 2, "{option}");
        assert!(text(&output.stdout).contains("seconder-login"), "{option}");
    }
}

#[test]
fn standard_input_that_never_ends_is_not_waited_for() {
    let files = Files::new("");
    for mode in ["--code-from-stdin", "--json"] {
        for typed in ["", "12"] {
            let began = Instant::now();
            let mut child = files.start(&["ada", mode, "--answer-timeout", "1"]);
            let mut input = child.stdin.take().unwrap();
            input.write_all(typed.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            let took = began.elapsed();
            assert_eq!(status(&output), 5, "{mode} {typed:?}");
            assert!(
                took > Duration::from_millis(900) && took < Duration::from_secs(20),
                "{took:?}"
            );
            drop(input);
        }
    }
    let long = "1".repeat(5000) + "\n";
    assert_eq!(status(&files.run(&["ada", "--code-from-stdin"], &long)), 5);
}

#[test]
fn a_code_on_standard_input_is_tried_once_and_shown_nowhere() {
    let files = Files::new("");
    let output = files.run(&["ada", "--code-from-stdin", "--remote", "192.0.2.7"], "no code\n");
    let shown = text(&output.stderr);
    assert_eq!((status(&output), text(&output.stdout).as_str()), (1, ""), "{shown}");
    let expected = "seconder-login: login of ada by seconder-login from 192.0.2.7: denied (one failed \
                    try)\n";
    assert_eq!(shown, expected);
    assert_eq!(status(&files.run(&["ada", "--code-from-stdin"], "")), 5);
}

#[test]
fn programs_ask_in_json() {
    let files = Files::new("first_pass = with_code\n");
    let output =
        files.run(&["ada", "--json"], "{\"answer\":\"secret\"}\n{\"answer\":\"123456\"}\n");
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(status(&output), 13);
    let expected = [
        r#"{"ask":"Password and code: ","echo":false}"#,
        r#"{"ask":"Code: ","echo":false}"#,
        r#"{"show":"The second factor cannot be checked now. Try again later.","style":"error"}"#,
        r#"{"outcome":"service unavailable","status":13}"#,
    ];
    let expected = expected.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(lines, expected);
    for answer in ["", "{}\n", "nonsense\n", "{\"answer\":1}\n", "{\"answre\":\"123456\"}\n"] {
        assert_eq!(status(&files.run(&["ada", "--json"], answer)), 5, "{answer}");
    }
}

/// util-linux's `script` is the terminal.
#[test]
fn the_terminal_is_asked_without_echo() {
    let files = Files::new("tries = 2\n");
    let program = format!(
        "{} --conf {} ada; echo status $?",
        env!("CARGO_BIN_EXE_seconder-login"),
        files.0.path().join("pam.conf").display()
    );
    let typing = |typed: &str| {
        let mut script = Command::new("script")
            .args(["-qec", &program, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Input that ended would end the terminal.
        let mut input = script.stdin.take().unwrap();
        let mut output = script.stdout.take().unwrap();
        let (mut shown, mut bytes, mut is_asked) = (Vec::new(), [0; 1024], false);
        while let Ok(length @ 1..) = output.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..length]);
            if !is_asked && text(&shown).contains("Code: ") {
                is_asked = true;
                input.write_all(typed.as_bytes()).unwrap();
            }
        }
        assert!(is_asked, "{}", text(&shown));
        script.wait().unwrap();
        text(&shown)
    };
    let shown = typing("hunter22\nhunter23\n");
    assert!(shown.contains("Code: ") && shown.contains("A code has 6 to 12 digits."), "{shown}");
    assert!(shown.contains("status 1") && !shown.contains("hunter"), "{shown}");
    // Ctrl-D ends the question.
    let shown = typing("\u{4}");
    assert!(shown.contains("status 5"), "{shown}");
}
