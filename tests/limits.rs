//! The limits of an application: how many messages and requests there are.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod pumping;
mod rate;

use crate::fresh::{ManualClock, ada, url};
use crate::sealed::{self, Of, ring_of};
use seconder::calls::{
    Channel, InstallMessage, PhoneVerificationStarted, RequestSms, StartPhoneVerification,
};
use seconder::engine::operator::{CheckService, Health};
use seconder::engine::{AuditFilter, Deliver, Events, Message};
use seconder::http::{Caller, RawRequest, respond};
use seconder::model::UserId;
use seconder::{Error, Handle, Service, Settings, Verdict, Verify};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The beginning of a day of UTC.
const NOW: u64 = 1_700_006_400;

struct World {
    service: Service,
    sent: Arc<Mutex<Vec<String>>>,
    warnings: Arc<Mutex<Vec<String>>>,
    clock: ManualClock,
}

/// Keeps the codes, and the warnings for the operator. Messages to numbers that end in 99 fail.
#[derive(Clone, Default)]
struct Phones {
    sent: Arc<Mutex<Vec<String>>>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Deliver for Phones {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        self.sent.lock().unwrap().push(message.code.clone());
        if message.to.ends_with("99") { Err("down".to_owned()) } else { Ok(()) }
    }
}

impl Events for Phones {
    fn warning(&self, text: &str) {
        self.warnings.lock().unwrap().push(text.to_owned());
    }
}

fn world(path: &Path, limits: &str, clock: &ManualClock) -> World {
    let phones = Phones::default();
    let settings = Settings::new(&url(path)).clock(clock.clone()).deliver(phones.clone());
    let service = settings.events(phones.clone()).limits(limits).open().unwrap();
    World { service, sent: phones.sent, warnings: phones.warnings, clock: clock.clone() }
}

/// Sends a code and uses it, so that only the limits of messages count.
fn log_in(world: &World, user: UserId) -> Result<(), Error> {
    let call = RequestSms { force: Some(true), ..RequestSms::new(user) };
    let _ = world.service.handle(&call)?;
    let code = world.sent.lock().unwrap().last().unwrap().clone();
    let checked = world.service.handle(&Verify::new(user, code.parse().unwrap())).unwrap();
    assert_eq!(checked.verdict, Verdict::Right);
    Ok(())
}

fn start(
    world: &World,
    number: u64,
    country: &str,
    ip: Option<&str>,
) -> Result<PhoneVerificationStarted, Error> {
    let number = format!("20255{number:05}").parse().unwrap();
    let call = StartPhoneVerification::new(Channel::Call, number, country.parse().unwrap());
    let user_ip = ip.map(|ip| ip.parse().unwrap());
    world.service.handle(&StartPhoneVerification { user_ip, ..call })
}

#[track_caller]
fn waits<T: Debug>(result: Result<T, Error>, limit: &str, seconds: u64) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::RateLimited { .. }), "{error}");
    assert_eq!((error.code(), error.limit()), (Some("60003"), Some(limit)));
    assert_eq!(error.retry_after_seconds(), Some(seconds));
    assert_eq!(
        error.is_operator_limit(),
        ["country_day", "application_day", "completion_min"].contains(&limit)
    );
}

fn refused(world: &World) -> Vec<String> {
    let filter = AuditFilter { verdict: Some("refused".into()), ..AuditFilter::default() };
    let page = world.service.engine().unwrap().audit(&filter, None, 100).unwrap();
    let mut limits: Vec<_> = page.entries.into_iter().map(|of| of.over_limit.unwrap()).collect();
    limits.sort_unstable();
    limits
}

#[test]
fn a_number_gets_five_messages_in_ten_minutes_and_twenty_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "", &clock);
    let user = ada(&world.service);
    (0..5).for_each(|_| log_in(&world, user).unwrap());
    waits(log_in(&world, user), "number_10_minutes", 600);
    assert_eq!(world.sent.lock().unwrap().len(), 5, "nothing is sent");
    clock.set(NOW + 599);
    waits(log_in(&world, user), "number_10_minutes", 1);
    // Set back, the wait neither ends nor grows.
    clock.set(NOW - 86_400);
    waits(log_in(&world, user), "number_10_minutes", 1);
    let after = NOW - 86_399;
    for round in 0..3 {
        clock.set(after + round * 600);
        (0..5).for_each(|_| log_in(&world, user).unwrap());
    }
    clock.set(after + 1800);
    waits(log_in(&world, user), "number_day", 86_400 - 600 - 1800);
    assert_eq!(world.sent.lock().unwrap().len(), 20);
    let refusals = refused(&world);
    assert_eq!(refusals[..3], ["number_10_minutes"; 3]);
    assert_eq!(refusals[3..], ["number_day"]);
}

