//! What the engine has decided can be read again, and nothing secret is among it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{self, ManualClock, ada, open_at};
use seconder::calls::{CreateApproval, PrepareOffline, RequestSms, Verdict};
use seconder::engine::{ApprovalResponse, AuditEntry, AuditFilter, DeviceType, RespondToApproval};
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Handle, Service, Settings, Verify};
use serde_json::json;

const NOW: u64 = 1_000_000;

fn read(service: &Service, filter: &AuditFilter) -> Vec<AuditEntry> {
    service.engine().unwrap().audit(filter, None, 1000).unwrap().entries
}

/// Calls with their verdicts, the earliest first.
fn shown(service: &Service, filter: &AuditFilter) -> Vec<String> {
    let one = |entry: &AuditEntry| {
        let mut text = format!("{} {}", entry.call, entry.verdict);
        for more in [&entry.factor, &entry.over_limit, &entry.reason].into_iter().flatten() {
            text.push_str(&format!(" {more}"));
        }
        match entry.times {
            1 => text,
            times => format!("{text} {times}"),
        }
    };
    read(service, filter).iter().rev().map(one).collect()
}

fn of(user: UserId) -> AuditFilter {
    AuditFilter { user_id: Some(user), ..AuditFilter::default() }
}

#[test]
fn every_decision_about_codes_is_noted_and_refusals_once_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, sent) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let verify = |code: &str| {
        let call = Verify::new(user, code.parse().unwrap());
        let _ = service.handle(&Verify { user_ip: Some("192.0.2.7".parse().unwrap()), ..call });
    };
    let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
    let right = app.code(NOW);
    // The user was never confirmed.
    let call = Verify::new(user, right.expose().parse().unwrap());
    let _ = service.handle(&Verify { force: false, ..call }).unwrap();
    verify(right.expose());
    verify(right.expose());
    (0..4).for_each(|_| verify("000000"));
    // All of these have to wait.
    (0..9).for_each(|_| verify("000000"));
    let call = RequestSms {
        force: Some(true),
        user_ip: Some("2001:db8::1".parse().unwrap()),
        ..RequestSms::new(user)
    };
    let _ = service.handle(&call).unwrap();
    (0..3).for_each(|_| drop(service.handle(&call).unwrap_err()));
    let code = sent.lock().unwrap()[0].code.clone();
    verify(&code);
    clock.set(NOW + 1);
    let _ = service.unlock_user(user).unwrap();
    let expected = [
        "create_user created",
        "enrol_authenticator done",
        "request_sms refused code cool_down",
        "request_sms sent code",
        "unlock_user done",
        "verify not_checked not_confirmed",
        "verify reused",
        "verify right authenticator",
        "verify right code",
        "verify wait wrong_codes",
        "verify wrong authenticator",
        "verify wrong authenticator",
        "verify wrong authenticator",
        "verify wrong authenticator",
    ];
    let mut found = shown(&service, &of(user));
    assert_eq!(found.last().unwrap(), "unlock_user done", "the latest is the first of a page");
    found.sort_unstable();
    assert_eq!(found, expected);
    // The refusals of a minute are one row, and the next one has their number.
    clock.set(NOW + 60);
    (0..5).for_each(|_| verify("000000"));
    let found = shown(&service, &AuditFilter { since: Some(NOW + 60), ..of(user) });
    assert!(found.contains(&"verify wait wrong_codes 9".to_owned()), "{found:?}");
    // What no other one follows gets its row too, later.
    clock.set(NOW + 120);
    let _ = service.engine().unwrap().maintain(std::time::Duration::from_secs(1)).unwrap();
    let found = shown(&service, &AuditFilter { since: Some(NOW), ..of(user) });
    assert!(found.contains(&"request_sms refused code cool_down 2".to_owned()), "{found:?}");
    let call = |name: &str| AuditFilter { call: Some(name.into()), ..of(user) };
    let unlocked = shown(&service, &call("unlock_user"));
    assert_eq!(unlocked, ["unlock_user done"]);
    let from = |address: &str| Some(address.parse().unwrap());
    let found = shown(&service, &AuditFilter { user_ip: from("2001:DB8:0::1"), ..of(user) });
    assert!(found.len() > 1 && found.iter().all(|row| row.starts_with("request_sms")), "{found:?}");
    let mapped = AuditFilter { user_ip: from("::ffff:192.0.2.7"), ..of(user) };
    assert!(shown(&service, &mapped).iter().all(|row| row.starts_with("verify")));
    assert_eq!(
        shown(&service, &mapped),
        shown(&service, &AuditFilter { user_ip: from("192.0.2.7"), ..of(user) })
    );
    let other = AuditFilter { user_ip: from("192.0.2.7"), ..call("request_sms") };
    assert!(shown(&service, &other).is_empty());
    let entries = read(&service, &of(user));
    let sms = entries.iter().find(|entry| entry.verdict == "sent").unwrap();
    assert_eq!(sms.number.as_deref(), Some("+1-XXX-XXX-XX23"));
    assert_eq!(sms.user_ip.as_deref(), Some("2001:db8::1"));
    assert_eq!(sms.time, 1_000_000_000);
    let all = format!("{entries:?}");
    for secret in [code.as_str(), right.expose(), "5550100123", "000000\""] {
        assert!(!all.contains(secret), "{secret}");
    }
}

