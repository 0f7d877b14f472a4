//! Operations of operators on users, keys, copies and checks, by their types and by their names.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh;
use seconder::engine::operator::{
    AddOperator, CheckService, Health, ListDevices, ListUsers, Role, RunJobs, SetLimits, ShowUser,
};
use seconder::engine::{AuditFilter, DeviceType};
use serde_json::{Value, json};

#[test]
fn a_user_is_shown_with_what_protects_the_account() {
    let folder = tempfile::tempdir().unwrap();
    let service = fresh::open(&folder.path().join("seconder.db")).0;
    let user_id = fresh::ada(&service);
    let device = service.engine().unwrap().register_device(user_id, DeviceType::Ios).unwrap();
    let shown = service.operate(&ShowUser { user_id }).unwrap();
    let listed = service.operate(&ListUsers::default()).unwrap().users;
    assert_eq!(listed, [shown.user]);
    let devices = service.operate(&ListDevices { user_id }).unwrap().devices;
    assert_eq!((devices.len(), devices[0].device.id), (1, device.device_id));
    assert_eq!(shown.factors.devices, [devices[0].device.clone()]);
    assert_eq!(shown.devices, devices);
    let parameters = json!({ "user_id": user_id.get() }).as_object().unwrap().clone();
    let object = service.operate_json("user.show", parameters.clone()).unwrap();
    assert_eq!((&object["user_id"], &object["factors"]["sms"]), (&1.into(), &true.into()));
    assert!(!object.to_string().contains("0100123"), "{object}");
    service.delete_user(user_id).unwrap();
    for operation in ["user.show", "user.devices"] {
        let error = service.operate_json(operation, parameters.clone()).unwrap_err().to_string();
        assert!(error.contains("User not found"), "{error}");
    }
}

#[test]
fn keys_are_changed_and_a_database_is_copied_under_the_name_of_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    let service = fresh::open(&folder.path().join("seconder.db")).0;
    let engine = service.engine().unwrap();
    let add =
        AddOperator { name: "eve".to_owned(), role: Role::Admin, apps: None, expires_in: None };
    let eve = engine.operator(&service.operate(&add).unwrap().token).unwrap();
    let operate = |name: &str, given: Value| {
        engine.operate_as(&eve, None, name, given.as_object().unwrap().clone())
    };
    let first = operate("keyring.list", json!({})).unwrap()["keys"][0]["key"].clone();
    let second = operate("keyring.rotate", json!({})).unwrap()["key"].clone();
    let third = operate("keyring.add", json!({})).unwrap()["key"].clone();
    let resealed = operate("keyring.reseal", json!({})).unwrap();
    assert!(resealed["sealed"].as_u64() > Some(0) && resealed["unreadable"] == 0, "{resealed}");
    let listed = operate("keyring.list", json!({ "values": true })).unwrap();
    let state = |at: usize| {
        let key = &listed["keys"][at];
        (key["key"].clone(), key["current"] == true, key["values"].as_u64() > Some(0))
    };
    assert_eq!([state(0), state(1)], [(first.clone(), false, false), (second.clone(), true, true)]);
    assert_eq!(state(2), (third.clone(), false, false));
    operate("keyring.use", json!({ "key": third })).unwrap();
    let early = operate("keyring.remove", json!({ "key": first })).unwrap_err().to_string();
    assert!(early.contains("less than an hour ago"), "{early}");
    let wrong = operate("keyring.use", json!({ "key": "first" })).unwrap_err().to_string();
    assert!(wrong.contains("key must be 16 digits"), "{wrong}");
    let copy = folder.path().join("copy.db");
    let copied = operate("database.backup", json!({ "path": copy })).unwrap();
    assert_eq!(copied["bytes"], std::fs::metadata(&copy).unwrap().len());
    let again = operate("database.backup", json!({ "path": copy })).unwrap_err().to_string();
    assert!(again.contains("exists"), "{again}");
    let audit = engine.audit(&AuditFilter::default(), None, 100).unwrap().entries;
    for (call, reason) in [("keyring.reseal", None), ("database.backup", copy.to_str())] {
        let entry = audit.iter().find(|entry| entry.call == call).unwrap();
        assert_eq!((entry.operator_name.as_deref(), &*entry.verdict), (Some("eve"), "done"));
        assert_eq!(entry.reason.as_deref(), reason);
    }
    for (call, key) in
        [("keyring.rotate", &second), ("keyring.add", &third), ("keyring.use", &third)]
    {
        let entry = audit.iter().find(|entry| entry.call == call).unwrap();
        assert_eq!((entry.operator_name.as_deref(), &*entry.verdict), (Some("eve"), "configured"));
        assert_eq!(entry.reason.as_deref(), key.as_str());
    }
}

#[test]
fn a_check_finds_what_is_switched_off_and_what_is_sealed_with_earlier_keys() {
    let folder = tempfile::tempdir().unwrap();
    let service = fresh::open(&folder.path().join("seconder.db")).0;
    fresh::ada(&service);
    service.operate(&SetLimits { limits: "key_rate=0".to_owned() }).unwrap();
    service.operate_json("keyring.rotate", serde_json::Map::new()).unwrap();
    let findings = service.operate(&CheckService {}).unwrap().findings;
    let of = |check: &str| findings.iter().find(|finding| finding.check == check).unwrap();
    assert_eq!((of("database").status, of("clock").status), (Health::Ok, Health::Ok));
    assert_eq!(of("limits").status, Health::Warning);
    assert_eq!(of("limits").found, "switched off: key_rate");
    assert_eq!(of("keyring").status, Health::Warning);
    assert!(of("keyring").advice.as_deref().unwrap().contains("seconder keyring reseal"));
    let object = service.operate_json("doctor.check", serde_json::Map::new()).unwrap();
    assert_eq!(object["findings"][0]["status"], "ok");
}

#[test]
fn what_is_due_is_sent_within_a_budget() {
    let folder = tempfile::tempdir().unwrap();
    let service = fresh::open(&folder.path().join("seconder.db")).0;
    let run = service.operate_json("jobs.run", serde_json::Map::new()).unwrap();
    assert_eq!(run, json!({ "sent": 0, "waiting": 0, "failed": 0, "more": false }));
    for budget in [0, 86_401] {
        let error = service.operate(&RunJobs { budget: Some(budget) }).unwrap_err().to_string();
        assert!(error.contains("budget must be 1 to 86400"), "{error}");
    }
}