#[test]
fn a_gateway_that_fails_gets_at_most_twice_as_many_messages() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "", &clock);
    let user = world.service.create_user("eve@example.com", "202-550-0099", "1").unwrap().user_id;
    let request = || world.service.request_sms(user).map(drop);
    for _ in 0..10 {
        let failed = request().unwrap_err();
        assert!(matches!(failed, Error::Unavailable { .. }), "{failed}");
    }
    waits(request(), "number_10_minutes", 600);
    assert_eq!(world.sent.lock().unwrap().len(), 10);
}

#[test]
fn sign_ups_with_the_number_of_a_user_leave_half_of_its_messages_to_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "cool_down=0", &clock);
    let user = world.service.create_user("ada@example.com", "202-550-0001", "1").unwrap().user_id;
    // As many as are accepted, all day long.
    let mut messages = 0;
    for round in 0..24 {
        clock.set(NOW + round * 600);
        messages += (0..10).filter(|_| start(&world, 1, "1", None).is_ok()).count();
    }
    assert_eq!(messages, 10, "half of number_day");
    for round in 0..2 {
        clock.set(NOW + (24 + round) * 600);
        (0..5).for_each(|_| log_in(&world, user).unwrap());
    }
    waits(log_in(&world, user), "number_10_minutes", 600);
    // Another number, which no user has, is treated alike: strangers learn nothing from it.
    let start_again = || start(&world, 2, "1", None);
    assert_eq!(start_again().unwrap().resend_after, Some(0));
    assert_eq!(start_again().unwrap().resend_after, Some(600), "no message before that");
    waits(start_again(), "number_10_minutes", 600);
}

#[test]
fn the_install_message_has_limits_too_and_rows_in_the_audit() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let path = folder.path().join("a.db");
    drop(Settings::new(&url(&path)).install_link("https://app.example/get").open().unwrap());
    let world = world(&path, "application_day=1", &clock);
    let create = |number: &str| {
        world.service.create_user("ada@example.com", number, "1").unwrap().install_message.unwrap()
    };
    let verdicts = || {
        let page = world.service.engine().unwrap().audit(&AuditFilter::default(), None, 100);
        let shown = |entry: &seconder::engine::AuditEntry| {
            let over = entry.over_limit.clone().unwrap_or_default();
            format!("{} {over}", entry.verdict)
        };
        let mut all: Vec<_> = page.unwrap().entries.iter().map(shown).collect();
        all.retain(|row| row != "created " && row != "configured ");
        all.sort_unstable();
        all
    };
    assert_eq!(create("202-555-0199"), InstallMessage::Failed, "it is taken back");
    assert_eq!(verdicts(), ["not_delivered ", "sent "]);
    assert_eq!(create("202-555-0101"), InstallMessage::Sent);
    assert_eq!(create("202-555-0102"), InstallMessage::Failed);
    assert_eq!(verdicts(), ["not_delivered ", "refused application_day", "sent ", "sent "]);
    assert_eq!(world.sent.lock().unwrap().len(), 2);
}

#[test]
fn an_address_a_country_and_an_application_have_limits() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let limits = "address_hour=2 country_day=8 application_day=10,countries=1+44";
    let world = world(&folder.path().join("a.db"), limits, &clock);
    // Of a day, verifications use half.
    start(&world, 1, "1", Some("192.0.2.1")).unwrap();
    start(&world, 2, "1", Some("192.0.2.1")).unwrap();
    waits(start(&world, 3, "1", Some("192.0.2.1")), "address_hour", 3600);
    start(&world, 3, "1", Some("192.0.2.2")).unwrap();
    // A message that reaches nobody does not count.
    assert!(matches!(start(&world, 99, "1", None), Err(Error::Unavailable { .. })));
    start(&world, 4, "1", None).unwrap();
    waits(start(&world, 5, "1", None), "country_day", 86_400);
    let error = start(&world, 6, "49", None).unwrap_err();
    assert_eq!(error.code(), Some("country_not_allowed"));
    clock.set(NOW + 86_399);
    waits(start(&world, 5, "1", None), "country_day", 1);
    clock.set(NOW + 86_400);
    start(&world, 5, "1", None).unwrap();
    assert_eq!(refused(&world), ["address_hour", "countries", "country_day", "country_day"]);
}

