//! Operations of operators on users, keys, copies and checks, by their types and by their names.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh;
use seconder::calls::{
    ActivityType, ApprovalStatus, CheckApproval, CreateApproval, Recognition, RegisterActivity,
};
use seconder::engine::operator::{
    AddOperator, CheckService, ExportUser, Health, ListDevices, ListUsers, LockUser, Role, RunJobs,
    SetLimits, ShowUser, UnlockUser,
};
use seconder::engine::{
    ApprovalResponse, AuditFilter, DeviceType, JobFilter, Message, RespondToApproval,
};
use seconder::{Error, Handle, Service, Settings, Verdict, Verify};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

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

/// Locks and unlocks a user of a service that has none yet. The function returns the code that was sent last.
pub(crate) fn a_user_is_locked_and_unlocked(service: &Service, code: &dyn Fn() -> String) {
    let user_id = service.create_user("ada@example.com", "202-555-0123", "1").unwrap().user_id;
    let other = service.create_user("bob@example.com", "202-555-0124", "1").unwrap().user_id;
    let browser = service.remember(user_id).unwrap().token;
    let recovery = service.create_recovery_codes(user_id).unwrap().codes[0].as_str().to_owned();
    let asked = service.create_approval(user_id, "Log in?").unwrap().uuid;
    service.request_sms(user_id).unwrap();
    let code = code();
    let verify = |code: &str| service.handle(&Verify::new(user_id, code.parse().unwrap()));
    let recognised = || service.recognise(user_id, &browser).unwrap();
    let locked = || {
        let list = ListUsers { locked: true, ..ListUsers::default() };
        let page = service.operate(&list).unwrap();
        assert_eq!((page.total, page.next), (2, None));
        page.users.iter().map(|user| user.user_id).collect::<Vec<_>>()
    };
    assert_eq!((recognised(), locked()), (Recognition::Recognised, vec![]));

    service.operate(&LockUser { user_id }).unwrap();
    service.operate(&LockUser { user_id }).unwrap();
    let is_refused = |error: Error| match &error {
        Error::RateLimited { message, retry_after, .. } => {
            assert!(message.contains("until an operator unlocks") && retry_after.is_none());
        }
        _ => panic!("{error}"),
    };
    is_refused(verify(&code).unwrap_err());
    is_refused(verify(&recovery).unwrap_err());
    // The user is not confirmed, so that the code would not be looked at.
    let unchecked = Verify { force: false, ..Verify::new(user_id, code.parse().unwrap()) };
    is_refused(service.handle(&unchecked).unwrap_err());
    is_refused(service.request_sms(user_id).unwrap_err());
    is_refused(service.request_call(user_id).unwrap_err());
    is_refused(service.create_approval(user_id, "Log in?").unwrap_err());
    assert_eq!(service.check_approval(&asked).unwrap().status, ApprovalStatus::Expired);
    assert_eq!(recognised(), Recognition::NotRecognised);
    assert!(service.user_status(user_id).unwrap().account_disabled);
    assert!(!service.user_status(other).unwrap().account_disabled);
    assert_eq!(locked(), [user_id.get()]);
    assert!(service.operate(&ShowUser { user_id }).unwrap().user.locked.is_some());
    // The call of an application does not take the lock of an operator away.
    let _ = service.unlock_user(user_id).unwrap();
    is_refused(verify(&code).unwrap_err());

    let unlock = UnlockUser { user_id, clock: false, clock_is_right: false };
    service.operate(&unlock).unwrap();
    service.operate(&unlock).unwrap();
    assert_eq!(verify(&code).unwrap().verdict, Verdict::Right);
    assert_eq!((recognised(), locked()), (Recognition::Recognised, vec![]));
    assert!(!service.user_status(user_id).unwrap().account_disabled);
    let about = AuditFilter { user_id: Some(user_id), ..AuditFilter::default() };
    let audit = service.engine().unwrap().audit(&about, None, 100).unwrap().entries;
    for (call, verdict, count) in
        [("user.lock", "done", 1), ("user.unlock", "done", 1), ("create_approval", "locked", 1)]
    {
        let found = audit.iter().filter(|entry| (&*entry.call, &*entry.verdict) == (call, verdict));
        assert_eq!(found.count(), count, "{call}");
    }
    service.operate(&LockUser { user_id }).unwrap();
    service.delete_user(user_id).unwrap();
    let list = ListUsers { locked: true, ..ListUsers::default() };
    assert!(service.operate(&list).unwrap().users.is_empty());
    let error = service.operate(&LockUser { user_id }).unwrap_err().to_string();
    assert!(error.contains("User not found"), "{error}");
}

#[test]
fn nothing_is_accepted_of_a_locked_user_and_nothing_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (service, sent) = fresh::open(&folder.path().join("seconder.db"));
    let code = || sent.lock().unwrap().last().unwrap().code.clone();
    a_user_is_locked_and_unlocked(&service, &code);
}

