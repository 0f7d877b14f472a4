//! The output of commands at the width of a terminal, and in a pipe that its reader has closed, as `head` does.

use super::database;
use crate::command::printed;
use seconder::Handle;
use seconder::calls::{ActivityType, RegisterActivity};
use std::process::{Command, Stdio};

/// All that print what is stored, or what they know by themselves.
const COMMANDS: &[&str] = &[
    "--help",
    "help user",
    "app list",
    "app list --json",
    "app show",
    "approval list",
    "approval list --json",
    "audit",
    "audit --json",
    "audit --by call",
    "call app-details",
    "completions bash",
    "config example",
    "doctor",
    "doctor --json",
    "export - --format jsonl",
    "export - --format csv",
    "forward status",
    "jobs list",
    "jobs list --json",
    "jobs status",
    "key",
    "key --json",
    "keyring list",
    "keyring list --json",
    "limits",
    "limits --json",
    "maintain",
    "operator list",
    "operator list --json",
    "route list",
    "route list --json",
    "user activities --user 1",
    "user activities --user 1 --json",
    "user export --user 1",
    "user find ada",
    "user find ada --json",
    "user list",
    "user list --json",
    "user show --user 1",
    "user show --user 1 --json",
];

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let service = database(folder.path());
    let user = "1".parse().unwrap();
    service.handle(&RegisterActivity::new(user, ActivityType::PasswordReset)).unwrap();
    drop(service);
    for line in COMMANDS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.current_dir(folder.path()).args(line.split(' ')).stdin(Stdio::null());
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{line}: {errors}");
    }
}

#[test]
fn help_wraps_at_the_width_of_the_terminal() {
    for (columns, most) in [("80", 80), ("300", 100)] {
        for words in ["--help", "help serve", "help user lock", "help call", "help user list"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
            let output = command.args(words.split(' ')).env("COLUMNS", columns).output().unwrap();
            let help = String::from_utf8(output.stdout).unwrap();
            // The usage stays in one line, which a terminal breaks.
            let lines = help.lines().filter(|line| !line.starts_with("Usage: "));
            let widest = lines.map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= most && widest > most / 2, "{words}: {widest} of {columns}");
        }
    }
}

#[test]
fn the_options_that_commands_share_are_under_one_heading() {
    let folder = tempfile::tempdir().unwrap();
    let help = printed(folder.path(), &["user", "list", "--help"]);
    let (own, common) = help.split_once("\nCommon options:\n").unwrap();
    for option in ["--limit", "--locked"] {
        assert!(own.contains(option) && !common.contains(option), "{option}: {help}");
    }
    for option in ["--database", "--app", "--service", "--operator-token-file", "--proxy", "--json"]
    {
        assert!(common.contains(option) && !own.contains(option), "{option}: {help}");
    }
}