#[test]
fn refusals_that_race_are_counted_once_and_have_one_row_for_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let _ = service.enrol_authenticator(user).unwrap();
    let guess = || drop(service.handle(&Verify::new(user, "000000".parse().unwrap())));
    (0..4).for_each(|_| guess());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| guess()));
        }
        scope.spawn(|| {
            let call = Verify::new(user, "1234567".parse().unwrap());
            let unforced = Verify { force: false, ..call };
            (0..10).for_each(|_| drop(service.handle(&unforced)))
        });
    });
    let rows = |verdict: &str| {
        let filter = AuditFilter { verdict: Some(verdict.into()), ..of(user) };
        read(&service, &filter).iter().map(|entry| entry.times).collect::<Vec<_>>()
    };
    assert_eq!(rows("wait"), [1]);
    let others = rows("not_checked").len();
    assert!(others <= 1, "{others}");
    clock.set(NOW + 60);
    let _ = service.engine().unwrap().maintain(std::time::Duration::from_secs(1)).unwrap();
    let counted = rows("wait").iter().chain(&rows("not_checked")).sum::<u32>();
    assert_eq!(counted, 90);
}

#[test]
fn refusals_that_were_only_counted_have_a_row_when_the_engine_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&path, &clock);
    let user = ada(&service);
    let call = RequestSms { force: Some(true), ..RequestSms::new(user) };
    clock.set(NOW + 1);
    let _ = service.handle(&call).unwrap();
    for second in 2..6 {
        clock.set(NOW + second);
        drop(service.handle(&call).unwrap_err());
    }
    // Another handle on it does not end it.
    drop(service.engine().unwrap().clone());
    assert_eq!(shown(&service, &of(user)).len(), 3);
    drop(service);
    let (service, _) = open_at(&path, &clock);
    let expected = [
        "create_user created",
        "request_sms sent code",
        "request_sms refused code cool_down",
        "request_sms refused code cool_down 3",
    ];
    assert_eq!(shown(&service, &of(user)), expected);
    assert_eq!(read(&service, &of(user))[0].time, 1_000_005_000);
    // Nothing was left, so nothing is written.
    drop(service);
    let (service, _) = open_at(&path, &clock);
    assert_eq!(shown(&service, &of(user)), expected);
}

#[test]
fn what_a_verdict_leaves_open_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, sent) = open_at(&path, &clock);
    let user = ada(&service);
    let verify = |code: &str| service.handle(&Verify::new(user, code.parse().unwrap())).unwrap();
    let last = |verdict: &str| {
        let filter = AuditFilter { verdict: Some(verdict.into()), ..of(user) };
        let entry = read(&service, &filter).into_iter().next().unwrap();
        (entry.reason, entry.times)
    };
    let because = |reason: &str| (Some(reason.to_owned()), 1);
    let _ = verify("1234567");
    assert_eq!(last("wrong"), because("none_to_compare"));
    clock.set(NOW + 1);
    let action = Some("pay".parse().unwrap());
    let _ = service.handle(&RequestSms { action, ..RequestSms::new(user) }).unwrap();
    let code = sent.lock().unwrap()[0].code.clone();
    let other = if code == "7654321" { "1234567" } else { "7654321" };
    let _ = verify(&code);
    assert_eq!(last("wrong"), because("other_action"));
    for turn in 2..6 {
        clock.set(NOW + 100 * turn);
        let _ = verify(other);
        assert_eq!(last("wrong"), (None, 1));
    }
    clock.set(NOW + 590);
    let action = Some("pay".parse().unwrap());
    let call = Verify { action, ..Verify::new(user, code.parse().unwrap()) };
    assert_ne!(service.handle(&call).unwrap().verdict, Verdict::Right);
    assert_eq!(last("wrong"), because("too_many_tries"));
    // One that lives for longer than any was sent while the clock was wrong.
    let _ = service.request_sms(user).unwrap();
    let code = sent.lock().unwrap()[1].code.clone();
    let db = rusqlite::Connection::open(&path).unwrap();
    let later = "UPDATE codes SET expires_at = expires_at + 86400000 WHERE action = ''";
    assert_eq!(db.execute(later, []).unwrap(), 1);
    drop(db);
    clock.set(NOW + 800);
    let _ = verify(&code);
    assert_eq!(last("wrong"), (None, 1));
    // Opening it again with the same settings is no change.
    for _ in 0..2 {
        let url = fresh::url(&path);
        drop(Settings::new(&url).limits("sends=6").application_name("Example").open().unwrap());
    }
    let filter = AuditFilter { verdict: Some("configured".into()), ..AuditFilter::default() };
    let reasons: Vec<_> = read(&service, &filter).into_iter().map(|e| e.reason.unwrap()).collect();
    assert_eq!(reasons, ["application_name limits"]);
}

