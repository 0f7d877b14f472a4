//! Several applications in one database: what each has of its own, their keys, and their removal.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, url};
use seconder::calls::{AppDetails, CreateApproval, CreateUser, DeleteUser, UserStatus};
use seconder::engine::operator::{
    AppKey, AppSettings, CreateApp, DeleteApp, EndOverlap, ListApprovals, ListApps, Operation,
    RotateAppKey, SetApp, ShowApp, ShowAppKey,
};
use seconder::engine::{
    ApprovalResponse, DeviceType, Engine, Message, Post, RespondToApproval, SignedCallback,
};
use seconder::model::{ApiKey, Secret};
use seconder::{Error, Handle, Service, Settings, callback};
use std::path::Path;
use std::sync::{Arc, Mutex};

const NOW: u64 = 1_700_006_400;
const HOUR: u64 = 60 * 60;

fn settings(path: &Path) -> Settings {
    Settings::new(&url(path)).deliver(|_: &Message| Ok(()))
}

fn open(path: &Path, key: &Secret) -> Service {
    settings(path).api_key(key.expose()).open().unwrap()
}

fn create(service: &Service, name: &str) -> AppKey {
    service.operate(&CreateApp { name: name.into(), ..CreateApp::default() }).unwrap()
}

/// The application that has this key, as a server finds it.
fn of_key(engine: &Engine, key: &Secret) -> Result<String, Error> {
    let engine = engine.authenticate(&ApiKey::try_from(key.clone()).unwrap())?;
    Ok(engine.handle(&AppDetails::default())?.name)
}

fn refused<O: Operation>(service: &Service, operation: &O) -> String {
    match service.operate(operation).map(drop).unwrap_err() {
        error @ Error::InvalidArgument { .. } => error.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_key_of_one_application_does_not_reach_the_users_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apps.db");
    let first = settings(&path).application_name("First").open().unwrap();
    let second = open(&path, &create(&first, "Second").api_key);
    let (of_first, of_second) = (ada(&first), ada(&second));
    assert_ne!(of_first, of_second, "one number is that of a user in each of them");
    for (service, other) in [(&first, of_second), (&second, of_first)] {
        let unknown =
            |error: Error| assert!(error.to_string().contains("User not found"), "{error}");
        unknown(service.handle(&UserStatus::new(other)).unwrap_err());
        unknown(service.handle(&DeleteUser::new(other)).unwrap_err());
        unknown(service.request_sms(other).unwrap_err());
        unknown(service.verify(other, &"1234567".parse().unwrap()).unwrap_err());
        unknown(service.create_approval(other, "Log in?").map(drop).unwrap_err());
        assert_eq!(service.app_stats().unwrap().total_users, Some(1));
    }
    let login = "ada".parse().unwrap();
    first.set_login(of_first, &login).unwrap();
    assert!(second.find_user(&login).is_err());
    second.set_login(of_second, &login).unwrap();
    assert_eq!(first.find_user(&login).unwrap().user_id, of_first);
}

#[test]
fn without_a_key_the_first_application_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apps.db");
    let first = settings(&path).application_name("First").open().unwrap();
    let second = create(&first, "Second");
    let name = |service: &Service| service.app_details().unwrap().name;
    assert_eq!(name(&settings(&path).open().unwrap()), "First");
    let with = open(&path, &second.api_key);
    assert_eq!(name(&with), "Second");
    let third = create(&with, "Third");
    // It stays, or another one would take its place, with the users of another application.
    let error = refused(&with, &DeleteApp { app_id: 1, users: true });
    assert!(error.contains("is that of the first application"), "{error}");
    with.operate(&DeleteApp { app_id: third.app_id, users: false }).unwrap();
    assert_eq!(name(&settings(&path).open().unwrap()), "First");
}

