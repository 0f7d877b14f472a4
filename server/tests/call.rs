//! Calls of the interface as commands, on a database and on a service that runs.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::command::printed;
use crate::common::{KEY, World};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a call that reads this from its standard input.
fn call(folder: &Path, target: &[&str], arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    let command = command.current_dir(folder).arg("call").args(arguments).args(target);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    // One that fails before it reads leaves the pipe closed.
    let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
    running.wait_with_output().unwrap()
}

fn reply(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"))
}

fn make_calls(world: &World, target: &[&str]) {
    let folder = world.folder.path();
    let run = |arguments: &[&str]| call(folder, target, arguments, "");
    let ada = ["user", "create", "--email", "ada@example.com", "--cellphone", "555-010-0123"];
    let created = printed(folder, &[&ada[..], &["--country-code", "1"], target].concat());
    let id = created.strip_prefix("user_id ").unwrap().to_owned();
    let sent = run(&["request-sms", "--user", &id, "--force"]);
    assert!(sent.status.success(), "{sent:?}");
    let code = world.code();
    let verify = |token: &str| {
        let arguments = ["verify", "--user", &id, "--force", "--token-file", "-"];
        call(folder, target, &arguments, &format!("{token}\n"))
    };
    let other = if code == "0000000" { "0000001" } else { "0000000" };
    let wrong = verify(other);
    assert_eq!((wrong.status.code(), &reply(&wrong)["success"]), (Some(1), &"false".into()));
    let right = verify(&code);
    assert_eq!((right.status.code(), &reply(&right)["token"]), (Some(0), &"is valid".into()));
    assert_eq!(verify(&code).status.code(), Some(1), "a code is right once");
    std::fs::write(folder.join("code"), "0000000").unwrap();
    let from_file = run(&["verify", "--user", &id, "--token-file", "code"]);
    assert_eq!(from_file.status.code(), Some(1));
    let asked = ["create-approval", "--user", &id, "--message", "Pay?", "--details", "{\"to\":5}"];
    assert!(run(&asked).status.success());
    let unknown = run(&["register-activity", "--user", "99", "--type", "banned", "--data", "{}"]);
    assert_eq!((unknown.status.code(), unknown.stdout.is_empty()), (Some(1), true));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("User not found"));
}

#[test]
fn calls_are_made_on_a_database() {
    let world = World::start();
    // The code is sent by the engine of the test, so a message of the command is in the spool.
    let folder = world.folder.path();
    let target = ["--database", "sqlite:test.db"];
    let details = call(folder, &target, &["app-details"], "");
    assert_eq!(reply(&details)["success"], true);
    let missing = call(folder, &target, &["verify", "--token-file", "-"], "1234567");
    let error = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && error.contains("user"), "{error}");
    let typed = call(folder, &target, &["verify", "--user", "1", "--token", "1234567"], "");
    let error = String::from_utf8_lossy(&typed.stderr).into_owned();
    assert!(!typed.status.success() && error.contains("--token-file"), "{error}");
    let json = ["create-approval", "--user", "1", "--message", "x", "--details", "{"];
    let error = call(folder, &target, &json, "");
    assert!(String::from_utf8_lossy(&error.stderr).contains("--details is not JSON"));
}

#[test]
fn calls_are_made_on_a_service_that_runs() {
    let world = World::start();
    let (key, ca) = (world.folder.path().join("key"), world.ca_file());
    std::fs::write(&key, KEY).unwrap();
    let target = [
        "--url",
        &world.server.url(),
        "--api-key-file",
        key.to_str().unwrap(),
        "--ca-file",
        ca.to_str().unwrap(),
    ];
    make_calls(&world, &target);
}

#[test]
fn the_help_lists_the_calls_and_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let help = call(folder.path(), &[], &["--help"], "");
    let help = String::from_utf8(help.stdout).unwrap();
    for text in [
        "- verify: ",
        "--user <ID>",
        "--token-file <FILE>",
        "--force [<YES>]",
        "For request-sms, request-call, verify\n",
        "--url",
    ] {
        assert!(help.contains(text), "{text}: {help}");
    }
    assert!(!help.contains("create-user"), "{help}");
}

#[test]
fn an_option_of_another_call_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, error) in [
        (&["verify", "--days", "3"][..], "--days is no parameter of verify, which has --user"),
        (
            &["app-details", "--uuid", "1"],
            "--uuid is no parameter of app-details, which has --user-ip",
        ),
        (&["set-login"], "set-login is a command of its own: seconder user set-login"),
        (&["no-such-call"], "invalid value 'no-such-call'"),
    ] {
        let output = call(folder.path(), &[], arguments, "");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && errors.contains(error), "{errors}");
    }
}