#[test]
fn an_approval_that_was_given_just_before_a_lock_lets_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    let service = fresh::open(&folder.path().join("seconder.db")).0;
    let user_id = fresh::ada(&service);
    let engine = service.engine().unwrap();
    let device = engine.register_device(user_id, DeviceType::Ios).unwrap();
    let call = CreateApproval::new(user_id, "Log in?".parse().unwrap());
    let uuid = service.handle(&call).unwrap().uuid;
    let response = RespondToApproval {
        uuid: uuid.clone(),
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        number: None,
    };
    let _ = engine.respond_to_approval(&response).unwrap();
    let status = || service.handle(&CheckApproval::new(uuid.clone())).unwrap().status;
    assert_eq!(status(), ApprovalStatus::Approved);
    service.operate(&LockUser { user_id }).unwrap();
    assert_eq!(status(), ApprovalStatus::Expired);
    let unlock = UnlockUser { user_id, clock: false, clock_is_right: false };
    service.operate(&unlock).unwrap();
    assert_eq!(status(), ApprovalStatus::Approved);
}

#[test]
fn waits_after_wrong_codes_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let clock = fresh::ManualClock::at(1_700_006_400);
    let (service, sent) = fresh::open_at(&folder.path().join("seconder.db"), &clock);
    let user_id = fresh::ada(&service);
    let wrong = || service.operate(&ShowUser { user_id }).unwrap().wrong;
    assert_eq!(wrong(), []);
    service.request_sms(user_id).unwrap();
    let right = sent.lock().unwrap()[0].code.clone();
    let other = if right == "0000000" { "0000001" } else { "0000000" };
    for _ in 0..9 {
        let _ = service.handle(&Verify::new(user_id, other.parse().unwrap()));
    }
    let [found] = <[_; 1]>::try_from(wrong()).unwrap();
    assert!(found.of == "codes" && found.wrong >= 4 && !found.locked, "{found:?}");
    assert!(found.until.is_some_and(|until| until > 1_700_006_400), "{found:?}");
    service.operate(&UnlockUser { user_id, clock: false, clock_is_right: false }).unwrap();
    assert_eq!(wrong(), []);
}

#[test]
fn a_message_to_a_locked_user_is_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let (is_down, sent) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let (down, count) = (Arc::clone(&is_down), Arc::clone(&sent));
    let deliver = move |_: &Message| match down.load(Relaxed) {
        true => Err("down".to_owned()),
        false => {
            count.fetch_add(1, Relaxed);
            Ok(())
        }
    };
    let url = fresh::url(&folder.path().join("seconder.db"));
    let service = Settings::new(&url).deliver(deliver).open().unwrap();
    let user_id = fresh::ada(&service);
    assert!(matches!(service.request_sms(user_id), Err(Error::Unavailable { .. })));
    is_down.store(false, Relaxed);
    let engine = service.engine().unwrap();
    let job = engine.jobs(&JobFilter::default(), None, 1).unwrap().entries.remove(0);
    let exported = service.operate(&ExportUser { user_id }).unwrap().jobs;
    assert_eq!(exported, std::slice::from_ref(&job));
    service.operate(&LockUser { user_id }).unwrap();
    assert!(engine.replay_job(&job.id).is_err());
    assert_eq!(sent.load(Relaxed), 0);
    service.operate(&UnlockUser { user_id, clock: false, clock_is_right: false }).unwrap();
    engine.replay_job(&job.id).unwrap();
    service.operate(&RunJobs { budget: Some(60) }).unwrap();
    assert_eq!(sent.load(Relaxed), 1);
}

#[test]
fn all_data_of_a_user_is_exported_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (service, sent) = fresh::open(&folder.path().join("seconder.db"));
    let user_id = fresh::ada(&service);
    assert_eq!(
        service.create_user("later@example.com", "555-010-0123", "1").unwrap().user_id,
        user_id
    );
    let other = service.create_user("bob@example.com", "555-010-0124", "1").unwrap().user_id;
    service.request_sms(user_id).unwrap();
    let secret = service.enrol_authenticator(user_id).unwrap().uri;
    let uuid = service.create_approval(user_id, "Log in?").unwrap().uuid;
    service.create_approval(other, "Not of Ada").unwrap();
    service.handle(&RegisterActivity::new(user_id, ActivityType::PasswordReset)).unwrap();
    let device = service.engine().unwrap().register_device(user_id, DeviceType::Ios).unwrap();
    let browser = service.remember(user_id).unwrap().token;
    let exported = service.operate(&ExportUser { user_id }).unwrap();
    assert_eq!(exported.whole_number.as_deref(), Some("+15550100123"));
    assert_eq!(
        (&*exported.user.user.email, &*exported.earlier_emails[0]),
        ("later@example.com", "ada@example.com")
    );
    assert_eq!(exported.approvals.len(), 1);
    assert_eq!(exported.approvals[0].uuid.as_ref(), Some(&uuid));
    assert_eq!(exported.activities.last().unwrap().kind, "password_reset");
    assert_eq!((exported.browsers.len(), exported.user.devices.len()), (1, 1));
    let text = serde_json::to_string(&exported).unwrap();
    let key = secret.expose().split("secret=").nth(1).unwrap();
    let code = sent.lock().unwrap()[0].code.clone();
    for hidden in [&key[..16], &code, browser.as_str(), device.secret.expose(), "Not of Ada"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
    service.delete_user(user_id).unwrap();
    assert!(service.operate(&ExportUser { user_id }).is_err());
}