#[test]
fn an_address_gets_so_many_wrong_codes_an_hour_for_all_users_together() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "address_wrong_hour=10", &clock);
    let users: Vec<UserId> = (0..12)
        .map(|user| {
            let number = format!("202-550-{:04}", 1000 + user);
            world.service.create_user("ada@example.com", &number, "1").unwrap().user_id
        })
        .collect();
    let verify = |user: UserId, code: &str, ip: Option<&str>| {
        let user_ip = ip.map(|ip| ip.parse().unwrap());
        world.service.handle(&Verify { user_ip, ..Verify::new(user, code.parse().unwrap()) })
    };
    let right = |user: UserId| {
        let _ = world.service.request_sms(user).unwrap();
        world.sent.lock().unwrap().last().unwrap().clone()
    };
    let addresses = [
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
    ];
    for (start, (first, same, other)) in [NOW, NOW + 3600].into_iter().zip(addresses) {
        clock.set(start);
        let one_more = |wait: u64| {
            let code = right(users[10]);
            waits(verify(users[10], &code, Some(same)), "address_wrong_hour", wait);
            waits(verify(users[10], "123456789012", Some(first)), "address_wrong_hour", wait);
            // The code was not looked at, and other addresses are not concerned.
            assert_eq!(verify(users[10], &code, Some(other)).unwrap().verdict, Verdict::Right);
        };
        for (count, user) in users[..10].iter().enumerate() {
            // A code by SMS, a recovery code, and one that nothing of the user's is as long as.
            let code = right(*user);
            let wrong = if code == "0000000" { "0000001" } else { "0000000" };
            let guess = [wrong, "123456789012", "123456"][count % 3];
            assert_eq!(verify(*user, guess, Some(first)).unwrap().verdict, Verdict::Wrong);
        }
        one_more(3600);
        let code = right(users[11]);
        assert_eq!(verify(users[11], &code, None).unwrap().verdict, Verdict::Right);
        clock.set(start + 3599);
        one_more(1);
        clock.set(start + 3600);
        let code = right(users[11]);
        assert_eq!(verify(users[11], &code, Some(first)).unwrap().verdict, Verdict::Right);
    }
    let filter = AuditFilter { verdict: Some("wait".into()), ..AuditFilter::default() };
    let rows = world.service.engine().unwrap().audit(&filter, None, 100).unwrap().entries;
    let limits = rows.iter().map(|row| row.over_limit.as_deref()).collect::<BTreeSet<_>>();
    assert_eq!(limits, BTreeSet::from([Some("address_wrong_hour")]));
}

#[test]
fn an_application_says_how_long_a_code_lives_and_how_many_wrong_tries_it_survives() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let world = world(&folder.path().join("a.db"), "code_life=3600 tries=2", &clock);
    let user = ada(&world.service);
    let request = |action: &str| {
        let action = Some(action.parse().unwrap());
        let call = RequestSms { force: Some(true), action, ..RequestSms::new(user) };
        let _ = world.service.handle(&call).unwrap();
        world.sent.lock().unwrap().last().unwrap().clone()
    };
    let verify = |code: &str, action: &str| {
        let call = Verify::new(user, code.parse().unwrap());
        let action = Some(action.parse().unwrap());
        world.service.handle(&Verify { action, ..call }).unwrap().verdict
    };
    let (used, late, void) = (request("one"), request("two"), request("three"));
    clock.set(NOW + 3599);
    assert_eq!(verify(&used, "one"), Verdict::Right);
    clock.set(NOW + 3600);
    assert_eq!(verify(&late, "two"), Verdict::Wrong);
    assert_eq!(verify(&void, "three"), Verdict::Wrong);
    let code = request("three");
    let other = if code == "7654321" { "1234567" } else { "7654321" };
    assert_eq!(verify(other, "three"), Verdict::Wrong);
    clock.set(NOW + 3700);
    assert_eq!(verify(other, "three"), Verdict::Wrong);
    clock.set(NOW + 3800);
    assert_eq!(verify(&code, "three"), Verdict::Wrong, "the third try is not looked at");
    // Another one is made, because nobody can use that one any more.
    clock.set(NOW + 3900);
    assert_ne!(request("three"), code);
}

