//! The sandbox (interface 8): what it accepts, that it has no waits and caps, and how it is emptied; and the sandbox of
//! tests in Rust.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{self, ManualClock, ada};
use crate::phone::world::NOW;
use crate::phone::{Phone, SERVICE};
use seconder::calls::{ApprovalStatus, Channel, PhoneVerificationStatus, RequestSms};
use seconder::engine::{ApprovalResponse, DeviceType, Message, RespondToApproval};
use seconder::http::{SANDBOX_FAULTS, SandboxFault};
use seconder::model::{Token, UserId, VerificationCode};
use seconder::remote::Repeats;
use seconder::sandbox::{Injection, Sandbox};
use seconder::{Error, Handle, Service, Settings, Verdict, Verify};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn token(text: &str) -> Token {
    text.parse().unwrap()
}

fn check(service: &Service, code: &str) -> Result<(), String> {
    let code: VerificationCode = code.parse().unwrap();
    match service.check_phone_verification("555-010-0177", "1", &code) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.code().unwrap().to_owned()),
    }
}

/// A sandbox, and the codes that it delivers.
fn open(url: &str, clock: &ManualClock) -> (Service, Arc<Mutex<Vec<String>>>) {
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let service = Settings::new(url).clock(clock.clone()).deliver(move |message: &Message| {
        keep.lock().unwrap().push(message.code.clone());
        Ok(())
    });
    (service.open().unwrap(), sent)
}

#[test]
fn a_right_token_confirms_the_user_and_names_a_device() {
    let clock = ManualClock::at(1_000_000);
    for (url, right) in [("sandbox:", "1234567"), ("sandbox:?accept=0000000", "0000000")] {
        let (service, _) = open(url, &clock);
        let user = ada(&service);
        assert!(!service.user_status(user).unwrap().confirmed);
        if url != "sandbox:" {
            let wrong = service.handle(&Verify::new(user, token("1234567"))).unwrap();
            assert_eq!((wrong.verdict, wrong.device), (Verdict::Wrong, None));
            assert!(!service.user_status(user).unwrap().confirmed, "a wrong token changes nothing");
        }
        clock.set(1_000_100);
        let verified = service.handle(&Verify::new(user, token(right))).unwrap();
        assert_eq!(verified.verdict, Verdict::Right);
        let device = verified.device.unwrap();
        assert_eq!(device.os_type.as_deref(), Some("sms"));
        assert_eq!(device.registration_date, Some(1_000_000));
        let status = service.user_status(user).unwrap();
        assert!(status.confirmed && status.devices == ["sms"], "{status:?}");
        assert_eq!(service.app_stats().unwrap().stats[11].auths_count, Some(1));
        // An id that was never given is accepted too.
        let unknown = service.handle(&Verify::new("4711".parse().unwrap(), token(right))).unwrap();
        assert_eq!(unknown.verdict, Verdict::Right);
        assert_eq!(unknown.device.unwrap().registration_date, Some(1_000_100));
        clock.set(1_000_000);
    }
}

#[test]
fn there_are_no_waits_and_caps() {
    let clock = ManualClock::at(1_000_000);
    let (service, sent) = open("sandbox:?accept=0000000", &clock);
    let user = ada(&service);
    for _ in 0..20 {
        service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
        service.request_call(user).unwrap();
        assert_eq!(service.verify(user, &token("1234567")).unwrap(), Verdict::Wrong);
        service.start_phone_verification(Channel::Sms, "555-010-0177", "1").unwrap();
    }
    assert_eq!(service.verify(user, &token("0000000")).unwrap(), Verdict::Right);
    let code = sent.lock().unwrap().pop().unwrap();
    let wrong = if code == "0000001" { "0000002" } else { "0000001" };
    for _ in 0..20 {
        assert_eq!(check(&service, wrong), Err("60022".into()));
    }
    assert_eq!(check(&service, &code), Ok(()));

    let engine = service.engine().unwrap();
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let asked: Vec<_> =
        (0..20).map(|_| service.create_approval(user, "Log in?").unwrap().uuid).collect();
    assert_eq!(engine.open_approvals(device.device_id, &device.secret).unwrap().len(), 20);
    let report = RespondToApproval {
        uuid: asked[0].clone(),
        device_id: device.device_id,
        device_secret: device.secret.clone(),
        response: ApprovalResponse::Report,
        number: None,
    };
    assert_eq!(engine.respond_to_approval(&report).unwrap().status, ApprovalStatus::Denied);
    let next = service.create_approval(user, "Log in?").unwrap().uuid;
    assert_eq!(service.check_approval(&next).unwrap().status, ApprovalStatus::Pending);
    assert_eq!(service.check_approval(&asked[1]).unwrap().status, ApprovalStatus::Pending);
}

