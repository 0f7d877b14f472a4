//! What protects an account: which code confirms an authenticator app, and what is removed.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, at_once, open, open_at};
use crate::stub::{Stub, response};
use seconder::calls::{
    Call, ConfirmAuthenticator, Factors, RouteMatch, UserStatus, Verification, match_route,
};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::wire::{Format, Generation, Reply};
use seconder::{CallRecord, Error, Handle, Service, Settings, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const NOW: u64 = 1_000_000;

fn tally(results: Vec<String>) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    results.into_iter().for_each(|result| *tally.entry(result).or_default() += 1);
    tally
}

fn counts(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// An outcome of a check in one word.
fn outcome(result: Result<Verification, Error>) -> String {
    match result {
        Ok(checked) if checked.reused => "Reused".into(),
        Ok(checked) => format!("{:?}", checked.verdict),
        Err(Error::RateLimited { .. }) => "RateLimited".into(),
        Err(Error::Rejected(rejection)) => rejection.code.unwrap(),
        Err(other) => panic!("{other}"),
    }
}

fn confirm(service: &Service, user: UserId, code: &str) -> String {
    outcome(service.handle(&ConfirmAuthenticator::new(user, code.parse().unwrap())))
}

fn verify(service: &Service, user: UserId, code: &str) -> String {
    outcome(service.handle(&seconder::Verify::new(user, code.parse().unwrap())))
}

fn enrol(service: &Service, user: UserId) -> Totp {
    Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap()
}

fn factors(service: &Service, user: UserId) -> Factors {
    service.user_status(user).unwrap().factors.unwrap()
}

/// Codes that the app does not show around this time.
fn wrong(app: &Totp, count: usize) -> Vec<String> {
    let near: Vec<_> = [NOW - 30, NOW, NOW + 30].map(|at| app.code(at)).to_vec();
    let candidates = (0..).map(|number: u32| format!("{number:06}"));
    candidates.filter(|code| near.iter().all(|shown| shown.expose() != code)).take(count).collect()
}

#[test]
fn an_app_is_confirmed_once_when_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("race.db"), ManualClock::at(NOW));
    let ((service, _), (second, _)) = (open_at(&path, &clock), open_at(&path, &clock));
    let user = ada(&service);
    let app = enrol(&service, user);
    let code = app.code(NOW);
    let results = at_once([&service, &second], |service, _| confirm(service, user, code.expose()));
    assert_eq!(tally(results), counts(&[("Right", 1), ("no_pending_authenticator", 31)]));
    assert_eq!(verify(&service, user, code.expose()), "Reused");
    let shown = factors(&service, user).authenticators;
    assert_eq!(shown.iter().map(|app| app.confirmed).collect::<Vec<_>>(), [true]);
}

/// Half of the threads confirm the app by `verify`.
#[test]
fn a_code_is_right_once_whichever_call_checks_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("both.db"), ManualClock::at(NOW));
    let ((service, _), (second, _)) = (open_at(&path, &clock), open_at(&path, &clock));
    let user = ada(&service);
    let code = enrol(&service, user).code(NOW);
    let results = at_once([&service, &second], |service, number| match number < 16 {
        true => confirm(service, user, code.expose()),
        false => verify(service, user, code.expose()),
    });
    assert_eq!(results.iter().filter(|result| *result == "Right").count(), 1, "{results:?}");
    assert!(results.iter().all(|result| result != "Wrong"), "{results:?}");
}

#[test]
fn parallel_guesses_at_a_pending_app_are_limited_like_sequential_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("guess.db"), ManualClock::at(NOW));
    let ((service, _), (second, _)) = (open_at(&path, &clock), open_at(&path, &clock));
    let user = ada(&service);
    let app = enrol(&service, user);
    let guesses = wrong(&app, 32);
    let guess = |service: &Service, number: usize| confirm(service, user, &guesses[number]);
    let results = at_once([&service, &second], guess);
    assert_eq!(tally(results), counts(&[("Wrong", 4), ("RateLimited", 28)]));
    let right = app.code(NOW);
    assert_eq!(confirm(&service, user, right.expose()), "RateLimited");
    assert_eq!(verify(&service, user, right.expose()), "RateLimited", "one count for both calls");
    // Another enrolment does not end the wait.
    let next = enrol(&service, user).code(NOW);
    assert_eq!(confirm(&service, user, next.expose()), "RateLimited");
    clock.set(NOW + 2);
    assert_eq!(confirm(&service, user, next.expose()), "Right");
}