#[test]
fn approvals_and_changes_of_what_protects_an_account_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let engine = service.engine().unwrap();
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let ask = || service.handle(&CreateApproval::new(user, "Log in?".parse().unwrap()));
    for response in [ApprovalResponse::Approve, ApprovalResponse::Deny, ApprovalResponse::Report] {
        let uuid = ask().unwrap().uuid;
        let (device_id, device_secret) = (device.device_id, device.secret.clone());
        let call = RespondToApproval { uuid, device_id, device_secret, response, number: None };
        let _ = engine.respond_to_approval(&call).unwrap();
        clock.set(NOW + 1 + response as u64);
    }
    let _ = ask().unwrap_err();
    let browser = service.remember(user).unwrap();
    let _ = service.recognise(user, &browser.token).unwrap();
    let _ = service.delete_user(user).unwrap();
    let mut found = shown(&service, &of(user));
    found.sort_unstable();
    let expected = [
        "create_approval created",
        "create_approval created",
        "create_approval created",
        "create_approval refused snooze",
        "create_user created",
        "delete_user done",
        "recognise recognised",
        "register_device done",
        "remember done",
        "respond_to_approval approved",
        "respond_to_approval denied",
        "respond_to_approval reported",
    ];
    assert_eq!(found, expected, "also after the user is deleted");
}

#[test]
fn the_proof_for_logins_without_the_service_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let url = fresh::url(&folder.path().join("seconder.db"));
    let service = Settings::new(&url).clock(clock.clone()).offline_days(1).open().unwrap();
    let user = ada(&service);
    let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
    let code = app.code(NOW).expose().parse().unwrap();
    let _ = service.handle(&Verify::new(user, app.code(NOW).expose().parse().unwrap())).unwrap();
    let prepare = || service.handle(&PrepareOffline::new(user, Clone::clone(&code)));
    let _ = prepare().unwrap();
    let _ = prepare().unwrap_err();
    let mut found = shown(&service, &of(user));
    found.retain(|row| row.starts_with("prepare_offline"));
    found.sort_unstable();
    assert_eq!(
        found,
        ["prepare_offline reused authenticator", "prepare_offline right authenticator"]
    );
}

#[test]
fn pages_follow_each_other_without_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let other = service.create_user("ben@example.com", "555-010-0124", "1").unwrap().user_id;
    for turn in 0..30 {
        clock.set(NOW + turn / 3);
        let of = if turn % 2 == 0 { user } else { other };
        let _ = service.unlock_user(of).unwrap();
    }
    let engine = service.engine().unwrap();
    let pages = |filter: &AuditFilter| {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = engine.audit(filter, after.as_deref(), 4).unwrap();
            assert!(page.entries.len() <= 4);
            all.extend(page.entries);
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    };
    for filter in [
        AuditFilter::default(),
        of(user),
        AuditFilter { verdict: Some("done".into()), since: Some(NOW + 3), ..of(other) },
        AuditFilter { until: Some(NOW + 3), ..AuditFilter::default() },
    ] {
        let whole = read(&service, &filter);
        assert_eq!(pages(&filter), whole);
        assert!(whole.is_sorted_by_key(|entry| std::cmp::Reverse(entry.time)));
    }
    let count = |filter: AuditFilter| read(&service, &filter).len();
    assert_eq!(count(of(user)), 16);
    assert_eq!(count(AuditFilter { verdict: Some("done".into()), ..AuditFilter::default() }), 30);
    let three = |since| AuditFilter {
        since: Some(since),
        until: Some(since + 1),
        ..AuditFilter::default()
    };
    assert_eq!(count(three(NOW + 5)), 3);
    for place in ["", "1", "1.2", "1.2.3.4", "a.b.c"] {
        assert!(engine.audit(&AuditFilter::default(), Some(place), 4).is_err(), "{place}");
    }
    assert!(engine.audit(&AuditFilter::default(), None, 0).is_err());
    assert!(engine.audit(&AuditFilter::default(), None, 1001).is_err());
    let misspelt = AuditFilter { verdict: Some("wrnog".into()), ..AuditFilter::default() };
    let error = engine.audit(&misspelt, None, 4).unwrap_err();
    assert!(error.to_string().contains("verdict must be one of right, wrong"), "{error}");
}