#[test]
fn four_zeros_verify_any_number() {
    let (service, sent) = open("sandbox:", &ManualClock::at(1_000_000));
    assert_eq!(check(&service, "1234"), Err("60023".into()), "nothing is pending");
    assert_eq!(check(&service, "0000"), Ok(()));
    service.start_phone_verification(Channel::Sms, "555-010-0177", "1").unwrap();
    assert_eq!(check(&service, "0000"), Ok(()));
    let code = sent.lock().unwrap().pop().unwrap();
    assert_eq!(check(&service, &code), Err("60023".into()), "the verification is over");
    assert_eq!(check(&service, "0000"), Ok(()));
    service.start_phone_verification(Channel::Sms, "555-010-0177", "1").unwrap();
    let code = sent.lock().unwrap().pop().unwrap();
    assert_eq!(check(&service, &code), Ok(()));

    let (real, _) = open("sandbox:?accept=right", &ManualClock::at(1_000_000));
    assert_eq!(check(&real, "0000"), Err("60023".into()));
}

/// What a user left in a sandbox.
fn fill(service: &Service) -> UserId {
    let user = ada(service);
    service.request_sms(user).unwrap();
    service.start_phone_verification(Channel::Call, "555-010-0177", "1").unwrap();
    service.engine().unwrap().register_device(user, DeviceType::Ios).unwrap();
    service.create_approval(user, "Log in?").unwrap();
    assert_eq!(service.app_stats().unwrap().total_users, Some(1));
    user
}

#[track_caller]
fn assert_is_empty(service: &Service, gone: UserId) {
    let stats = service.app_stats().unwrap();
    assert_eq!(stats.total_users, Some(0));
    let month = stats.stats.last().unwrap();
    assert_eq!((month.sms_count, month.users_count, month.calls_count), (0, 0, Some(0)));
    assert!(month.api_calls_count.unwrap() <= 2, "{month:?}");
    assert!(matches!(service.user_status(gone), Err(Error::Rejected(r)) if r.status == 404));
    assert_eq!(check(service, "1234"), Err("60023".into()));
    let number =
        PhoneVerificationStatus::of_number("555-010-0177".parse().unwrap(), "1".parse().unwrap());
    assert!(matches!(service.handle(&number), Err(Error::Rejected(r)) if r.status == 404));
    // The same number is a new user, whom the old id does not name.
    let next = ada(service);
    assert_ne!(next, gone);
    let status = service.user_status(next).unwrap();
    assert!(!status.confirmed && !status.registered, "{status:?}");
    assert!(matches!(service.user_status(gone), Err(Error::Rejected(r)) if r.status == 404));
    service.request_sms(next).unwrap();
}

#[test]
fn a_sandbox_is_emptied_by_a_call() {
    for url in ["sandbox:", "sandbox:?accept=0000000", "sandbox:?accept=right"] {
        let (service, _) = open(url, &ManualClock::at(1_000_000));
        let engine = service.engine().unwrap();
        let key = engine.api_key();
        let user = fill(&service);
        let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
        let device = engine.register_device(user, DeviceType::Ios).unwrap();
        engine.clear_sandbox().unwrap();
        assert!(service.check_approval(&uuid).is_err());
        assert!(engine.open_approvals(device.device_id, &device.secret).is_err());
        assert_is_empty(&service, user);
        assert!(engine.authenticate(&key).is_ok(), "the application stays");
        assert_eq!(service.app_details().unwrap().app_id, Some(1));
    }
}

#[test]
fn a_database_is_not_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = fresh::open(&folder.path().join("real.db"));
    let user = ada(&service);
    let error = service.engine().unwrap().clear_sandbox().unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "url"));
    assert!(error.to_string().contains("sandbox:"), "{error}");
    assert_eq!(service.user_status(user).unwrap().user_id, user);
}

