//! What has happened stays so when the clock is set back.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, open_at};
use seconder::calls::{ApprovalStatus, CreateApproval, Recognition, RequestSms};
use seconder::engine::operator::{CheckService, Health, UnlockUser};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Verdict};

#[test]
fn an_approval_that_expired_stays_expired_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let engine = service.engine().unwrap();
    let user = ada(&service);
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let ask = || {
        let call = CreateApproval::new(user, "Log in?".parse().unwrap());
        service.handle(&CreateApproval { seconds_to_expire: Some(60), ..call }).unwrap().uuid
    };
    let open = || engine.open_approvals(device.device_id, &device.secret).unwrap().len();
    let respond = |uuid: &_| {
        let (device_id, device_secret) = (device.device_id, device.secret.clone());
        let response = ApprovalResponse::Approve;
        let uuid = Clone::clone(uuid);
        engine.respond_to_approval(&RespondToApproval {
            uuid,
            device_id,
            device_secret,
            response,
            number: None,
        })
    };
    // Whoever notices first: the application, the device that lists its requests, the device that
    // responds, or the next request.
    for notices in 0..4 {
        clock.set(1_000_000);
        let uuid = ask();
        assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Pending);
        clock.set(1_000_060);
        match notices {
            0 => assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Expired),
            1 => assert_eq!(open(), 0),
            2 => assert!(matches!(respond(&uuid), Err(Error::Rejected(_)))),
            _ => drop(ask()),
        }
        clock.set(1_000_010);
        let approval = service.check_approval(&uuid).unwrap();
        assert_eq!(approval.status, ApprovalStatus::Expired, "{notices}");
        assert_eq!(approval.processed_at.as_deref(), Some("1970-01-12T13:47:40Z"));
        assert_eq!(open(), usize::from(notices == 3));
        let late = respond(&uuid).unwrap_err();
        assert!(matches!(&late, Error::Rejected(_)) && late.code() == Some("60079"), "{late}");
    }
}

#[test]
fn a_browser_stays_remembered_for_its_days_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(YEAR);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let browser = service.remember(user).unwrap().token;
    let recognised = || service.recognise(user, &browser).unwrap() == Recognition::Recognised;
    let at = |time: u64| {
        clock.set(time);
        recognised()
    };
    assert!(at(YEAR - 100 * DAY));
    assert!(at(YEAR - 71 * DAY));
    assert!(!at(YEAR - 70 * DAY));
}

const NOW: u64 = 1_000_000;
const LIFE: u64 = 600;
const DAY: u64 = 86_400;
const YEAR: u64 = 365 * DAY;

fn verify(service: &Service, user: UserId, code: &str) -> Result<Verdict, Error> {
    service
        .handle(&seconder::Verify::new(user, code.parse().unwrap()))
        .map(|checked| checked.verdict)
}

fn wait_of(result: Result<Verdict, Error>) -> Option<u64> {
    match result {
        Err(Error::RateLimited { retry_after, .. }) => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_code_that_expired_stays_expired_when_the_clock_is_set_back() {
    for back in [30, LIFE - 1, LIFE + 2, DAY, YEAR] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seconder.db");
        let clock = ManualClock::at(2 * YEAR);
        let (service, sent) = open_at(&path, &clock);
        let user = ada(&service);
        let _ = service.request_sms(user).unwrap();
        let code = sent.lock().unwrap()[0].code.clone();
        // Another handle, which does not see what this one sees.
        let (other, _) = open_at(&path, &clock);
        let _ = other.user_status(user).unwrap();
        clock.set(2 * YEAR + LIFE);
        assert_eq!(verify(&service, user, "9999999").unwrap(), Verdict::Wrong);
        clock.set(2 * YEAR + LIFE - back);
        for service in [&service, &other] {
            assert_eq!(verify(service, user, &code).unwrap(), Verdict::Wrong, "{back}");
        }
        drop((service, other));
        let (service, _) = open_at(&path, &clock);
        assert_eq!(
            verify(&service, user, &code).unwrap(),
            Verdict::Wrong,
            "{back}, after a restart"
        );
        // Codes that are sent afterwards are as good as ever.
        let (service, sent) = open_at(&path, &clock);
        let _ = service.request_sms(user).unwrap();
        let code = sent.lock().unwrap()[0].code.clone();
        clock.set(2 * YEAR + LIFE - back + 500);
        assert_eq!(verify(&service, user, &code).unwrap(), Verdict::Right, "{back}");
    }
}

#[test]
fn a_wait_is_neither_lifted_nor_prolonged_when_the_clock_is_set_back() {
    for back in [0, 1, 2, 60, DAY, YEAR] {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::at(2 * YEAR);
        let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
        let user = ada(&service);
        let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
        for _ in 0..4 {
            assert_eq!(verify(&service, user, "000000").unwrap(), Verdict::Wrong);
        }
        clock.set(2 * YEAR - back);
        assert_eq!(wait_of(verify(&service, user, "000000")), Some(2), "{back}");
        // A second is what threads may differ by.
        let ends = 2 * YEAR - back + 2 + u64::from(back == 1);
        clock.set(ends - 1);
        assert_eq!(wait_of(verify(&service, user, "000000")), Some(1), "{back}");
        clock.set(ends);
        let code = app.code(ends);
        assert_eq!(verify(&service, user, code.expose()).unwrap(), Verdict::Right, "{back}");
    }
}

#[test]
fn a_wait_ends_when_the_clock_was_ahead_for_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW + YEAR);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
    for wrong in 0..10 {
        assert_eq!(verify(&service, user, "000000").unwrap(), Verdict::Wrong);
        clock.set(NOW + YEAR + 100 * (wrong + 1));
    }
    clock.set(NOW);
    assert_eq!(wait_of(verify(&service, user, "000000")), Some(900));
    clock.set(NOW + 900);
    let code = app.code(NOW + 900);
    assert_eq!(verify(&service, user, code.expose()).unwrap(), Verdict::Right);
}

