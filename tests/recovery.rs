//! Login names and recovery codes where more than one call matters: races, what is stored, what is
//! logged, and a service that has no such calls.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, at_once, open, open_at};
use crate::stub::{Stub, response};
use seconder::calls::{
    CreateRecoveryCodes, OfflineLogin, PrepareOffline, ROUTES, ReportOffline, RouteMatch,
    match_route,
};
use seconder::engine::{DeviceType, Engine};
use seconder::model::{LoginName, UserId};
use seconder::otp::Totp;
use seconder::{CallRecord, Error, Handle, Service, Settings};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn tally(results: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    results.into_iter().for_each(|result| *tally.entry(result).or_default() += 1);
    tally
}

fn counts(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn verify(service: &Service, code: &str, user: UserId) -> String {
    match service.handle(&seconder::Verify::new(user, code.parse().unwrap())) {
        Ok(checked) if checked.reused => "Reused".into(),
        Ok(checked) => format!("{:?}", checked.verdict),
        Err(Error::RateLimited { .. }) => "RateLimited".into(),
        Err(other) => panic!("{other}"),
    }
}

fn login(name: &str) -> LoginName {
    name.parse().unwrap()
}

#[test]
fn a_recovery_code_is_accepted_once_when_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.db");
    let ((service, _), (second, _)) = (open(&path), open(&path));
    let user = ada(&service);
    let codes = service.create_recovery_codes(user).unwrap().codes;
    let results =
        at_once([&service, &second], |service, _| verify(service, codes[3].as_str(), user));
    assert_eq!(tally(results), counts(&[("Right", 1), ("Reused", 31)]));
    service.set_login(user, &login("ada")).unwrap();
    assert_eq!(service.find_user(&login("ada")).unwrap().recovery_codes_left, 9);
}

#[test]
fn parallel_guesses_of_recovery_codes_are_limited_like_sequential_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("guess.db"), ManualClock::at(1_000_000));
    let ((service, _), (second, _)) = (open_at(&path, &clock), open_at(&path, &clock));
    let user = ada(&service);
    let codes = service.create_recovery_codes(user).unwrap().codes;
    let guess = |service: &Service, number: usize| {
        let guess = format!("{:012}", number);
        assert!(codes.iter().all(|code| code.as_str() != guess));
        verify(service, &guess, user)
    };
    let results = at_once([&service, &second], guess);
    assert_eq!(tally(results), counts(&[("Wrong", 4), ("RateLimited", 28)]));
    // The right one has to wait too, and its own bucket alone.
    assert_eq!(verify(&service, codes[0].as_str(), user), "RateLimited");
    clock.set(1_000_002);
    assert_eq!(verify(&service, codes[0].as_str(), user), "Right");
}

#[test]
fn a_name_has_one_user_when_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.db");
    let ((service, _), (second, _)) = (open(&path), open(&path));
    let create = |number: usize| {
        let phone = format!("555-010-{:04}", 1000 + number);
        service.create_user("x@example.com", &phone, "1").unwrap().user_id
    };
    let users: Vec<UserId> = (0..32).map(create).collect();
    let results = at_once([&service, &second], |service, number| {
        match service.set_login(users[number], &login("ada")) {
            Ok(_) => "Ok".into(),
            Err(Error::Rejected(rejection)) => rejection.status.to_string(),
            Err(other) => panic!("{other}"),
        }
    });
    assert_eq!(tally(results), counts(&[("Ok", 1), ("409", 31)]));
}

/// With the database alone, nobody logs in.
#[test]
fn the_database_does_not_have_the_codes() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder.path().join("hashed.db"));
    let user = ada(&service);
    let created = service.create_recovery_codes(user).unwrap();
    assert!(!format!("{created:?}").contains(created.codes[0].as_str()), "{created:?}");
    drop(service);
    let mut stored = Vec::new();
    for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            stored.extend(std::fs::read(file).unwrap());
        }
    }
    for code in &created.codes {
        let code = code.as_str().as_bytes();
        assert!(!stored.windows(code.len()).any(|part| part == code));
    }
}

#[test]
fn a_recovery_code_is_logged_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder.path().join("log.db"));
    let user = ada(&service);
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&lines);
    let service = service.with_log(Arc::new(move |record: &CallRecord| {
        keep.lock().unwrap().push(record.to_string());
    }));
    let codes = service.create_recovery_codes(user).unwrap().codes;
    let _ = service.handle(&seconder::Verify::new(user, codes[0].clone())).unwrap();
    let lines = lines.lock().unwrap();
    assert!(lines[1].starts_with("call=verify outcome=ok user_id=1 "), "{lines:?}");
    assert!(lines[1].ends_with(" factor=recovery_code"), "{lines:?}");
    assert!(!lines.concat().contains(codes[0].as_str()));
}

/// Services of others do not have the calls, and say so with whatever body they have for that.
#[test]
fn a_service_without_the_calls_is_an_error_that_says_so() {
    let json = r#"{"message":"There is no such call.","success":false,"error_code":"60002"}"#;
    let unknown = r#"{"message":"User not found.","success":false,"error_code":"60026"}"#;
    for (status, body, lacks) in [
        (404, json, true),
        (404, "<html>Not Found</html>", true),
        (401, "Unauthorized", true),
        (405, json, true),
        (404, unknown, false),
    ] {
        let stub = Stub::responding(response(status, "", body));
        let settings = Settings::new(&stub.url()).api_key("key").allow_loopback_http(true);
        let service = settings.open().unwrap();
        let errors = [
            service.find_user(&login("ada")).unwrap_err(),
            service.create_recovery_codes(1.try_into().unwrap()).unwrap_err(),
        ];
        for error in errors {
            let Error::Rejected(rejection) = error else { panic!("{status} {body}: {error}") };
            assert_eq!(rejection.status, status);
            let said = rejection.message.contains("the service has no call");
            assert_eq!(said, lacks, "{status} {body}: {}", rejection.message);
            // Its body says nothing, so it may be something else that wants to know who asks.
            assert_eq!(rejection.message.contains("a proxy"), status == 401);
        }
    }
}