#[test]
fn a_sandbox_is_emptied_on_schedule() {
    for url in [
        "sandbox:?clear_every=86400",
        "sandbox:?accept=0000000&clear_every=86400",
        "sandbox:?clear_every=86400&accept=right",
    ] {
        let clock = ManualClock::at(1_000_000);
        let (service, _) = open(url, &clock);
        let user = fill(&service);
        clock.set(1_086_399);
        assert!(service.user_status(user).is_ok());
        clock.set(1_086_400);
        assert_is_empty(&service, user);
        let next = ada(&service);
        clock.set(1_086_401);
        assert!(service.user_status(next).is_ok(), "once a day is enough");
        // Whichever call comes first after the time: here that of a device.
        let engine = service.engine().unwrap();
        clock.set(1_172_800);
        assert!(engine.register_device(next, DeviceType::Ios).is_err());
        assert_is_empty(&service, next);
        // The schedule counts from the opening, also after calls that were late.
        let third = ada(&service);
        clock.set(1_000_000 + 5 * 86_400 + 100);
        assert_is_empty(&service, third);
        let fourth = ada(&service);
        clock.set(1_000_000 + 6 * 86_400 - 1);
        assert!(service.user_status(fourth).is_ok());
        clock.set(1_000_000 + 6 * 86_400);
        assert_is_empty(&service, fourth);
    }
}

#[test]
fn the_options_of_the_url_are_checked() {
    for good in [
        "sandbox:",
        "sandbox:?clear_every=1",
        "sandbox:?clear_every=31536000",
        "sandbox:?accept=123456&clear_every=60",
    ] {
        assert!(seconder::open(good).is_ok(), "{good}");
    }
    for bad in [
        "sandbox:?",
        "sandbox:accept=123456",
        "sandbox:?clear_every=",
        "sandbox:?clear_every=0",
        "sandbox:?clear_every=31536001",
        "sandbox:?clear_every=+5",
        "sandbox:?clear_every=1.5",
        "sandbox:?clear_every=99999999999999999999999",
        "sandbox:?clear_every=5&clear_every=6",
        "sandbox:?accept=123456&accept=123457",
        "sandbox:?accept=123456&",
        "sandbox:?accept=12&clear_every=5",
        "sandbox:?clear=5",
        "sandbox:?accept",
    ] {
        assert!(matches!(seconder::open(bad), Err(Error::InvalidArgument { .. })), "{bad}");
    }
}

#[test]
fn a_real_engine_in_memory_keeps_its_limits() {
    let clock = ManualClock::at(1_000_000);
    let (service, sent) = open("sandbox:?accept=right", &clock);
    let user = ada(&service);
    service.request_sms(user).unwrap();
    assert!(matches!(service.request_sms(user), Err(Error::RateLimited { .. })));
    let asked: Vec<_> =
        (0..6).map(|_| service.create_approval(user, "Log in?").unwrap().uuid).collect();
    assert_eq!(service.check_approval(&asked[0]).unwrap().status, ApprovalStatus::Expired);
    let right = sent.lock().unwrap().pop().unwrap();
    let wrong = token(if right == "0000000" { "0000001" } else { "0000000" });
    for _ in 0..4 {
        let verdict = service.verify(user, &wrong.clone()).unwrap();
        assert_eq!(verdict, Verdict::Wrong);
    }
    let limited = service.handle(&Verify::new(user, token(&right)));
    assert!(matches!(limited, Err(Error::RateLimited { .. })), "{limited:?}");
}

/// As docs/testing.md says.
#[test]
fn a_user_of_a_sandbox_can_have_any_number_of_phones() {
    for (url, most) in [("sandbox:", 7), ("sandbox:?accept=right", 5)] {
        let service = Settings::new(url).clock(ManualClock::at(NOW)).open().unwrap();
        let engine = service.engine().unwrap();
        engine.set_public_url(&format!("{SERVICE}/")).unwrap();
        let ada = ada(&service);
        let registered = (0..7).map(|_| {
            let code = service.invite_device(ada).unwrap().code;
            Phone::register(engine, code.expose(), NOW)
        });
        assert_eq!(registered.take_while(Result::is_ok).count(), most, "{url}");
    }
}

/// A sandbox in the process of its test, and a user of it.
fn in_process() -> (Sandbox, Service, UserId) {
    let sandbox = Sandbox::new().unwrap();
    let service = sandbox.service();
    let ada = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    (sandbox, service, ada)
}