/// Guesses until a factor is locked, waiting as long as it takes.
fn lock(service: &Service, user: UserId, clock: &ManualClock, from: u64) -> u64 {
    let mut at = from;
    for wrong in 1..=100 {
        assert_eq!(verify(service, user, "000000").unwrap(), Verdict::Wrong, "{wrong}");
        at += 900;
        clock.set(at);
    }
    at
}

fn is_locked(result: Result<Verdict, Error>) -> bool {
    matches!(&result, Err(error @ Error::RateLimited { retry_after: None, .. })
        if error.code() == Some("factor_locked") && error.to_string().contains("locked"))
}

#[test]
fn a_factor_is_locked_after_100_wrong_codes_until_the_user_is_unlocked() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, sent) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
    let recovery = service.create_recovery_codes(user).unwrap();
    let at = lock(&service, user, &clock, NOW);
    let right = |at| verify(&service, user, app.code(at).expose());
    for at in [at, at + YEAR, at - DAY, NOW] {
        clock.set(at);
        assert!(is_locked(right(at)));
    }
    // The others work, and do not unlock it.
    let _ = service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    let code = sent.lock().unwrap()[0].code.clone();
    assert_eq!(verify(&service, user, &code).unwrap(), Verdict::Right);
    let code = recovery.codes[0].as_str();
    assert_eq!(verify(&service, user, code).unwrap(), Verdict::Right);
    assert!(is_locked(right(NOW)));
    let factors = service.user_status(user).unwrap().factors.unwrap();
    assert!(factors.authenticators_locked);
    assert!(!factors.codes_locked && !factors.recovery_codes_locked);
    let _ = service.unlock_user(user).unwrap();
    assert_eq!(right(NOW).unwrap(), Verdict::Right);
    assert!(!service.user_status(user).unwrap().factors.unwrap().authenticators_locked);
    let nobody = service.unlock_user(999.try_into().unwrap()).unwrap_err();
    assert_eq!(nobody.code(), Some("60026"));
}

#[test]
fn codes_are_accepted_again_after_the_clock_was_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(YEAR);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let [user, other] =
        [ada(&service), service.create_user("b@x", "555-010-0124", "1").unwrap().user_id];
    let enrol =
        |user| Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
    let (app, others) = (enrol(user), enrol(other));
    let right = |user, app: &Totp, at| {
        verify(&service, user, app.code(at).expose()).unwrap() == Verdict::Right
    };
    let health = || {
        let findings = service.operate(&CheckService {}).unwrap().findings;
        findings.into_iter().find(|finding| finding.check == "clock").unwrap()
    };
    let unlock = |clock, clock_is_right| {
        service.operate(&UnlockUser { user_id: user, clock, clock_is_right })
    };
    assert!(right(user, &app, YEAR));
    clock.set(YEAR + DAY);
    assert!(right(user, &app, YEAR + DAY));
    clock.set(YEAR + 60);
    assert_eq!(health().status, Health::Failed);
    // It may be wrong now.
    let refused = unlock(true, false).unwrap_err().to_string();
    assert!(refused.contains("1971-01-01 00:01:00 UTC"), "{refused}");
    assert!(
        refused.contains("86340 s behind") && refused.contains("--clock-is-right"),
        "{refused}"
    );
    assert!(!right(user, &app, YEAR + 60));
    assert!(right(other, &others, YEAR + 60));
    assert!(!right(user, &app, YEAR + 60));
    unlock(false, false).unwrap();
    assert!(!right(user, &app, YEAR + 60));
    let found = health();
    assert_eq!(found.status, Health::Warning);
    let expected = format!(
        "codes of 1 authenticator apps are not accepted, of the last one until \
                            1971-01-02 00:00:30 UTC; users {user}"
    );
    assert!(found.found.ends_with(&expected), "{}", found.found);
    assert!(found.advice.unwrap().contains("seconder user unlock --clock"));
    unlock(true, false).unwrap();
    assert_eq!(health().status, Health::Ok);
    // What may have been used before, at the right time, is not accepted again.
    for at in [YEAR, YEAR + 30, YEAR + 60, YEAR + 90] {
        assert!(!right(user, &app, at), "{at}");
    }
    clock.set(YEAR + 120);
    assert!(right(user, &app, YEAR + 120));
    unlock(true, true).unwrap();
    assert!(!right(user, &app, YEAR + 120));
    clock.set(YEAR + DAY);
    assert!(!right(user, &app, YEAR + DAY), "it was used");
    clock.set(YEAR + DAY + 30);
    assert!(right(user, &app, YEAR + DAY + 30));
    let user_id = 999.try_into().unwrap();
    let nobody = UnlockUser { user_id, clock: true, clock_is_right: false };
    assert_eq!(service.operate(&nobody).unwrap_err().code(), Some("60026"));
}
