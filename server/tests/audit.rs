//! `seconder audit`, as an operator runs it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::{Handle, Settings, Verify};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).arg("audit").args(arguments).output().unwrap()
}

/// The lines that were printed, without their times.
fn printed(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

/// A database in which somebody was enrolled, and typed a code before the enrolment was completed.
fn database(folder: &Path) {
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let service = Settings::new(&url).application_name("Example").open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let call = Verify::new(user, "1234567".parse().unwrap());
    let _ = service.handle(&Verify { force: false, ..call }).unwrap();
    drop(service);
    let _ = Settings::new(&url).limits("sends=6").open().unwrap();
}

#[test]
fn decisions_are_printed_one_in_each_line_the_latest_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let all = printed(folder, &[]);
    assert_eq!(all[0], "open configured reason=limits");
    let mut of_user = printed(folder, &["--user", "1"]);
    of_user.sort_unstable();
    let expected = [
        "user=1 create_user created number=+1-XXX-XXX-XX23",
        "user=1 verify not_checked reason=not_confirmed",
    ];
    assert_eq!(of_user, expected);
    assert_eq!(printed(folder, &["--verdict", "created"]).len(), 2);
    assert_eq!(printed(folder, &["--limit", "1"]), [all[0].clone()]);
    assert!(printed(folder, &["--until", "1"]).is_empty());
    assert_eq!(printed(folder, &["--since", "1"]), all);
    assert_eq!(printed(folder, &["--since", "1h"]), all);
    assert!(printed(folder, &["--until", "2026-01-01"]).is_empty());
    assert_eq!(printed(folder, &["--call", "verify"]), expected[1..]);
    assert_eq!(printed(folder, &["--call", "verify", "--ip", "192.0.2.1"]), expected[..0]);
    assert!(printed(folder, &["--operator", "ada"]).is_empty());
    assert_eq!(
        printed(folder, &["--since", "yesterday", "--verdict", "created,configured"]).len(),
        3
    );
    let of_two = printed(folder, &["--verdict", "not_checked", "--verdict", "configured"]);
    assert_eq!(of_two, [all[0].clone(), expected[1].to_owned()]);
    let wrong = run(folder, &["--since", "tomorrow"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("2026-11-24T09:30:00Z"), "{wrong:?}");
    let wrong = run(folder, &["--verdict", "wrnog"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("not_looked_up"), "{wrong:?}");
}

/// Commands that change something, in an order in which they find what they are about.
const CHANGES: &[&str] = &[
    "app set --token-length 8",
    "app rotate-key",
    "user create --email eve@example.com --cellphone 555-010-0129 --country-code 1",
    "user set-login --user 2 --login bob",
    "user remove-login --login bob",
    "user unlock --user 1",
    "user set-number --user 1 --number 555-010-0177 --country-code 1 --unverified",
    "user forget-browsers --user 1",
    "user recovery-codes --user 1",
    "user delete --yes --user 2",
    "user register-device --user 1 --type android",
    "route set main gateway=twilio account_sid=AC1 auth_token=@secret from=+15550100100",
    "route remove main",
    "lookup set gateway=twilio account_sid=AC1 auth_token=@secret",
    "lookup remove",
    "limits tries=3",
    "operator add bob --role support",
    "operator rotate-token bob",
    "operator remove bob",
    "keyring reseal",
    "import users.jsonl",
    "spend-codes --yes",
];

#[test]
fn each_change_by_a_command_has_the_name_of_the_user_who_ran_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    std::fs::write(folder.join("secret"), "secret").unwrap();
    assert!(crate::command::run(folder, &["backup", "copy.db"]).status.success());
    std::fs::write(folder.join("users.jsonl"), r#"{"id":7,"login":"eve"}"#).unwrap();
    let as_user = |name: &str, arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.current_dir(folder).args(arguments.split(' ')).env("SUDO_USER", name);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
    };
    let rows = |name: &str| printed(folder, &["--operator", name]).len();
    // Every system has this user.
    for change in CHANGES {
        let (before, all) = (rows("nobody"), printed(folder, &[]).len());
        as_user("nobody", change);
        let (after, total) = (rows("nobody"), printed(folder, &[]).len());
        assert!(after > before, "{change}");
        assert_eq!(after - before, total - all, "{change}: a row has another name");
    }
    as_user("nobody", "restore --replace copy.db");
    assert_eq!(printed(folder, &["--operator", "nobody"]), ["spend_codes done operator=nobody"]);
    as_user("nobody of this machine", "limits tries=4");
    let own = Command::new("id").arg("-un").output().unwrap();
    assert_eq!(rows(String::from_utf8(own.stdout).unwrap().trim()), 1);
}

#[test]
fn decisions_are_counted_by_country_and_call() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let lines = |arguments: &[&str]| {
        let output = run(folder, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&["--by", "country"]), ["1 +1"]);
    assert_eq!(lines(&["--by", "number"]), ["1 +1-XXX-XXX-XX23"]);
    assert_eq!(lines(&["--by", "call", "--user", "1"]), ["1 create_user", "1 verify"]);
    assert_eq!(lines(&["--by", "call", "--limit", "1"]), ["2 open"]);
    assert_eq!(lines(&["--by", "country", "--json"]), [r#"{"country":"+1","times":1}"#]);
    assert!(lines(&["--by", "address"]).is_empty());
}

#[test]
fn decisions_are_printed_as_json() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    let output = run(folder.path(), &["--json", "--verdict", "not_checked"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["call"], &found["user_id"]), (&"verify".into(), &1.into()));
    assert_eq!((&found["reason"], &found["times"]), (&"not_confirmed".into(), &1.into()));
    assert!(found["factor"].is_null() && found["time"].as_i64().unwrap() > 0);
}

#[test]
fn decisions_are_followed_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).args(["audit", "--follow", "--limit", "2"]).stdout(Stdio::piped());
    let mut following = command.spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap().split_once(' ').unwrap().1.to_owned();
    let first = [next(), next()];
    assert_eq!(first[1], "open configured reason=limits");
    // What was printed, or left out by --limit, is not printed again.
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let service = Settings::new(&url).open().unwrap();
    service.create_user("bob@example.com", "555-010-0124", "1").unwrap();
    assert_eq!(next(), "user=2 create_user created number=+1-XXX-XXX-XX24");
    service.delete_user("2".parse().unwrap()).unwrap();
    assert_eq!(next(), "user=2 delete_user done");
    // `head` has enough at some point, which is no failure.
    drop(lines);
    service.create_user("cem@example.com", "555-010-0125", "1").unwrap();
    assert!(following.wait().unwrap().success());
}
