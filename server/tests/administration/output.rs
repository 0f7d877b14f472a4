//! Commands whose reader has closed the pipe, as `head` does.

use super::database;
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
    "limits show",
    "limits show --json",
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
