//! Several applications behind one server, and the commands that manage them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::World;
use seconder::wire::Names;
use seconder::{Error, Service, Settings};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    let command = command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.args(["--database", "sqlite:test.db"]).output().unwrap()
}

/// What a command printed, which must have succeeded.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The message of a command, which must have failed.
fn error_of(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Creates an application, whose id must be this one. Returns its key.
fn create(folder: &Path, id: u32, name: &str) -> String {
    let created = printed(folder, &["app", "create", "--name", name]);
    created.strip_prefix(&format!("app_id {id}\n")).unwrap().to_owned()
}

fn client(world: &World, key: &str) -> Service {
    let settings = Settings::new(&world.server.url()).api_key(key).ca_file(world.ca_file());
    settings.open().unwrap()
}

fn await_rejection(client: &Service) {
    while client.app_details().is_ok() {
        sleep(Duration::from_millis(50));
    }
    let error = client.app_details().unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
}

#[test]
fn a_server_serves_each_application_to_those_with_its_key() {
    let world = World::start();
    let folder = world.folder.path();
    let (first, second) = (world.client(), client(&world, &create(folder, 2, "Second")));
    let ada = second.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    assert_eq!(second.app_details().unwrap().name, "Second");
    assert_eq!(second.user_status(ada).unwrap().user_id, ada);
    for error in [
        first.user_status(ada).map(drop).unwrap_err(),
        first.delete_user(ada).map(drop).unwrap_err(),
        first.request_sms(ada).map(drop).unwrap_err(),
    ] {
        assert!(error.to_string().contains("User not found"), "{error}");
    }
    let changed = printed(folder, &["app", "set", "--app", "2", "--name", "Renamed"]);
    assert_eq!(changed, "name Renamed");
    while second.app_details().unwrap().name != "Renamed" {
        sleep(Duration::from_millis(50));
    }
    assert_ne!(first.app_details().unwrap().name, "Renamed");
}

#[test]
fn a_key_is_replaced_without_a_request_that_fails() {
    let world = World::start();
    let folder = world.folder.path();
    let old_key = create(folder, 2, "Second");
    let old = client(&world, &old_key);
    old.app_details().unwrap();
    let new_key = printed(folder, &["app", "rotate-key", "--app", "2", "--overlap", "1h"]);
    assert_eq!(printed(folder, &["key", "--app", "2"]), new_key);
    assert_ne!(new_key, old_key);
    let new = client(&world, &new_key);
    new.app_details().unwrap();
    old.app_details().unwrap();
    let again = error_of(folder, &["app", "rotate-key", "--app", "2"]);
    assert!(again.contains("end_overlap") && !again.contains(&new_key), "{again}");
    printed(folder, &["app", "rotate-key", "--end-overlap", "--app", "2"]);
    await_rejection(&old);
    new.app_details().unwrap();
    world.client().app_details().unwrap();
    let last = printed(folder, &["app", "rotate-key", "--app", "2", "--overlap", "0"]);
    await_rejection(&new);
    client(&world, &last).app_details().unwrap();
}

#[test]
fn an_application_that_is_removed_is_no_longer_served() {
    let world = World::start();
    let folder = world.folder.path();
    let second = client(&world, &create(folder, 2, "Second"));
    second.create_user("ada@example.com", "555-010-0123", "1").unwrap();
    let kept = error_of(folder, &["app", "delete", "2", "--yes"]);
    assert!(kept.contains("users must be set"), "{kept}");
    assert_eq!(
        printed(folder, &["app", "delete", "2", "--users", "--yes"]),
        "application 2 is removed"
    );
    await_rejection(&second);
    world.client().app_details().unwrap();
    let only = error_of(folder, &["app", "delete", "1", "--yes"]);
    assert!(only.contains("only application"), "{only}");
}

#[test]
fn applications_are_shown_as_a_table_and_as_json() {
    let world = World::with(|settings| settings.application_name("First"));
    let folder = world.folder.path();
    let key = folder.join("key");
    std::fs::write(&key, "the-key-of-before\n").unwrap();
    let create = ["app", "create", "--name", "Second", "--key-file", "key", "--limit", "tries=3"];
    assert_eq!(printed(folder, &create), "app_id 2\nthe-key-of-before");
    let list = printed(folder, &["app", "list"]);
    let expected =
        "ID  NAME    USERS  KEYS  CALLBACKS\n1   First   0      one\n2   Second  0      one";
    assert_eq!(list, expected);
    let list = printed(folder, &["app", "list", "--json"]);
    let names = list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names: Vec<Value> = names.map(|app| app["name"].clone()).collect();
    assert_eq!(names, ["First", "Second"]);
    let shown = printed(folder, &["app", "show", "--app", "2", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["app_id"], &shown["callback_method"]), (&2.into(), &"post".into()));
    assert!(shown["limits"].as_str().unwrap().contains("tries=3 "));
    assert!(!shown.to_string().contains("the-key-of-before"));
    let nothing = error_of(folder, &["app", "set", "--app", "2"]);
    assert!(nothing.contains("settings are missing"), "{nothing}");
    let nobody = error_of(folder, &["app", "show", "--app", "9"]);
    assert!(nobody.contains("app is not that of an application: 9"), "{nobody}");
    let both = error_of(folder, &["app", "show", "--app", "2", "--api-key-file", "key"]);
    assert!(both.contains("cannot be used with"), "{both}");
    let wrong = error_of(folder, &["app", "create", "--name", "X", "--callback-url", "ftp://x"]);
    assert!(wrong.contains("callback_url"), "{wrong}");
    assert_eq!(printed(folder, &["app", "list"]), expected);
}

/// What the calls do and say by default is changed while the service runs.
#[test]
fn an_application_says_what_was_set_for_it() {
    let world = World::start();
    let folder = world.folder.path();
    let set = "app set --plan annual --white-label yes --sms-enabled no --force-codes yes --logo \
               https://app.example/logo.png --authenticator-digits 8 --authenticator-period 60";
    let set = printed(folder, &set.split_whitespace().collect::<Vec<_>>());
    assert!(set.starts_with("plan annual, white_label true, "), "{set}");
    let set = printed(folder, &["app", "show"]);
    for line in [
        "plan annual",
        "white_label true",
        "sms_enabled false",
        "force_codes true",
        "logo https://app.example/logo.png",
        "authenticator_digits 8",
        "authenticator_period 60",
    ] {
        let is_shown = |shown: &str| shown.split_whitespace().eq(line.split(' '));
        assert!(set.lines().any(is_shown), "{line}: {set}");
    }
    let client = client(&world, world.engine.api_key().expose());
    while client.app_details().unwrap().plan.as_deref() != Some("annual") {
        sleep(Duration::from_millis(50));
    }
    let details = client.app_details().unwrap();
    assert!(details.white_label && !details.sms_enabled && details.phone_calls_enabled);
    for wrong in [
        ["--logo", "http://app.example/logo.png"],
        ["--plan", ""],
        ["--authenticator-digits", "9"],
        ["--authenticator-period", "0"],
        ["--sms-enabled", "perhaps"],
    ] {
        let error = error_of(folder, &[&["app", "set"][..], &wrong].concat());
        assert!(error.contains(wrong[0].trim_start_matches("--")), "{wrong:?}: {error}");
    }
    assert_eq!(printed(folder, &["app", "set", "--logo", ""]), "logo");
    let none = printed(folder, &["app", "show"]);
    assert!(!none.contains("logo.png"), "{none}");
}

/// The browser has the name that the service calls it by, and that of the interface.
#[test]
fn the_type_of_a_device_has_the_names_of_the_application() {
    let world = World::with(|settings| settings.names(Names::new("acme").unwrap()));
    for (kind, words) in
        [("acme_chrome", "60026"), ("svc_chrome", "60026"), ("x", "ios or acme_chrome")]
    {
        let register = ["user", "register-device", "--user", "99", "--type", kind];
        let error = error_of(world.folder.path(), &register);
        assert!(error.contains(words), "{kind}: {error}");
    }
}