/// A user who has lost the phone while it was the only factor.
#[test]
fn without_an_app_codes_are_sent_by_sms_again() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, sent) = open_at(&folder.path().join("lost.db"), &clock);
    let user = ada(&service);
    let old = enrol(&service, user);
    assert_eq!(confirm(&service, user, old.code(NOW).expose()), "Right");
    let pending = enrol(&service, user);
    assert!(service.request_sms(user).unwrap().ignored);
    let [first, second] = factors(&service, user).authenticators.try_into().unwrap();
    assert!(first.confirmed && !second.confirmed);
    let _ = service.remove_authenticator(user, &first.id).unwrap();
    clock.set(NOW + 60);
    assert_eq!(verify(&service, user, old.code(NOW + 60).expose()), "Wrong");
    // The app that was never confirmed keeps nothing from being sent.
    assert!(!service.request_sms(user).unwrap().ignored);
    assert_eq!(sent.lock().unwrap().len(), 1);
    let code = pending.code(NOW + 60);
    assert_eq!(confirm(&service, user, code.expose()), "Right", "it is still pending");
    assert!(service.request_sms(user).unwrap().ignored);
}

#[test]
fn a_removed_device_responds_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder.path().join("device.db"));
    let (user, engine) = (ada(&service), service.engine().unwrap());
    let lost = engine.register_device(user, DeviceType::Ios).unwrap();
    let kept = engine.register_device(user, DeviceType::Android).unwrap();
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    service.remove_device(user, lost.device_id).unwrap();
    let respond = |device: &seconder::engine::DeviceRegistered| {
        engine.respond_to_approval(&RespondToApproval {
            uuid: uuid.clone(),
            device_id: device.device_id,
            device_secret: device.secret.clone(),
            response: ApprovalResponse::Approve,
            number: None,
        })
    };
    let is_void = |error: Error| {
        let invalid = matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "device_secret");
        assert!(invalid, "{error}");
    };
    is_void(respond(&lost).unwrap_err());
    is_void(engine.open_approvals(lost.device_id, &lost.secret).unwrap_err());
    assert_eq!(engine.open_approvals(kept.device_id, &kept.secret).unwrap().len(), 1);
    assert!(respond(&kept).unwrap().approved_by(user));
    service.remove_device(user, kept.device_id).unwrap();
    let status = service.user_status(user).unwrap();
    assert!(!status.registered && status.devices.is_empty());
}

/// Neither a login process nor the user's own programs see a secret.
#[test]
fn the_status_of_a_user_has_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder.path().join("status.db"));
    let (user, engine) = (ada(&service), service.engine().unwrap());
    let uri = service.enrol_authenticator(user).unwrap().uri;
    let key = uri.expose().split_once("secret=").unwrap().1.split('&').next().unwrap().to_owned();
    let codes = service.create_recovery_codes(user).unwrap().codes;
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    for path in
        [format!("/protected/json/users/{user}/status"), format!("/-/json/users/{user}/devices")]
    {
        let RouteMatch::Call(call) = match_route("GET", &path) else { panic!("{path}") };
        let body = call.handle(engine, Default::default(), Generation::Current).body.to_string();
        assert!(body.contains("\"ios\""), "{body}");
        for secret in codes.iter().map(|code| code.as_str()).chain([&*key, device.secret.expose()])
        {
            assert!(!body.contains(secret), "{body}");
        }
        // The label that the app shows by default has the address of the user.
        assert!(!body.contains("ada@example.com"), "{body}");
    }
}

/// What another service's field of that name is taken for, in every format.
fn said(factors: Value) -> Option<Factors> {
    let body = json!({"status": {"svc_id": 7, "factors": factors}, "success": true});
    let [json, xml] = [Format::Json, Format::Xml].map(|format| {
        let body = format.read(&format.write(&body)).unwrap();
        UserStatus::read(Reply::new(200, body)).unwrap().factors
    });
    assert_eq!(json, xml);
    json
}

#[test]
fn factors_are_read_as_tolerantly_as_the_rest() {
    // One that is left out must not read as if the user had none.
    for silent in [
        json!(null),
        json!("sms"),
        json!(3),
        json!(["sms"]),
        json!({}),
        json!({"authenticators": 2}),
        json!({"sms": true, "authenticators": [], "devices": []}),
        json!({"sms": true, "authenticators": [], "devices": null, "recovery_codes": 1}),
    ] {
        assert_eq!(said(silent.clone()), None, "{silent}");
    }
    let device = json!({"id": "5", "type": "ios", "created_at": "1786924800", "name": "Ada's"});
    let some = said(json!({
        "sms": "true", "authenticators": [{"id": 3}], "devices": [device], "recovery_codes": "9",
        "hardware": [],
    }));
    let some = some.unwrap();
    let app = &some.authenticators[0];
    assert_eq!((app.id.as_str(), app.confirmed, app.created_at), ("3", false, None));
    assert_eq!((some.devices[0].id.get(), some.devices[0].created_at), (5, Some(1_786_924_800)));
    assert_eq!((some.sms, some.recovery_codes), (true, 9));
    let body = json!({"status": {"svc_id": 7}, "success": true});
    assert_eq!(UserStatus::read(Reply::new(200, body)).unwrap().factors, None);
}