#[test]
fn applications_are_listed_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apps.db");
    let service = settings(&path).application_name("First").open().unwrap();
    let given = AppSettings { limits: Some("tries=3".into()), ..AppSettings::default() };
    let key = Secret::new("a-key-of-before");
    let named = CreateApp {
        name: "Second".into(),
        api_key: Some(key.clone()),
        settings: Some(given.clone()),
    };
    let second = service.operate(&named).unwrap();
    assert_eq!((second.app_id, &second.api_key), (2, &key));
    assert!(!format!("{named:?} {second:?}").contains("a-key-of-before"));
    let taken = refused(&service, &CreateApp { name: "Third".into(), ..named.clone() });
    assert!(taken.contains("api_key is that of another application"), "{taken}");
    ada(&open(&path, &key));
    let apps = service.operate(&ListApps {}).unwrap().apps;
    let listed: Vec<_> = apps.iter().map(|app| (app.app_id, &*app.name, app.users)).collect();
    assert_eq!(listed, [(1, "First", 0), (2, "Second", 1)]);
    assert!(apps[1].limits.contains("tries=3 ") && apps[0].limits.contains("tries=5 "));
    let change = AppSettings {
        name: Some("Renamed".into()),
        callback_url: Some("https://app.example/callback".into()),
        plan: Some("annual".into()),
        white_label: Some(true),
        sms_enabled: Some(false),
        force_codes: Some(true),
        logo: Some("https://app.example/logo.png".into()),
        authenticator_digits: Some(8),
        authenticator_period: Some(60),
        ..AppSettings::default()
    };
    let set = SetApp { app_id: Some(2), settings: change };
    let changed = service.operate(&set).unwrap();
    assert_eq!(changed, service.operate(&ShowApp { app_id: Some(2) }).unwrap());
    assert_eq!(changed.name, "Renamed");
    assert_eq!(changed.callback_url.as_deref(), Some("https://app.example/callback"));
    assert!(changed.limits.contains("tries=3 "));
    assert_eq!((&*changed.plan, changed.white_label), ("annual", true));
    assert_eq!((changed.sms_enabled, changed.force_codes), (false, true));
    assert_eq!(changed.logo.as_deref(), Some("https://app.example/logo.png"));
    assert_eq!((changed.authenticator_digits, changed.authenticator_period), (8, 60));
    let audit = seconder::engine::AuditFilter::default();
    let audit = open(&path, &key).engine().unwrap().audit(&audit, None, 100).unwrap();
    let changed = "application_name callback_url plan white_label sms_enabled force_codes logo \
                   authenticator_digits authenticator_period";
    assert!(audit.entries.iter().any(|entry| entry.reason.as_deref() == Some(changed)));
    assert_eq!(service.operate(&ShowApp { app_id: None }).unwrap().name, "First");
}

#[test]
fn an_application_with_a_wrong_setting_is_not_created() {
    let service = seconder::open("sandbox:").unwrap();
    let wrong = |settings: AppSettings| {
        let settings = Some(settings);
        refused(&service, &CreateApp { name: "Second".into(), api_key: None, settings })
    };
    let url = AppSettings { callback_url: Some("ftp://x".into()), ..AppSettings::default() };
    assert!(wrong(url).contains("callback_url"));
    let logo = AppSettings { logo: Some("http://app.example/".into()), ..AppSettings::default() };
    assert!(wrong(logo).contains("logo must be an https:// URL"));
    let codes = AppSettings { authenticator_digits: Some(9), ..AppSettings::default() };
    assert!(wrong(codes).contains("authenticator_digits must be 6, 7 or 8"));
    let plan = AppSettings { plan: Some(String::new()), ..AppSettings::default() };
    assert!(wrong(plan).contains("plan must be 1 to 64 bytes"));
    let name = AppSettings { name: Some("Third".into()), ..AppSettings::default() };
    assert!(wrong(name).contains("settings must have no name"));
    let unnamed = refused(&service, &CreateApp::default());
    assert!(unnamed.contains("name must be 1 to 64 bytes"), "{unnamed}");
    let given = serde_json::json!({ "name": "Second", "settings": { "callback": "x" } });
    let unknown = service.operate_json("app.create", given.as_object().unwrap().clone());
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.contains("callback_url"), "{unknown}");
    assert_eq!(service.operate(&ListApps {}).unwrap().apps.len(), 1);
    for nobody in [0, 2, -1] {
        let error = refused(&service, &ShowApp { app_id: Some(nobody) });
        assert!(error.contains("app_id is not that of an application"), "{error}");
    }
}