/// A reply about somebody else would let the wrong user's codes in.
#[test]
fn a_reply_about_another_login_name_is_rejected() {
    let body = r#"{"svc_id":7,"login":"bob","success":true}"#;
    let stub = Stub::responding(response(200, "", body));
    let settings = Settings::new(&stub.url()).api_key("key").allow_loopback_http(true);
    let service = settings.open().unwrap();
    assert_eq!(service.find_user(&login("bob")).unwrap().user_id.get(), 7);
    let error = service.find_user(&login("ada")).unwrap_err();
    assert!(matches!(error, Error::InvalidResponse { .. }), "{error}");
}

/// What somebody at an unlocked terminal must not do.
#[test]
fn users_do_not_replace_what_protects_their_own_account() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let (service, _) = open_at(&folder.path().join("own.db"), &clock);
    let user = ada(&service);
    let engine = service.engine().unwrap();
    let check = |call| own(engine, call, user);
    let (enrol, create) = ("enrol_authenticator", "create_recovery_codes");
    assert_eq!((check(enrol), check(create)), (200, 403));
    let uri = service.enrol_authenticator(user).unwrap().uri;
    assert!(!engine.has_confirmed_authenticator(user).unwrap());
    assert_eq!((check(enrol), check(create)), (200, 403), "the secret was not used yet");
    let code = Totp::from_uri(uri.expose()).unwrap().code(1_000_000);
    assert_eq!(verify(&service, code.expose(), user), "Right");
    assert!(engine.has_confirmed_authenticator(user).unwrap());
    assert_eq!((check(enrol), check(create)), (403, 200));
    let codes = service.handle(&CreateRecoveryCodes::new(user)).unwrap().codes;
    assert_eq!((check(enrol), check(create)), (403, 403), "some are left");
    for code in &codes {
        assert_eq!(verify(&service, code.as_str(), user), "Right");
    }
    assert_eq!(check(create), 200);
    clock.set(1_000_000 + 11 * 60);
    assert_eq!(check(create), 403, "the last code of the app is long ago");
    assert_eq!((check("verify"), check("user_status"), check("find_user")), (200, 200, 200));
    assert_eq!(own(engine, enrol, 99.try_into().unwrap()), 404);
}

/// The status of a call that a user makes for their own account.
fn own(engine: &Engine, name: &str, user: UserId) -> u16 {
    let route = ROUTES.iter().find(|route| route.name == name).unwrap();
    let id = user.to_string();
    let fields = [("{format}", "json"), ("{token}", "1234567"), ("{login}", "ada")];
    let ids = [("{svc_id}", id.as_str()), ("{user_id}", id.as_str())];
    let fill = |path: String, (name, value): (&str, &str)| path.replace(name, value);
    let path = fields.into_iter().chain(ids).fold(route.path.to_owned(), fill);
    let RouteMatch::Call(call) = match_route(route.method, &path) else { panic!("{path}") };
    match engine.check_own_account(&call, user) {
        Ok(()) => 200,
        Err(Error::Rejected(rejection)) => rejection.status,
        Err(other) => panic!("{other}"),
    }
}

/// A report of a login proves nothing, so it does not stand for a code that was just accepted.
#[test]
fn a_reported_login_allows_no_own_recovery_codes() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000_020);
    let url = format!("sqlite:{}", folder.path().join("own.db").display());
    let service = Settings::new(&url).clock(clock.clone()).offline_days(1).open().unwrap();
    let user = ada(&service);
    let uri = service.enrol_authenticator(user).unwrap().uri;
    let code = Totp::from_uri(uri.expose()).unwrap().code(1_000_000_020);
    assert_eq!(verify(&service, code.expose(), user), "Right");
    let token = code.expose().parse().unwrap();
    let prepared = service.handle(&PrepareOffline::new(user, token)).unwrap();
    let own = || own(service.engine().unwrap(), "create_recovery_codes", user);
    assert_eq!(own(), 200);
    clock.set(1_000_000_020 + 3600);
    assert_eq!(own(), 403);
    let now = OfflineLogin { step: (1_000_000_020 + 3600) / 30, time: 1_000_003_620 };
    let report = ReportOffline::new(user, prepared.authenticator_id, vec![now]);
    service.handle(&report).unwrap();
    assert_eq!(own(), 403);
}

/// A second factor that somebody at an unlocked terminal added would let them in.
#[test]
fn users_add_no_app_to_an_account_that_something_else_protects() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let (service, _) = open_at(&folder.path().join("own.db"), &clock);
    let engine = service.engine().unwrap();
    let enrol = |user| own(engine, "enrol_authenticator", user);
    let user = |number: &str| service.create_user("x@example.com", number, "1").unwrap().user_id;

    let by_device = user("555-010-0201");
    assert_eq!(enrol(by_device), 200);
    engine.register_device(by_device, DeviceType::Ios).unwrap();
    assert_eq!(enrol(by_device), 403);

    let by_codes = user("555-010-0202");
    let codes = service.handle(&CreateRecoveryCodes::new(by_codes)).unwrap().codes;
    assert_eq!(enrol(by_codes), 403);
    for code in &codes {
        assert_eq!(verify(&service, code.as_str(), by_codes), "Right");
    }
    // Nothing is left of the codes, but they have confirmed the user, as an SMS does.
    assert_eq!(enrol(by_codes), 403);
}
