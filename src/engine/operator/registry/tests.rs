//! Tests of the names of operations, their errors, and their debug output.

use super::*;
use crate::engine::operator::OperatorToken;
use crate::model::Secret;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A clock that shows this time, in Unix seconds.
#[derive(Clone)]
struct At(Arc<AtomicU64>);

impl crate::engine::model::clock::Clock for At {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

fn sandbox() -> crate::Service {
    crate::open("sandbox:").unwrap()
}

#[test]
fn each_operation_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = operations().map(|operation| operation.name).collect();
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
    assert_eq!(
        serde_json::from_value::<crate::engine::model::limits::Limits>(changed).unwrap(),
        shown
    );
}

#[test]
fn errors_say_which_names_and_parameters_there_are() {
    let service = sandbox();
    let fails = |name: &str, given: Value| {
        service.operate_json(name, object(given)).unwrap_err().to_string()
    };
    let unknown = fails("jobs.remove", json!({}));
    assert!(unknown.contains("operation must be that of an operation"), "{unknown}");
    assert!(operations().all(|operation| unknown.contains(operation.name)), "{unknown}");
    let unknown = fails("route.set", json!({ "name": "one", "setting": "{\"password\":\"x\"}" }));
    let expected = "setting is no parameter of route.set: it has name, settings";
    assert!(unknown.ends_with(expected), "{unknown}");
    let unknown = fails("lookup.show", json!({ "name": "one" }));
    assert!(unknown.ends_with("name is no parameter of lookup.show, which has none"), "{unknown}");
    let long = fails("lookup.show", json!({ "x".repeat(1_000_000): "one" }));
    assert!(
        long.len() < 10_000 && long.contains("is no parameter of lookup.show"),
        "{}",
        long.len()
    );
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
    assert!(error.contains("operator_token, or a sqlite:, postgres: or sandbox: URL"), "{error}");
    let by_name = remote.operate_json("nothing", Map::new()).unwrap_err().to_string();
    assert_eq!(by_name, error);
}

fn added(service: &crate::Service, name: &str, role: Role) -> OperatorToken {
    service.operate(&AddOperator { name: name.into(), role, apps: None, expires_in: None }).unwrap()
}

#[test]
fn a_token_is_stored_as_a_hash_and_reaches_what_its_role_includes() {
    let service = sandbox();
    let engine = service.require_engine().unwrap();
    let tokens = Role::ALL.map(|role| added(&service, role.name(), role));
    for (role, token) in Role::ALL.into_iter().zip(&tokens) {
        assert!(token.token.expose().starts_with("sop_") && token.token.expose().len() > 40);
        assert!(!format!("{token:?}").contains(token.token.expose()));
        let operator = engine.operator(&token.token).unwrap();
        assert_eq!((operator.name(), operator.role()), (role.name(), role));
        for operation in operations() {
            // Without their parameters, most fail, but none of them because of the role.
            let done =
                engine.operate_as(&operator, None, operation.name, object(json!({ "no": 1 })));
            let error = done.unwrap_err();
            let is_forbidden = matches!(&error, Error::Rejected(why) if why.status == 403);
            assert_eq!(is_forbidden, operation.role > role, "{role} {}: {error}", operation.name);
        }
    }
    let stored = engine.look(crate::engine::operations::operators::all).unwrap();
    assert!(stored.iter().all(|row| row.token_hash.len() == 32 && row.used_at.is_some()));
}

#[test]
fn what_an_operator_changes_has_the_name_in_the_audit() {
    let service = sandbox();
    let engine = service.require_engine().unwrap();
    let operator = engine.operator(&added(&service, "ada", Role::Admin).token).unwrap();
    let given = |value: Value| object(value);
    let operate = |name: &str, value: Value| engine.operate_as(&operator, None, name, given(value));
    operate("limits.set", json!({ "limits": "tries=3" })).unwrap();
    operate("route.set", json!({ "name": "one", "settings": "{}" })).unwrap();
    let user = service.create_user("eve@example.com", "555-010-0123", "1").unwrap().user_id;
    operate("user.unlock", json!({ "user_id": user.get() })).unwrap();
    operate("user.delete", json!({ "user_id": user.get() })).unwrap();
    operate("operator.remove", json!({ "name": "ada" })).unwrap();
    let page =
        engine.audit(&crate::engine::handlers::audit::AuditFilter::default(), None, 100).unwrap();
    let of = |call: &str| {
        let entry = page.entries.iter().find(|entry| entry.call == call).unwrap();
        (entry.operator_name.clone(), entry.reason.clone().unwrap_or_default())
    };
    let ada = Some("ada".to_owned());
    assert_eq!(of("operator.add"), (None, "ada".to_owned()));
    assert_eq!(of("limits.set"), (ada.clone(), "limits".to_owned()));
    assert_eq!(of("set_route"), (ada.clone(), "one".to_owned()));
    assert_eq!(of("create_user").0, None);
    assert_eq!(of("unlock_user").0, ada);
    assert_eq!(of("delete_user").0, ada);
    assert_eq!(of("operator.remove"), (ada.clone(), "ada".to_owned()));
    let filter =
        crate::engine::handlers::audit::AuditFilter { operator_name: ada, ..Default::default() };
    let hers = engine.audit(&filter, None, 100).unwrap().entries;
    assert!(hers.len() == 5 && hers.iter().all(|entry| entry.operator_name.is_some()), "{hers:?}");
}

