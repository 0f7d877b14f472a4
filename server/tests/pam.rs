//! `seconder check-pam` and `seconder-login` against a service that runs.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::{KEY, World};
use crate::terminal::Terminal;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn write(world: &World, name: &str, text: &str) -> PathBuf {
    let path = world.folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

/// A configuration for the service of the test, whose user is ada.
fn configured(world: &World, more: &str) -> PathBuf {
    let user = world.client().create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let key = write(world, "key", &format!("{KEY}\n"));
    let users = write(world, "users", &format!("ada = {user}\n"));
    let text = format!(
        "url = {}\nca_file = {}\napi_key_file = {}\nusers = file:{}\n{more}",
        world.server.url(),
        world.ca_file().display(),
        key.display(),
        users.display()
    );
    write(world, "pam.conf", &text)
}

/// Runs it on a terminal, at which this is typed once it asks.
fn check(conf: &Path, more: &str, typed: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.args(["check-pam", "--conf"]).arg(conf).args(more.split_whitespace());
    let mut terminal = Terminal::start(command, 200);
    let mut before = String::new();
    if !typed.is_empty() {
        before = terminal.until("Code, or 1 for an SMS, 2 for a call: ");
        terminal.type_in(&format!("{typed}\n"));
    }
    let (after, status) = terminal.end();
    (status.success(), before + &after)
}

#[test]
fn what_is_in_effect_is_printed_and_the_service_is_asked() {
    let world = World::start();
    let conf = configured(&world, "tries = 2\n");
    let (done, text) = check(&conf, "method=code", "");
    assert!(done && text.contains("The service replies."), "{text}");
    assert!(text.contains(&format!("tries = 2    # {}:5", conf.display())), "{text}");
    assert!(text.contains("method = code    # arguments"), "{text}");
    assert!(!text.contains(KEY), "{text}");
    write(&world, "key", "another-key\n");
    let (done, text) = check(&conf, "", "");
    assert!(!done && text.contains("API key"), "{text}");
    write(&world, "key", KEY);
    drop(world.server);
    let (done, text) = check(&conf, "", "");
    assert!(!done && !text.contains("The service replies."), "{text}");
}

#[test]
fn every_error_is_printed() {
    let world = World::start();
    let conf = configured(&world, "trise = 2\nmethod = x\n");
    let (done, text) = check(&conf, "", "");
    assert!(!done, "{text}");
    for expected in
        ["pam.conf:5: there is no key trise: is it tries?", "pam.conf:6: method must be"]
    {
        assert!(text.contains(expected), "{text}");
    }
    assert!(text.contains("has 2 errors: nobody can log in"), "{text}");
    let conf = configured(&world, "");
    write(&world, "users", "ada = 1\nada = 2\n");
    let (done, text) = check(&conf, "", "");
    assert!(!done && text.contains("users:2: ada is in the file twice"), "{text}");
}

#[test]
fn a_user_logs_in_on_the_terminal() {
    let world = World::start();
    let conf = configured(&world, "tries = 1\n");
    let (done, text) = check(&conf, "--login ada", "0000000");
    assert!(!done && text.contains("The code is wrong.") && text.contains("denied"), "{text}");
    world.client().request_sms(1.try_into().unwrap()).unwrap();
    let (done, text) = check(&conf, "--login ada", &world.code());
    assert!(done && text.contains("Accepted."), "{text}");
    assert!(!text.contains(&world.code()), "{text}");
    let (done, text) = check(&conf, "--login eve", "");
    assert!(!done && text.contains("not enrolled"), "{text}");
    // Only an account of this machine is excepted.
    let (done, text) = check(&conf, "--login root except=root", "");
    assert!(done && text.contains("Not accepted"), "{text}");
}
