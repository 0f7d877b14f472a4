//! `seconder keyring`, as an operator runs it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::keyring::Keyring;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.env_remove("CREDENTIALS_DIRECTORY");
    command
}

/// What a command prints, and whether it succeeds.
fn run(command: &mut Command) -> (String, bool) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap().trim_end().to_owned(), output.status.success())
}

fn prints(folder: &Path, arguments: &[&str]) -> String {
    let (text, done) = run(&mut program(folder, arguments));
    assert!(done, "{text}");
    text
}

fn fails(folder: &Path, arguments: &[&str]) -> String {
    let (text, done) = run(&mut program(folder, arguments));
    assert!(!done, "{text}");
    text
}

#[test]
fn keys_are_replaced_while_a_service_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // In the folder of the program, as --database has it by default.
    let service = seconder::open(&format!("sqlite:{}", at.join("seconder.db").display())).unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let listed = prints(at, &["keyring", "list"]);
    let first = listed.lines().nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert!(listed.starts_with("KEY ") && listed.contains(" UTC  current"), "{listed}");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let second = prints(at, &["keyring", "rotate"]);
    service.request_sms(user).unwrap();
    let listed = prints(at, &["keyring", "list", "--values"]);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = listed.lines().skip(1).map(words).collect();
    assert_eq!((&rows[0][0], &rows[0][4..]), (&first, &["old".into(), "3".into()][..]), "{listed}");
    assert_eq!((&rows[1][0], &*rows[1][4], &*rows[1][5]), (&second, "current", "1"), "{listed}");
    // For copies of the ring: a key that is there before it is used.
    let third = prints(at, &["keyring", "rotate", "--unused"]);
    assert!(prints(at, &["keyring", "list"]).lines().last().unwrap().ends_with(" old"));
    prints(at, &["keyring", "rotate", "--to", &third]);
    assert!(prints(at, &["keyring", "list"]).lines().last().unwrap().ends_with(" current"));
    prints(at, &["keyring", "rotate", "--to", &second]);
    assert!(fails(at, &["keyring", "rotate", "--to", "0123456789abcdef"]).contains("has no key"));
    assert_eq!(prints(at, &["keyring", "reseal"]), "sealed 3, unreadable 0");
    assert!(fails(at, &["keyring", "remove", "--key", &first]).contains("less than an hour"));
    assert!(fails(at, &["keyring", "remove", "--key", &second]).contains("is the current key"));
    assert!(fails(at, &["keyring", "remove", "--key", "first"]).contains("16 digits"));
    assert!(service.user_status(user).is_ok());
}

#[test]
fn a_keyring_in_another_place_is_named_by_an_option_or_by_systemd() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(fails(at, &["keyring", "list"]).contains("seconder keyring create"));
    prints(at, &["keyring", "create", "ring"]);
    let mode = fs::metadata(at.join("ring")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(fails(at, &["keyring", "create", "ring"]).contains("exists already"));
    let url = format!("sqlite:{}", at.join("seconder.db").display());
    drop(seconder::Settings::new(&url).keyring(at.join("ring")).open().unwrap());
    assert!(fails(at, &["key"]).contains("restore it from its backup"));
    let key = prints(at, &["key", "--keyring", "ring"]);
    // As systemd passes it: a file of root that a list of rights lets the service read.
    fs::create_dir(at.join("credentials")).unwrap();
    let passed = at.join("credentials/keyring");
    fs::copy(at.join("ring"), &passed).unwrap();
    fs::set_permissions(&passed, fs::Permissions::from_mode(0o400)).unwrap();
    let credentials = |arguments: &[&str]| {
        run(program(at, arguments).env("CREDENTIALS_DIRECTORY", at.join("credentials")))
    };
    assert_eq!(credentials(&["key"]), (key, true));
    fs::remove_file(&passed).unwrap();
    let (text, done) = credentials(&["key"]);
    assert!(!done && text.contains("seconder.db.keys"), "{text}");
    assert!(!Keyring::beside(&at.join("seconder.db")).path().exists());
    let (text, done) = credentials(&["user", "show", "--user", "1", "--url", "unix:/no.sock"]);
    assert!(!done && !text.contains("keyring"), "{text}");
    let named = ["user", "show", "--user", "1", "--url", "unix:/no.sock", "--keyring", "ring"];
    assert!(fails(at, &named).contains("has no effect with unix:"));
}