#[test]
fn a_token_that_was_replaced_or_removed_or_has_expired_is_of_no_use() {
    let clock = At(Arc::new(AtomicU64::new(1_700_000_000)));
    let service = crate::Settings::new("sandbox:").clock(clock.clone()).open().unwrap();
    let engine = service.require_engine().unwrap();
    let first = added(&service, "ada", Role::Read).token;
    let rotate = RotateOperatorToken { name: "ada".into(), expires_in: Some(60) };
    let second = service.operate(&rotate).unwrap();
    assert!(second.expires.is_some() && second.role == Role::Read);
    let refused = |token: &Secret| engine.operator(token).unwrap_err().to_string();
    assert!(refused(&first).contains("No operator has this token"));
    clock.0.fetch_add(59, Ordering::Relaxed);
    assert!(engine.operator(&second.token).is_ok());
    assert!(!service.operate(&ListOperators {}).unwrap().operators[0].expired);
    clock.0.fetch_add(1, Ordering::Relaxed);
    assert!(refused(&second.token).contains("or it has expired"));
    assert!(service.operate(&ListOperators {}).unwrap().operators[0].expired);
    let second = service.operate(&rotate).unwrap();
    assert_eq!(service.operate(&ListOperators {}).unwrap().operators[0].used, None);
    assert!(engine.operator(&second.token).is_ok());
    service.operate(&RemoveOperator { name: "ada".into() }).unwrap();
    assert!(refused(&second.token).contains("No operator has this token"));
    assert_eq!(service.operate(&ListOperators {}).unwrap().operators, []);
    let gone = service.operate(&rotate).unwrap_err().to_string();
    assert!(gone.contains("name is not that of an operator"), "{gone}");
}

#[test]
fn operators_have_names_of_their_own_and_are_few() {
    let service = sandbox();
    let add = |name: &str, expires_in| {
        service.operate(&AddOperator {
            name: name.into(),
            role: Role::Read,
            apps: None,
            expires_in,
        })
    };
    for wrong in ["", "a b", "a/b", "ä", &"a".repeat(65)] {
        let error = add(wrong, None).unwrap_err().to_string();
        assert!(error.contains("name must be 1 to 64"), "{error}");
    }
    for wrong in [0, 59, 315_360_001] {
        let error = add("ada", Some(wrong)).unwrap_err().to_string();
        assert!(error.contains("expires_in must be 60 to 315360000"), "{error}");
    }
    for number in 0..crate::engine::model::limits::MOST_OPERATORS {
        add(&format!("operator{number}"), Some(60)).unwrap();
    }
    let again = add("operator0", None).unwrap_err().to_string();
    assert!(again.contains("is that of an operator who has a token"), "{again}");
    let error = add("one-more", None).unwrap_err().to_string();
    assert!(error.contains("at most 100 operators"), "{error}");
}

#[test]
fn the_audit_of_operators_outlives_the_application_that_they_were_added_for() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("test.db").display());
    let service = crate::open(&url).unwrap();
    let create = CreateApp { name: "Other".into(), api_key: None, settings: None };
    let other = service.operate(&create).unwrap();
    let of_other = crate::Settings::new(&url).api_key(other.api_key.expose()).open().unwrap();
    added(&of_other, "eve", Role::Admin);
    service.operate(&DeleteApp { app_id: other.app_id, users: false }).unwrap();
    let engine = service.require_engine().unwrap();
    let page =
        engine.audit(&crate::engine::handlers::audit::AuditFilter::default(), None, 100).unwrap();
    assert!(page.entries.iter().any(|entry| entry.call == "operator.add"));
}

#[test]
fn a_restored_database_has_no_operators() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("test.db").display());
    let service = crate::open(&url).unwrap();
    let token = added(&service, "ada", Role::Admin).token;
    let engine = service.require_engine().unwrap();
    assert!(engine.operator(&token).is_ok());
    engine.spend_codes().unwrap();
    assert!(engine.operator(&token).is_err());
    assert_eq!(service.operate(&ListOperators {}).unwrap().operators, []);
}
