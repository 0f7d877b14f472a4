//! The files beside that of the users.

use super::machine::Machine;
use super::{ada, lines};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_report_replaces_only_a_report() {
    let machine = Machine::new();
    machine.write("users.jsonl", &lines(&[ada()]));
    machine.write("wrong.jsonl", "{}\n");
    let database = machine.url().trim_start_matches("sqlite:").to_owned();
    for other in [database.clone(), format!("{database}.keys"), "wrong.jsonl".to_owned()] {
        let before = fs::read(machine.path(&other)).unwrap();
        let import = ["import", "--dry-run", "--report", &other, "users.jsonl"];
        let refused = machine.fails(&import);
        assert!(refused.contains("exists, and is no report of an import"), "{refused}");
        assert_eq!(fs::read(machine.path(&other)).unwrap(), before);
    }
    let import = ["import", "--report", "report", "wrong.jsonl"];
    machine.fails_with(&import);
    let first = machine.read("report");
    machine.fails_with(&import);
    assert_eq!(machine.read("report"), first);
    machine.ok(&["import", "--report", "report", "users.jsonl"]);
    assert_eq!(machine.read("report"), "");
    machine.fails_with(&import);
    assert_eq!(machine.read("report"), first);
}

#[test]
fn an_export_is_there_only_once_it_is_whole() {
    let machine = Machine::new();
    machine.write("users.jsonl", &lines(&[ada()]));
    machine.ok(&["import", "users.jsonl"]);
    // As an export leaves it that is killed.
    machine.write("out.jsonl.seconder-part", "{\"id\":");
    machine.ok(&["export", "out.jsonl"]);
    assert_eq!(machine.read("out.jsonl").lines().count(), 1);
    assert!(!machine.path("out.jsonl.seconder-part").exists());
    machine.write("there.jsonl", "mine");
    let refused = machine.fails(&["export", "there.jsonl"]);
    assert!(refused.contains("cannot be created"), "{refused}");
    assert_eq!(machine.read("there.jsonl"), "mine");
    assert!(!machine.path("there.jsonl.seconder-part").exists());
}

#[test]
fn an_export_ends_with_an_error_if_something_else_is_in_its_way() {
    let machine = Machine::new();
    let part = machine.path("out.jsonl.seconder-part");
    let export = format!("timeout 30 seconder export --database {} out.jsonl", machine.url());
    let ends = |what: &str| {
        let output = machine.shell(&export);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{what}: {errors}");
        assert!(errors.contains("out.jsonl.seconder-part is in the way"), "{what}: {errors}");
        assert!(!machine.path("out.jsonl").exists());
    };
    machine.write("mine", "");
    symlink(machine.path("mine"), &part).unwrap();
    ends("a link");
    assert!(machine.path("mine").exists());
    fs::remove_file(&part).unwrap();
    symlink("out.jsonl.seconder-part", &part).unwrap();
    ends("a link to itself");
    fs::remove_file(&part).unwrap();
    machine.shell("mkfifo out.jsonl.seconder-part");
    ends("a pipe");
    fs::remove_file(&part).unwrap();
    fs::create_dir(&part).unwrap();
    ends("a folder");
}

#[test]
fn an_import_does_not_wait_for_a_pipe_that_nobody_reads_as_its_report() {
    let machine = Machine::new();
    machine.write("users.jsonl", &lines(&[ada()]));
    let output = machine.shell(&format!(
        "mkfifo report; timeout 30 seconder import --database {} --report report users.jsonl",
        machine.url()
    ));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("report cannot be written"), "{errors}");
}

#[test]
fn a_csv_file_has_no_formulas_and_is_read_to_the_same_users() {
    let machine = Machine::new();
    let emails = [
        "=HYPERLINK(\"https://example.net\")@example.com",
        "+1+1@example.com",
        "-1@example.com",
        "'=1@example.com",
        "''@example.com",
        "'plain@example.com",
        "x;=1+cmd@example.com",
        "x,+1,'-1;@example.com",
        "＝1@example.com",
        "x;＋1@example.com",
        "x;4711;+4711;@example.com",
    ];
    let user = |(number, email): (usize, &&str)| {
        let phone = format!("+155501001{number:02}");
        json!({ "id": number + 1, "email": email, "phone": phone })
    };
    let users: Vec<_> = emails.iter().enumerate().map(user).collect();
    machine.write("users.jsonl", &lines(&users));
    machine.ok(&["import", "users.jsonl"]);
    machine.ok(&["export", "users.csv"]);
    let mut reader = csv::Reader::from_path(machine.path("users.csv")).unwrap();
    for row in reader.records().map(Result::unwrap) {
        // Some spreadsheets divide the line at other characters.
        let cells = row.iter().flat_map(|cell| cell.split([',', ';']));
        let mut cells =
            cells.filter(|cell| cell.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']));
        // The number is one, and other programs read it.
        assert!(cells.all(|cell| cell[1..].parse::<u64>().is_ok()), "{row:?}");
    }
    let other = Machine::new();
    other.write("users.csv", &machine.read("users.csv"));
    other.ok(&["import", "users.csv"]);
    other.ok(&["export", "again.jsonl"]);
    let again: Vec<_> =
        other.objects("again.jsonl").iter().map(|user| user["email"].clone()).collect();
    assert_eq!(again, emails);
    other.ok(&["export", "again.csv"]);
    assert_eq!(other.read("again.csv").lines().count(), emails.len() + 1);
}