#[test]
fn a_call_that_meets_a_fault_has_the_error_of_a_client() {
    let (sandbox, service, ada) = in_process();
    for name in SANDBOX_FAULTS {
        sandbox.advance(Duration::from_secs(60)).unwrap();
        let injection = Injection::new(name.parse().unwrap()).status(418);
        let before = sandbox.now();
        let fault = sandbox.inject(injection.latency(Duration::from_secs(10))).unwrap();
        let failed = service.request_sms(ada).map(drop).unwrap_err();
        let passed = (sandbox.now() - before).as_secs();
        let is_expected = match *name {
            "timeout" | "latency" => failed.timed_out() && passed == 10,
            "lost" | "undelivered" | "storage" => matches!(failed, Error::Unavailable { .. }),
            "rate_limited" => matches!(failed, Error::RateLimited { retry_after: Some(_), .. }),
            "unauthorized" => matches!(failed, Error::Unauthorized { .. }),
            "invalid_response" => matches!(failed, Error::InvalidResponse { .. }),
            _ => matches!(&failed, Error::Rejected(rejection) if rejection.status == 418),
        };
        assert!(is_expected, "{name}: {failed:?}");
        assert_eq!(fault.met(), 1, "{name}");
    }
    let outcomes: Vec<_> = sandbox.calls().into_iter().map(|call| call.outcome).collect();
    assert_eq!(outcomes.len(), 1 + SANDBOX_FAULTS.len());
    assert_eq!(sandbox.messages().len(), 1, "that of the call whose response was lost");
    sandbox.advance(Duration::from_secs(60)).unwrap();
    service.request_sms(ada).unwrap();
    sandbox.inject(Injection::new(SandboxFault::Lost).calls(["login"])).map(drop).unwrap_err();
}

#[test]
fn a_call_that_changes_nothing_is_retried_by_the_time_of_the_sandbox() {
    let (sandbox, service, ada) = in_process();
    let limited = || {
        let injection = Injection::new(SandboxFault::RateLimited).times(2);
        sandbox.inject(injection.retry_after(Duration::from_secs(4))).unwrap()
    };
    let before = sandbox.now();
    let fault = limited();
    service.user_status(ada).unwrap();
    assert_eq!((fault.met(), (sandbox.now() - before).as_secs()), (2, 8));
    let fault = limited();
    service.with_repeats(Repeats::None).user_status(ada).unwrap_err();
    service.with_timeout(Duration::from_secs(3)).user_status(ada).unwrap_err();
    assert_eq!(fault.met(), 2);
}

#[test]
fn calls_are_recorded_without_secrets() {
    let (sandbox, service, ada) = in_process();
    service.request_sms(ada).unwrap();
    let code = sandbox.code(ada).unwrap();
    assert_eq!(service.verify(ada, &code).unwrap(), Verdict::Right);
    assert_eq!(service.verify(ada, &code).unwrap(), Verdict::Wrong);
    let calls = sandbox.calls();
    let outcomes: Vec<_> =
        calls.iter().map(|call| format!("{} {}", call.name, call.outcome)).collect();
    assert_eq!(outcomes, ["create_user ok", "request_sms ok", "verify ok", "verify token_reused"]);
    assert_eq!(calls[0].arguments["cellphone"], "555-010-0123");
    assert_eq!(calls[2].arguments["token"], "***");
    assert_eq!(calls[2].arguments["user_id"], ada.get());
}

#[test]
fn a_user_responds_while_time_passes() {
    let (sandbox, service, ada) = in_process();
    let uuid = service.create_approval(ada, "Log in?").unwrap().uuid;
    let phone = sandbox.clone();
    sandbox.after(Duration::from_secs(20), move || phone.deny(ada).map(drop));
    sandbox.advance(Duration::from_secs(19)).unwrap();
    assert!(sandbox.callbacks().is_empty());
    sandbox.advance(Duration::from_secs(1)).unwrap();
    assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Denied);
    assert_eq!(sandbox.callbacks().len(), 1);
    service.enrol_authenticator(ada).unwrap();
    let code = sandbox.authenticator_code(ada).unwrap();
    assert_eq!(service.verify(ada, &code).unwrap(), Verdict::Right);
}