fn reply(status: u16, body: Value, generation: Generation) -> Reply {
    Reply { generation, ..Reply::new(status, body) }
}

/// No reply but that to a right code confirms an app.
#[test]
fn only_a_reply_that_confirms_the_code_is_right() {
    for generation in [Generation::Current, Generation::Older] {
        let read = |status, body| ConfirmAuthenticator::read(reply(status, body, generation));
        let right = read(200, json!({"token": "is valid", "success": "true"})).unwrap();
        assert_eq!(right.verdict, Verdict::Right);
        let wrong = read(401, json!({"error_code": "60020", "success": false})).unwrap();
        assert_eq!(wrong.verdict, Verdict::Wrong);
        for bad in [
            json!({"success": true}),
            json!({"token": "is valid"}),
            json!({"token": "is valid", "success": false}),
            json!({"token": "is valid", "success": true, "errors": {"message": "no"}}),
            json!({"message": "Device was removed.", "success": true}),
            json!("<html>"),
        ] {
            assert!(read(200, bad.clone()).is_err(), "{bad}");
        }
    }
}

#[test]
fn a_service_that_finds_nothing_does_not_lack_the_calls() {
    let own = |code: &str| format!(r#"{{"message":"No.","success":false,"error_code":"{code}"}}"#);
    for (status, body, lacks) in [
        (404, own("60002"), true),
        (404, "<html>Not Found</html>".to_owned(), true),
        (401, "Unauthorized".to_owned(), true),
        (405, own("60002"), true),
        (404, own("60026"), false),
        (404, own("no_pending_authenticator"), false),
        (404, own("authenticator_not_found"), false),
        (404, own("device_not_found"), false),
    ] {
        let stub = Stub::responding(response(status, "", &body));
        let settings = Settings::new(&stub.url()).api_key("key").allow_loopback_http(true);
        let service = settings.open().unwrap();
        let user = 1.try_into().unwrap();
        let errors = [
            service.confirm_authenticator(user, &"123456".parse().unwrap()).unwrap_err(),
            service.remove_authenticator(user, &"1".parse().unwrap()).unwrap_err(),
            service.devices(user).unwrap_err(),
            service.remove_device(user, 1.try_into().unwrap()).unwrap_err(),
        ];
        for error in errors {
            let Error::Rejected(rejection) = error else { panic!("{status} {body}: {error}") };
            let said = rejection.message.contains("the service has no call");
            assert_eq!((rejection.status, said), (status, lacks), "{body}: {}", rejection.message);
        }
    }
}

#[test]
fn a_wrong_confirmation_is_logged_as_a_wrong_code() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("log.db"), &clock);
    let user = ada(&service);
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&lines);
    let service = service.with_log(Arc::new(move |record: &CallRecord| {
        keep.lock().unwrap().push(record.to_string());
    }));
    let app = enrol(&service, user);
    let guess = &wrong(&app, 1)[0];
    assert_eq!(confirm(&service, user, guess), "Wrong");
    assert_eq!(confirm(&service, user, app.code(NOW).expose()), "Right");
    let lines = lines.lock().unwrap();
    assert!(lines[1].starts_with("call=confirm_authenticator outcome=token_wrong user_id=1 "));
    assert!(lines[2].starts_with("call=confirm_authenticator outcome=ok user_id=1 "), "{lines:?}");
    assert!(!lines.concat().contains(&**guess));
}

/// Applications test their enrolment with codes of a sandbox.
#[test]
fn a_sandbox_confirms_what_is_pending() {
    for (options, accepted) in [("", "123456"), ("?accept=0000000", "0000000")] {
        let service = Settings::new(&format!("sandbox:{options}")).open().unwrap();
        let user = ada(&service);
        assert_eq!(confirm(&service, user, accepted), "no_pending_authenticator");
        let _ = enrol(&service, user);
        if !options.is_empty() {
            assert_eq!(confirm(&service, user, "0000001"), "Wrong");
        }
        assert_eq!(confirm(&service, user, accepted), "Right");
        assert!(factors(&service, user).authenticators[0].confirmed);
        assert!(service.user_status(user).unwrap().confirmed);
    }
}