#[test]
fn decisions_are_found_by_the_clock_also_after_it_was_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let unlock_at = |time| {
        clock.set(time);
        let _ = service.unlock_user(user).unwrap();
    };
    let year = 365 * 86_400;
    [NOW + 10, NOW + year].into_iter().for_each(unlock_at);
    // The time by which decisions are ordered goes on from here.
    clock.set(NOW + 19);
    let _ = service.user_status(user).unwrap();
    [NOW + 20, NOW + 30].into_iter().for_each(unlock_at);
    let times = |since, until| {
        let filter = AuditFilter { since, until, ..of(user) };
        read(&service, &filter).iter().map(|entry| entry.time / 1000).collect::<Vec<_>>()
    };
    let [now, year] = [NOW, year].map(|time| i64::try_from(time).unwrap());
    assert_eq!(times(None, None), [now + 30, now + 20, now + year, now + 10, now]);
    assert_eq!(times(Some(NOW + 10), Some(NOW + 30)), [now + 20, now + 10]);
    assert_eq!(times(None, Some(NOW + 20)), [now + 10, now]);
    drop(service);
    // What the opening changes comes after all of it too.
    let url = fresh::url(&folder.path().join("seconder.db"));
    let service = Settings::new(&url).clock(clock.clone()).limits("sends=6").open().unwrap();
    // In the same millisecond as the last of it, because the clock has not moved since.
    let latest = read(&service, &AuditFilter::default());
    assert!(latest[..2].iter().any(|entry| entry.verdict == "configured"), "{latest:?}");
}

#[test]
fn decisions_are_found_by_the_clock_in_a_process_that_began_after_it_was_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&path, &clock);
    let user = ada(&service);
    let ahead = 7200;
    for time in [NOW + ahead, NOW + 10, NOW + 20] {
        clock.set(time);
        let _ = service.unlock_user(user).unwrap();
    }
    drop(service);
    let times = |service: &Service| {
        let filter = AuditFilter { until: Some(NOW + 30), ..of(user) };
        read(service, &filter).iter().map(|entry| entry.time / 1000).collect::<Vec<_>>()
    };
    let expected = [NOW + 20, NOW + 10, NOW].map(|time| i64::try_from(time).unwrap());
    // While nothing ran, the clock has caught up with half of the time by which decisions are ordered,
    // or with all of it.
    for later in [ahead / 2, 2 * ahead] {
        clock.set(NOW + later);
        let (service, _) = open_at(&path, &clock);
        assert_eq!(times(&service), expected, "{later}");
    }
}

/// The 1000 decisions since would be a page of their own, if they were read.
#[test]
fn decisions_with_a_verdict_or_an_address_are_read_without_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let user = ada(&service);
    let address = "::ffff:192.0.2.7".parse().ok();
    for turn in 0..3 {
        clock.set(NOW + 60 * turn);
        service.handle(&RequestSms { user_ip: address, ..RequestSms::new(user) }).unwrap();
    }
    let verdict = Some("sent".to_owned());
    let seen = read(&service, &AuditFilter { user_ip: address, ..of(user) });
    assert!(seen.len() == 3 && seen.iter().all(|entry| entry.verdict == "sent"), "{seen:?}");
    assert_eq!(seen[0].user_ip.as_deref(), Some("192.0.2.7"));
    for from in [0, 500] {
        let email = |of: u64| json!({ "email": format!("{of}@example.com") });
        let users: Vec<_> = (from..from + 500).map(email).collect();
        let import = json!({ "users": users }).as_object().unwrap().clone();
        let _ = service.operate_json("user.import", import).unwrap();
    }
    assert_eq!(read(&service, &AuditFilter::default())[999].verdict, "created");
    let engine = service.engine().unwrap();
    let by_address = AuditFilter { user_ip: address, ..AuditFilter::default() };
    let by_verdict = AuditFilter { verdict, ..AuditFilter::default() };
    for filter in [by_address, by_verdict] {
        let first = engine.audit(&filter, None, 2).unwrap();
        assert_eq!(first.entries, seen[..2]);
        let rest = engine.audit(&filter, first.next.as_deref(), 2).unwrap();
        assert_eq!((&rest.entries[..], &rest.next), (&seen[2..], &None));
    }
}
