//! What lists print on a terminal, and that programs still get lines.

use super::{database, printed};
use crate::terminal::Terminal;
use seconder::calls::{Channel, RequestSms};
use seconder::engine::{Deliver, Message, Outcome};
use seconder::{Handle, Settings};
use std::path::Path;
use std::process::Command;

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("-C").arg(folder).arg(env!("CARGO_BIN_EXE_seconder")).args(arguments);
    command
}

/// What a command shows on a terminal, line by line.
fn shown(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let (shown, status) = Terminal::start(program(folder, arguments), 200).end();
    assert!(status.success(), "{arguments:?}: {shown}");
    shown.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Where a heading begins, which is where the values of its column do.
fn at<'a>(lines: &'a [String], heading: &str, row: usize) -> &'a str {
    let column = lines[0].find(heading).unwrap_or_else(|| panic!("{heading}: {lines:?}"));
    lines[row].get(column..).unwrap_or_default()
}

#[test]
fn lists_are_tables_with_times_in_utc_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    printed(folder, &["route", "set", "main", "gateway=http", "url=https://127.0.0.1:1/"]);

    let keys = shown(folder, &["keyring", "list", "--values"]);
    assert!(at(&keys, "CREATED", 1)[10..].contains(" UTC  current"), "{keys:?}");
    let routes = shown(folder, &["route", "list"]);
    assert!(at(&routes, "NAME", 1).starts_with("main  http "), "{routes:?}");

    let audit = shown(folder, &["audit", "--call", "create_user"]);
    assert_eq!(audit.len(), 3, "{audit:?}");
    assert!(at(&audit, "VERDICT", 1).starts_with("created  "), "{audit:?}");
    assert!(audit[1].contains(" UTC  2 "), "{audit:?}");
    let lines = printed(folder, &["audit", "--call", "create_user"]);
    assert!(lines.lines().all(|line| line.contains(" create_user created number=")), "{lines}");
}

/// A gateway that sends nothing yet.
struct Busy;

impl Deliver for Busy {
    fn deliver(&self, _: &Message) -> Result<(), String> {
        Ok(())
    }

    fn attempt(&self, _: &Message, _: &str) -> Outcome {
        Outcome::Retry { after: None, reason: "the gateway is busy".to_owned() }
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        vec!["spool".to_owned()]
    }
}

/// A database in which a message waits.
fn waiting(folder: &Path) {
    drop(database(folder));
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let service = Settings::new(&url).deliver(Busy).open().unwrap();
    let call = RequestSms { force: Some(true), ..RequestSms::new("1".parse().unwrap()) };
    service.handle(&call).unwrap();
}

#[test]
fn jobs_are_a_table_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    waiting(folder);
    let jobs = shown(folder, &["jobs", "list"]);
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    assert!(at(&jobs, "STATE", 1).starts_with("waiting  spool "), "{jobs:?}");
    assert!(at(&jobs, "DUE", 1)[19..].starts_with(" UTC  1 "), "{jobs:?}");
    assert!(at(&jobs, "LAST ERROR", 1).starts_with("the gateway is busy"), "{jobs:?}");
    let status = shown(folder, &["jobs", "status"]);
    assert!(at(&status, "ROUTE", 1).starts_with("spool  sms   1 "), "{status:?}");
    assert!(at(&status, "OLDEST", 1).ends_with('s'), "{status:?}");
    let id = jobs[1].split(' ').next().unwrap();
    let cancelled = shown(folder, &["jobs", "cancel", id]);
    assert!(cancelled[1].starts_with(id), "{cancelled:?}");
}

#[test]
fn followed_decisions_keep_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = database(folder);
    let arguments = ["audit", "--follow", "--call", "create_user"];
    let mut terminal = Terminal::start(program(folder, &arguments), 200);
    let heading = terminal.until("MORE");
    let first = terminal.until("+1-XXX-XXX-XX23");
    service.create_user("eve@example.com", "555-010-0125", "1").unwrap();
    terminal.until("+1-XXX-XXX-XX24");
    let later = terminal.until("+1-XXX-XXX-XX25");
    let column = heading.find("NUMBER").unwrap();
    for text in [first, later] {
        assert_eq!(text.lines().last().unwrap().len(), column + 15, "{text}");
    }
}