#[test]
fn a_key_that_was_replaced_is_valid_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("apps.db"), ManualClock::at(NOW));
    let service = settings(&path).clock(clock.clone()).open().unwrap();
    let engine = service.engine().unwrap();
    let old = service.operate(&ShowAppKey { app_id: None }).unwrap().api_key;
    let rotate = RotateAppKey { app_id: None, overlap: Some(HOUR) };
    let new = service.operate(&rotate).unwrap();
    assert_ne!(new.api_key, old);
    assert_eq!((new.earlier_key.as_ref(), new.earlier_key_until), (Some(&old), Some(NOW + HOUR)));
    let shown = service.operate(&ShowApp { app_id: None }).unwrap();
    assert_eq!(shown.earlier_key_until, Some(NOW + HOUR));
    clock.set(NOW + HOUR - 1);
    assert!(of_key(engine, &old).is_ok() && of_key(engine, &new.api_key).is_ok());
    assert!(settings(&path).clock(clock.clone()).api_key(old.expose()).open().is_ok());
    let again = refused(&service, &rotate);
    assert!(again.contains("overlap must be 0") && again.contains("end_overlap"), "{again}");
    // What was found a moment before the end is known for 2 s.
    clock.set(NOW + HOUR + 2);
    let error = of_key(engine, &old).unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert!(of_key(engine, &new.api_key).is_ok());
    assert!(settings(&path).clock(clock.clone()).api_key(old.expose()).open().is_err());
    // A clock that is set back after another decision does not make it valid again. The time is stored
    // once it has moved by 5 s.
    clock.set(NOW + HOUR + 10);
    ada(&service);
    clock.set(NOW);
    assert!(settings(&path).clock(clock.clone()).api_key(old.expose()).open().is_err());
    assert_eq!(service.operate(&ShowAppKey { app_id: None }).unwrap().earlier_key, None);
}

#[test]
fn without_an_overlap_every_key_of_before_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let service = settings(&folder.path().join("apps.db")).open().unwrap();
    let engine = service.engine().unwrap();
    let first = service.operate(&ShowAppKey { app_id: None }).unwrap().api_key;
    let with = |overlap| service.operate(&RotateAppKey { app_id: None, overlap });
    let second = with(None).unwrap().api_key;
    assert!(of_key(engine, &first).is_ok() && of_key(engine, &second).is_ok());
    let third = with(Some(0)).unwrap();
    assert_eq!((third.earlier_key, third.earlier_key_until), (None, None));
    assert!(of_key(engine, &first).is_err() && of_key(engine, &second).is_err());
    assert!(of_key(engine, &third.api_key).is_ok());
    let error = with(Some(30 * 24 * HOUR + 1)).unwrap_err().to_string();
    assert!(error.contains("overlap must be at most 2592000"), "{error}");
    let fourth = with(Some(30 * 24 * HOUR)).unwrap().api_key;
    service.operate(&EndOverlap { app_id: None }).unwrap();
    assert!(of_key(engine, &third.api_key).is_err() && of_key(engine, &fourth).is_ok());
    let none = refused(&service, &EndOverlap { app_id: None });
    assert!(none.contains("one key"), "{none}");
    let audit = engine.audit(&seconder::engine::AuditFilter::default(), None, 10).unwrap();
    let of_call = |call| audit.entries.iter().filter(move |entry| entry.call == call);
    assert_eq!((of_call("app.rotate_key").count(), of_call("app.end_overlap").count()), (3, 1));
    let all = audit.entries.iter().filter(|entry| entry.call != "open");
    assert!(all.map(|entry| entry.reason.as_deref()).all(|reason| reason == Some("api_key")));
}

/// Keeps the callbacks that are posted.
struct Keep(Arc<Mutex<Vec<SignedCallback>>>);

impl Post for Keep {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        self.0.lock().unwrap().push(callback.clone());
        Ok(())
    }
}

/// A receiver that knows one of the keys alone.
fn accepts(key: &Secret, sent: &SignedCallback) -> bool {
    let header = |name: &str| {
        let found = sent.headers.iter().find(|(known, _)| known.ends_with(name));
        found.map_or("", |(_, value)| value.as_str())
    };
    let received = callback::Received {
        method: "POST",
        url: sent.url.as_str(),
        query: "",
        body: &sent.body,
        signature: header("Signature"),
        nonce: header("Signature-Nonce"),
    };
    let key = ApiKey::try_from(key.clone()).unwrap();
    let verifier = callback::Verifier::new(key).url(sent.url.as_str());
    verifier.verify(&received, NOW).is_ok()
}

