//! The commands that list and change what an application has, as an operator runs them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod doctor;
mod init;
mod json;
mod maintain;
mod output;
mod owner;
mod password;
mod tables;

use crate::command::{error_of, printed};
use crate::terminal::Terminal;
use seconder::calls::{ActivityType, CreateApproval, RegisterActivity};
use seconder::engine::DeviceType;
use seconder::{Handle, Service, Settings};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The objects that a command printed, one in each line.
fn objects(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = printed(folder, &[arguments, &["--json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A database with two users.
fn database(folder: &Path) -> Service {
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let service = Settings::new(&url).open().unwrap();
    for number in ["555-010-0123", "555-010-0124"] {
        service.create_user("ada@example.com", number, "1").unwrap();
    }
    service
}

#[test]
fn limits_are_shown_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    let shown = printed(folder, &["limits"]);
    assert!(shown.starts_with("LIMIT  "), "{shown}");
    let row = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row(&shown, "tries"), "tries 5 5");
    assert_eq!(row(&shown, "countries"), "countries all all");
    let changed = printed(folder, &["limits", "tries=3", "countries=1+44"]);
    assert_eq!(changed, "tries 3, countries 1+44");
    let shown = printed(folder, &["limits"]);
    assert_eq!(row(&shown, "tries"), "tries 3 5");
    assert_eq!(row(&shown, "countries"), "countries 1+44 all");
    let wrong = error_of(folder, &["limits", "tries=4", "sends=0"]);
    assert!(wrong.contains("sends") && wrong.contains("1 to 100"), "{wrong}");
    let object = &objects(folder, &["limits"])[0];
    assert_eq!((&object["tries"], &object["countries"]), (&3.into(), &vec![1, 44].into()));
}

#[test]
fn users_are_listed_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    let list = printed(folder, &["user", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("ID  E-MAIL ") && lines.len() == 4, "{list}");
    assert_eq!(lines[3], "2 of 2");
    assert!(printed(folder, &["user", "list", "--limit", "1"]).ends_with("\n1 of 2"));
    assert!(lines[1].starts_with("2   ada@example.com  +1-XXX-XXX-XX24  no"), "{list}");
    let ids =
        |users: Vec<Value>| users.iter().map(|user| user["user_id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(objects(folder, &["user", "list"])), [2, 1]);
    assert_eq!(ids(objects(folder, &["user", "list", "--limit", "1"])), [2]);
    let found = printed(folder, &["user", "find", "ADA@example.com"]);
    assert!(found.contains("\n1   ada@example.com") && found.ends_with("\n2 found"), "{found}");
    assert_eq!(ids(objects(folder, &["user", "find", "0124"])), [2]);
    assert_eq!(ids(objects(folder, &["user", "find", "+1 555 010 0123"])), [1]);
    let first = printed(folder, &["user", "find", "ada", "--limit", "1"]);
    assert!(first.ends_with("\nthe first 1: more follow"), "{first}");
    assert!(printed(folder, &["user", "find", "%"]).ends_with("\nno user was found"));
    assert_eq!(printed(folder, &["user", "lock", "--user", "1"]), "user 1 is locked");
    assert_eq!(ids(objects(folder, &["user", "list", "--locked"])), [1]);
    assert!(printed(folder, &["user", "show", "--user", "1"]).contains("\nlocked since 20"));
    assert_eq!(printed(folder, &["user", "unlock", "--user", "1"]), "user 1 is unlocked");
    assert!(objects(folder, &["user", "list", "--locked"]).is_empty());
    assert_eq!(printed(folder, &["user", "delete", "--yes", "--user", "2"]), "user 2 is deleted");
    assert_eq!(ids(objects(folder, &["user", "list"])), [1]);
    let gone = error_of(folder, &["user", "delete", "--yes", "--user", "2"]);
    assert!(gone.contains("User not found"), "{gone}");
}

#[test]
fn what_cannot_be_undone_is_asked_for_at_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    printed(folder, &["app", "create", "--name", "Second"]);
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let commands: [(&[&str], &str); 3] = [
        (&["user", "delete", "--user", "2"], "User 2 is ada@example.com, +1-XXX-XXX-XX24, since "),
        (&["app", "delete", "2"], "Application 2 is \"Second\" and has 0 users."),
        (&["spend-codes"], "remembered browsers and tokens of operators will be void."),
    ];
    let changes = || printed(folder, &["audit", "--limit", "1000"]).lines().count();
    for (command, shown) in commands {
        let before = changes();
        let refused = error_of(folder, command);
        assert!(refused.contains("yes is required without a terminal"), "{refused}");
        let at_terminal = |answer: &str| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_seconder"));
            program.args(command).args(["--database", &url]);
            let mut terminal = Terminal::start(program, 200);
            let asked = terminal.until("Type yes to go on: ");
            assert!(asked.contains(shown), "{asked}");
            terminal.type_in(answer);
            terminal.end().1.success()
        };
        assert!(!at_terminal("y\n"), "{command:?}");
        assert_eq!(changes(), before, "{command:?}");
        assert!(at_terminal("yes\n"), "{command:?}");
        assert!(changes() > before, "{command:?}");
    }
}

#[test]
fn devices_activities_and_approval_requests_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = database(folder);
    let user = "1".parse().unwrap();
    service.engine().unwrap().register_device(user, DeviceType::Ios).unwrap();
    service.handle(&RegisterActivity::new(user, ActivityType::PasswordReset)).unwrap();
    let call = CreateApproval::new(user, "Pay 5?\nTo Bob".parse().unwrap());
    let uuid = service.handle(&call).unwrap().uuid.to_string();
    let shown = printed(folder, &["user", "show", "--user", "1"]);
    assert!(shown.contains("\ndevice id=1 \"ios\" created_at="), "{shown}");
    assert_eq!(objects(folder, &["user", "show", "--user", "1"])[0]["phones"][0]["type"], "ios");
    let activities = printed(folder, &["user", "activities", "--user", "1"]);
    assert!(activities.lines().nth(1).unwrap().contains("  password_reset  "), "{activities}");
    let approvals = printed(folder, &["approval", "list"]);
    let line = approvals.lines().nth(1).unwrap();
    assert!(line.starts_with(&format!("{uuid}  1     ")), "{approvals}");
    assert!(line.ends_with("  Pay 5? To Bob"), "{approvals}");
    assert!(objects(folder, &["approval", "list", "--user", "2"]).is_empty());
    let cancelled = printed(folder, &["approval", "cancel", &uuid]);
    assert_eq!(cancelled, format!("{uuid} has expired"));
    assert!(objects(folder, &["approval", "list"]).is_empty());
    assert!(error_of(folder, &["approval", "cancel", &uuid]).contains("not open any more"));
}

#[test]
fn operators_are_added_with_a_token_that_is_shown_once_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = database(folder);
    let token = printed(folder, &["operator", "add", "ada", "--role", "admin"]);
    assert!(token.starts_with("sop_") && token.len() == 47, "{token}");
    let expiring = ["operator", "add", "bob", "--role", "read", "--expires-in", "90d", "--json"];
    let added: Value = serde_json::from_str(&printed(folder, &expiring)).unwrap();
    assert_eq!((&added["name"], &added["role"]), (&"bob".into(), &"read".into()));
    let list = printed(folder, &["operator", "list"]);
    let columns =
        |line: &str| line.split("  ").map(str::trim).filter(|column| !column.is_empty()).count();
    assert!(list.starts_with("NAME  ROLE "), "{list}");
    assert!(list.lines().all(|line| columns(line) == 6) && list.lines().count() == 3, "{list}");
    let listed = objects(folder, &["operator", "list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["expires"]), (&"ada".into(), &Value::Null));
    assert_eq!(listed[1]["expires"], added["expires"]);
    assert!(!list.contains("sop_") && !format!("{listed:?}").contains("sop_"));
    let rotated = printed(folder, &["operator", "rotate-token", "ada"]);
    assert!(rotated.starts_with("sop_") && rotated != token);
    let wrong = error_of(folder, &["operator", "add", "eve", "--role", "root"]);
    assert!(wrong.contains("must be read, support or admin"), "{wrong}");
    printed(folder, &["operator", "remove", "ada"]);
    assert_eq!(objects(folder, &["operator", "list"]).len(), 1);
    let gone = error_of(folder, &["operator", "remove", "ada"]);
    assert!(gone.contains("not that of an operator"), "{gone}");
    drop(service);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        let holds = |token: &str| bytes.windows(token.len()).any(|part| part == token.as_bytes());
        assert!(!holds(&token) && !holds(&rotated), "{}", file.display());
    }
}
