//! The program `seconder-login`: its exit statuses, and how it asks without a terminal.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

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
        let mut child = Command::new("setsid")
            .arg("--wait")
            .arg(env!("CARGO_BIN_EXE_seconder-login"))
            .arg("--conf")
            .arg(self.0.path().join("pam.conf"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
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
        (vec!["eve"], 4),
        (vec!["../ada"], 1),
        (vec![], 2),
        (vec!["ada", "--nonsense"], 2),
        (vec!["ada", "--set", "trise=1"], 6),
        (vec!["ada", "--set", "except=ada"], 10),
        (vec!["eve", "--set", "unenrolled=ignore"], 11),
        (vec!["ada", "--code-from-stdin"], 7),
        (vec!["ada", "--code-from-stdin", "--set", "on_trouble=ignore"], 11),
    ] {
        let output = files.run(&arguments, "123456\n");
        assert_eq!(status(&output), expected, "{arguments:?}: {}", text(&output.stderr));
    }
    fs::remove_file(files.0.path().join("pam.conf")).unwrap();
    let output = files.run(&["ada", "--set", "on_trouble=ignore"], "");
    assert_eq!(status(&output), 6);
    assert!(text(&output.stderr).contains("pam.conf: cannot be opened: No such file"));
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
    assert_eq!(status(&output), 7);
    let expected = [
        r#"{"ask":"Password and code: ","echo":false}"#,
        r#"{"ask":"Code: ","echo":false}"#,
        r#"{"show":"The second factor cannot be checked now. Try again later.","style":"error"}"#,
        r#"{"outcome":"service unavailable","status":7}"#,
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
        let command =
            format!("(sleep 0.5; printf '{typed}'; sleep 1.5) | script -qec '{program}' /dev/null");
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        text(&output.stdout)
    };
    let shown = typing("hunter22\\nhunter23\\n");
    assert!(shown.contains("Code: ") && shown.contains("A code has 6 to 12 digits."), "{shown}");
    assert!(shown.contains("status 1") && !shown.contains("hunter"), "{shown}");
    // Ctrl-C and Ctrl-D end the question, and the terminal shows again what is typed.
    for key in ["\\003", "\\004"] {
        let shown = typing(key);
        assert!(shown.contains("status 5"), "{shown}");
    }
}
