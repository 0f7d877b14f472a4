//! The names of operations, their errors, and what their debug output shows.

use super::*;
use crate::model::Secret;
use serde_json::json;
use std::collections::BTreeSet;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn sandbox() -> crate::Service {
    crate::open("sandbox:").unwrap()
}

#[test]
fn each_operation_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = operations().map(|(name, _)| name).collect();
    assert_eq!(names.len(), ALL.len());
    let is_plain = |name: &str| {
        name.split_once('.').is_some_and(|(noun, verb)| {
            [noun, verb].iter().all(|word| {
                !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
            })
        })
    };
    assert!(names.iter().all(|name| is_plain(name)), "{names:?}");
}

#[test]
fn by_its_name_an_operation_does_the_same_as_by_its_type() {
    let service = sandbox();
    let given = object(json!({ "limits": "tries=3 refuse=voip" }));
    let changed = service.operate_json("limits.set", given).unwrap();
    assert_eq!(changed["tries"], 3);
    let shown = service.operate(&ShowLimits {}).unwrap();
    assert_eq!(serde_json::to_value(&shown).unwrap(), changed);
    assert_eq!(serde_json::from_value::<crate::engine::Limits>(changed).unwrap(), shown);
}

#[test]
fn errors_say_which_names_and_parameters_there_are() {
    let service = sandbox();
    let fails = |name: &str, given: Value| {
        service.operate_json(name, object(given)).unwrap_err().to_string()
    };
    let unknown = fails("jobs.remove", json!({}));
    assert!(unknown.contains("operation must be that of an operation"), "{unknown}");
    assert!(operations().all(|(name, _)| unknown.contains(name)), "{unknown}");
    let unknown = fails("route.set", json!({ "name": "one", "setting": "{\"password\":\"x\"}" }));
    let expected = "setting is no parameter of route.set: it has name, settings";
    assert!(unknown.ends_with(expected), "{unknown}");
    let unknown = fails("lookup.show", json!({ "name": "one" }));
    assert!(unknown.ends_with("name is no parameter of lookup.show, which has none"), "{unknown}");
    let missing = fails("route.set", json!({ "name": "one" }));
    assert!(missing.contains("settings"), "{missing}");
    let wrong = fails("jobs.list", json!({ "state": "lost" }));
    assert!(wrong.contains("state must be waiting, leased, failed or sent"), "{wrong}");
}

#[test]
fn what_may_hold_credentials_does_not_show() {
    let service = sandbox();
    let secret = r#"{"gateway":"http","password":"hunter2"}"#;
    let set = SetRoute { name: "one".into(), settings: Secret::new(secret) };
    let lookup = SetLookup { settings: Secret::new(secret) };
    service.operate(&set).unwrap();
    service.operate(&lookup).unwrap();
    let routes = service.operate(&ListRoutes {}).unwrap();
    let stored = service.operate(&ShowLookup {}).unwrap();
    assert_eq!(routes.routes[0].settings.as_ref().unwrap().expose(), secret);
    assert_eq!(stored.settings.as_ref().unwrap().expose(), secret);
    let shown = format!("{set:?} {lookup:?} {routes:?} {stored:?}");
    assert!(!shown.contains("hunter2") && shown.contains("redacted"), "{shown}");
    for wrong in ["", "hunter2", "[]", "{"] {
        let set = SetRoute { name: "one".into(), settings: Secret::new(wrong) };
        let error = service.operate(&set).unwrap_err().to_string();
        assert!(error.contains("settings must be a JSON object"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn removing_what_is_not_there_is_an_error() {
    let service = sandbox();
    let error = service.operate(&RemoveRoute { name: "one".into() }).unwrap_err().to_string();
    assert!(error.contains("name is not that of a route"), "{error}");
    let error = service.operate(&RemoveLookup {}).unwrap_err().to_string();
    assert!(error.contains("nothing to remove"), "{error}");
    let error = service.operate(&ShowJob { id: "0".repeat(16) }).unwrap_err().to_string();
    assert!(error.contains("is that of no job"), "{error}");
}

#[cfg(feature = "https")]
#[test]
fn a_remote_service_has_no_operations() {
    let remote = crate::Settings::new("https://127.0.0.1:1").api_key("key").open().unwrap();
    let error = remote.operate(&ShowLimits {}).unwrap_err().to_string();
    assert!(error.contains("this needs a sqlite:, postgres: or sandbox: URL"), "{error}");
    let by_name = remote.operate_json("nothing", Map::new()).unwrap_err().to_string();
    assert_eq!(by_name, error);
}