#[test]
fn a_code_that_was_sent_outlives_a_shorter_code_life() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let path = folder.path().join("a.db");
    let request = |world: &World, action: &str| {
        let action = Some(action.parse().unwrap());
        let call = RequestSms { force: Some(true), action, ..RequestSms::new(ada(&world.service)) };
        let _ = world.service.handle(&call).unwrap();
        world.sent.lock().unwrap().last().unwrap().clone()
    };
    let code = request(&world(&path, "code_life=3600", &clock), "one");
    clock.set(NOW + 100);
    let world = world(&path, "code_life=60", &clock);
    request(&world, "two");
    let call = Verify::new(ada(&world.service), code.parse().unwrap());
    let call = Verify { action: Some("one".parse().unwrap()), ..call };
    assert_eq!(world.service.handle(&call).unwrap().verdict, Verdict::Right);
}

#[test]
fn limits_are_stored_and_those_that_are_not_given_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let clock = ManualClock::at(NOW);
    let limits = |given: &str| {
        let service = world(&path, given, &clock).service;
        service.engine().unwrap().application_settings().limits
    };
    assert_eq!(limits("number_day=7 countries=44+1").number_day, 7);
    let stored = limits("cool_down=1");
    assert_eq!((stored.number_day, stored.cool_down, stored.sends), (7, 1, 5));
    assert_eq!(stored.countries, [1, 44]);
    let stored = limits("number_day=20 countries=all");
    assert_eq!((stored.number_day, stored.cool_down), (20, 1));
    assert!(limits("").to_string().starts_with("code_life=600 tries=5 cool_down=1 "));
    for wrong in ["number_day=101", "no_such=1", "sends", "countries=x"] {
        let error = Settings::new(&url(&path)).limits(wrong).open().unwrap_err();
        assert!(error.to_string().contains("limits"), "{error}");
    }
}

#[test]
fn limits_are_exact_however_many_threads_and_handles_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let clock = ManualClock::at(NOW);
    let worlds = [world(&path, "application_day=100", &clock), world(&path, "", &clock)];
    let sent = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (world, sent) = (&worlds[thread % 2], &sent);
            scope.spawn(move || {
                for number in 0..10 {
                    let number = (thread * 10 + number) as u64 + 100;
                    sent.fetch_add(
                        start(world, number, "1", None).is_ok().into(),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    assert_eq!(sent.into_inner(), 50, "half of them, because they verify numbers");
    let messages: usize = worlds.iter().map(|world| world.sent.lock().unwrap().len()).sum();
    assert_eq!(messages, 50);
}

/// What 1000 threads get for these codes.
fn present(
    worlds: &[World; 2],
    user: UserId,
    code: impl Fn(usize) -> String + Sync,
) -> BTreeMap<String, usize> {
    let tally: Mutex<BTreeMap<String, usize>> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..1000 {
            let (world, tally, code) = (&worlds[thread % 2], &tally, &code);
            scope.spawn(move || {
                let call = Verify::new(user, code(thread).parse().unwrap());
                let outcome = match world.service.handle(&call) {
                    Ok(checked) if checked.reused => "reused".to_owned(),
                    Ok(checked) => format!("{:?}", checked.verdict),
                    Err(error) => error.code().unwrap_or("none").to_owned(),
                };
                *tally.lock().unwrap().entry(outcome).or_default() += 1;
            });
        }
    });
    tally.into_inner().unwrap()
}

#[test]
fn of_1000_right_codes_at_once_one_is_right_and_of_wrong_ones_at_most_five_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let clock = ManualClock::at(NOW);
    let worlds = [world(&path, "", &clock), world(&path, "", &clock)];
    let user = ada(&worlds[0].service);
    let request = || {
        let _ = worlds[0].service.request_sms(user).unwrap();
        worlds[0].sent.lock().unwrap().last().unwrap().clone()
    };
    let right = request();
    let found = present(&worlds, user, |_| right.clone());
    assert_eq!(found, BTreeMap::from([("Right".to_owned(), 1), ("reused".to_owned(), 999)]));
    let right = request();
    let wrong = |thread: usize| {
        let guess = format!("{:07}", thread + 1);
        if guess == right { "0000000".to_owned() } else { guess }
    };
    let found = present(&worlds, user, wrong);
    assert!(found["Wrong"] <= 5 && found["Wrong"] + found["60003"] == 1000, "{found:?}");
}