#[test]
fn callbacks_are_signed_with_the_key_of_before_as_long_as_it_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("apps.db"), ManualClock::at(NOW));
    let posted: Arc<Mutex<Vec<SignedCallback>>> = Arc::default();
    let post = Keep(Arc::clone(&posted));
    let service = settings(&path)
        .clock(clock.clone())
        .post(post)
        .callback_url("https://app.example/callback")
        .open()
        .unwrap();
    let (engine, user) = (service.engine().unwrap(), ada(&service));
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let respond = || {
        let call = CreateApproval::new(user, "Log in?".parse().unwrap());
        let response = RespondToApproval {
            uuid: service.handle(&call).unwrap().uuid,
            device_id: device.device_id,
            device_secret: device.secret.clone(),
            response: ApprovalResponse::Approve,
            number: None,
        };
        let _ = engine.respond_to_approval(&response).unwrap();
        posted.lock().unwrap().pop().unwrap()
    };
    let rotate = RotateAppKey { app_id: None, overlap: Some(HOUR) };
    let keys = service.operate(&rotate).unwrap();
    let (new, old) = (keys.api_key, keys.earlier_key.unwrap());
    let sent = respond();
    assert!(accepts(&old, &sent) && !accepts(&new, &sent));
    clock.set(NOW + HOUR);
    let sent = respond();
    assert!(accepts(&new, &sent) && !accepts(&old, &sent));
}

#[test]
fn an_application_is_removed_with_its_users_and_nothing_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apps.db");
    let first = settings(&path).open().unwrap();
    let key = create(&first, "Second");
    let second = open(&path, &key.api_key);
    let user = ada(&first);
    for number in 0..70 {
        let number = format!("555-010-{:04}", 1000 + number);
        second.create_user("ada@example.com", &number, "1").unwrap();
        let email = format!("user{number}@example.com").parse().unwrap();
        second.handle(&CreateUser::without_phone(email)).unwrap();
    }
    let with = |users| DeleteApp { app_id: key.app_id, users };
    let kept = refused(&first, &with(false));
    assert!(kept.contains("users must be set for an application that has users"), "{kept}");
    let own = refused(&second, &with(true));
    assert!(own.contains("app_id is that of this service"), "{own}");
    assert_eq!(second.app_stats().unwrap().total_users, Some(140));
    drop(second);
    first.operate(&with(true)).unwrap();
    assert!(refused(&first, &with(true)).contains("is not that of an application"));
    assert!(settings(&path).api_key(key.api_key.expose()).open().is_err());
    let apps = first.operate(&ListApps {}).unwrap().apps;
    assert_eq!(apps.iter().map(|app| (app.app_id, app.users)).collect::<Vec<_>>(), [(1, 1)]);
    assert!(first.handle(&UserStatus::new(user)).is_ok());
    let again = create(&first, "Third");
    assert_eq!(again.app_id, 3, "no id is given again");
    let service = open(&path, &again.api_key);
    let entries = service.engine().unwrap();
    let entries = entries.audit(&seconder::engine::AuditFilter::default(), None, 10).unwrap();
    assert_eq!(entries.entries.len(), 1, "{entries:?}");
}

#[test]
fn nobody_is_enrolled_by_a_program_that_believes_in_an_application_that_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apps.db");
    let first = settings(&path).open().unwrap();
    let key = create(&first, "Second");
    let second = open(&path, &key.api_key);
    first.operate(&DeleteApp { app_id: key.app_id, users: true }).unwrap();
    let error = second.create_user("ada@example.com", "555-010-0123", "1").unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert!(first.create_user("ada@example.com", "555-010-0123", "1").is_ok());
}

#[test]
fn pages_of_approval_requests_are_full_whatever_other_applications_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apps.db");
    let first = settings(&path).open().unwrap();
    let second = open(&path, &create(&first, "Second").api_key);
    let (of_first, of_second) = (ada(&first), ada(&second));
    for _ in 0..3 {
        first.create_approval(of_first, "Log in?").unwrap();
        second.create_approval(of_second, "Log in?").unwrap();
    }
    let page = first.operate(&ListApprovals { most: Some(2), ..ListApprovals::default() }).unwrap();
    assert_eq!(page.approvals.len(), 2);
    let rest = ListApprovals { after: page.next, ..ListApprovals::default() };
    let rest = first.operate(&rest).unwrap();
    assert_eq!((rest.approvals.len(), rest.next), (1, None));
}

#[test]
fn the_key_of_a_service_is_the_one_that_its_application_has_now() {
    let folder = tempfile::tempdir().unwrap();
    let service = settings(&folder.path().join("apps.db")).open().unwrap();
    let engine = service.engine().unwrap();
    let before = engine.api_key();
    let rotate = RotateAppKey { app_id: None, overlap: Some(HOUR) };
    let new = service.operate(&rotate).unwrap().api_key;
    assert_ne!(engine.api_key(), before);
    assert_eq!(engine.api_key().expose(), new.expose());
}
