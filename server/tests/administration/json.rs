//! What commands print for programs.

use super::{database, objects};
use crate::command::run;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Those that serve, write a format of their own, or look at no database, and `call`, which prints JSON always.
const OTHERS: [&str; 10] = [
    "serve",
    "reload",
    "relay",
    "export",
    "user export",
    "call",
    "config check",
    "config example",
    "check-pam",
    "completions",
];

/// The commands within this one that have none within them, with their help.
fn commands(within: &[&str], found: &mut Vec<(String, String)>) {
    let help = run(Path::new("."), &[within, &["--help"]].concat());
    let help = String::from_utf8(help.stdout).unwrap();
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return found.push((within.join(" "), help));
    };
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let names = names.filter(|name| help.contains(&format!("\n  {name}")) && *name != "help");
    for name in names.filter(|name| name.starts_with(char::is_alphabetic)) {
        commands(&[within, &[name]].concat(), found);
    }
}

#[test]
fn every_command_of_an_operator_has_the_option() {
    let mut found = Vec::new();
    commands(&[], &mut found);
    let without = found.iter().filter(|(_, help)| !help.contains("\n      --json"));
    let without: Vec<_> = without.map(|(name, _)| name.as_str()).collect();
    assert_eq!(without, OTHERS);
}

#[test]
fn what_was_done_is_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = database(folder);
    let api_key = service.require_engine().unwrap().api_key().expose().to_owned();
    drop(service);
    let one = |arguments: &[&str]| -> Value {
        let mut objects = objects(folder, arguments);
        assert_eq!(objects.len(), 1, "{arguments:?}");
        objects.remove(0)
    };
    assert_eq!(one(&["key"]), json!({ "api_key": api_key }));
    let create = ["user", "create", "--email", "eve@example.com", "--cellphone", "5550100125"];
    assert_eq!(one(&[&create[..], &["--country-code", "1"]].concat()), json!({ "user_id": 3 }));
    let eve = json!({ "user_id": 3, "login": "eve" });
    assert_eq!(one(&["user", "set-login", "--user", "3", "--login", "eve"]), eve);
    let shown = one(&["user", "show", "--login", "eve"]);
    assert_eq!((&shown["user_id"], &shown["login"]), (&json!(3), &json!("eve")));
    assert_eq!(shown["factors"]["sms"], true);
    let codes = one(&["user", "recovery-codes", "--user", "3"]);
    assert!(codes["codes"].as_array().is_some_and(|codes| codes.len() > 1), "{codes}");
    let device = one(&["user", "register-device", "--user", "3", "--type", "ios"]);
    assert!(device["device_id"].is_u64() && device["secret"].is_string());
    let id = device["device_id"].to_string();
    let removed = one(&["user", "remove-factor", "--user", "3", "--device", &id]);
    assert_eq!(removed, json!({ "user_id": 3, "device_id": device["device_id"] }));
    let number = ["user", "set-number", "--user", "3", "--number", "5550100126"];
    let number = [&number[..], &["--country-code", "1", "--unverified"]].concat();
    assert_eq!(one(&number), json!({ "user_id": 3 }));
    for command in ["unlock", "forget-browsers"] {
        assert_eq!(one(&["user", command, "--user", "3"]), json!({ "user_id": 3 }), "{command}");
    }
    assert_eq!(one(&["user", "delete", "--yes", "--user", "3"]), json!({ "user_id": 3 }));
    let login = json!({ "login": "ada" });
    one(&["user", "set-login", "--user", "1", "--login", "ada"]);
    assert_eq!(one(&["user", "remove-login", "--login", "ada"]), login);
    fs::write(folder.join("secret"), "the-signing-key").unwrap();
    let set = [
        "route",
        "set",
        "main",
        "gateway=webhook",
        "url=https://sms.example/",
        "signing_key=@secret",
    ];
    let route = one(&set);
    assert_eq!(
        (&route["name"], &route["settings"]["gateway"]),
        (&json!("main"), &json!("webhook"))
    );
    assert!(!route.to_string().contains("the-signing-key"), "{route}");
    assert_eq!(one(&["route", "show", "main"]), route["settings"]);
    assert_eq!(one(&["route", "remove", "main"]), json!({ "name": "main" }));
    one(&["operator", "add", "eve", "--role", "read"]);
    assert_eq!(one(&["operator", "remove", "eve"]), json!({ "name": "eve" }));
    let other = one(&["app", "create", "--name", "Other"])["app_id"].clone();
    assert!(one(&["app", "rotate-key"])["earlier_key_until"].is_u64());
    assert_eq!(one(&["app", "rotate-key", "--end-overlap"]), json!({ "app_id": 1 }));
    assert_eq!(one(&["app", "delete", "--yes", &other.to_string()]), json!({ "app_id": other }));
}

#[test]
fn keys_and_copies_are_objects() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    let one = |arguments: &[&str]| objects(folder, arguments).remove(0);
    let keys = objects(folder, &["keyring", "list", "--values"]);
    assert_eq!((keys.len(), &keys[0]["current"]), (1, &json!(true)));
    assert!(keys[0]["created"].is_u64() && keys[0]["values"].is_u64(), "{keys:?}");
    let added = one(&["keyring", "rotate", "--unused"])["key"].as_str().unwrap().to_owned();
    assert_eq!(one(&["keyring", "rotate", "--to", &added]), json!({ "key": added }));
    let sealed = one(&["keyring", "reseal"]);
    assert!(sealed["sealed"].is_u64() && sealed["unreadable"] == 0, "{sealed}");
    assert_eq!(one(&["keyring", "create", "other.keys"]), json!({ "file": "other.keys" }));
    let copy = one(&["backup", "copy.db"]);
    let bytes = fs::metadata(folder.join("copy.db")).unwrap().len();
    assert_eq!(copy, json!({ "file": "copy.db", "bytes": bytes }));
    assert_eq!(one(&["restore", "--replace", "copy.db"]), json!({ "restored": true }));
    assert_eq!(one(&["spend-codes", "--yes"]), json!({ "spent": true }));
}
