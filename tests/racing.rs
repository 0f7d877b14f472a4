//! What the engine guarantees when many threads call it at once: a code is accepted once, and guesses
//! are limited like sequential ones.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, open, open_at, url};
use seconder::calls::Channel;
use seconder::engine::DeviceType;
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Settings, Verdict, Verify, calls};
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::SystemTime;

/// The results of 64 threads that do the same with their own numbers at once, half of them through
/// a second handle of the same file, as a second process would.
fn at_once<T: Send>(
    services: (&Service, &Service),
    work: impl Fn(&Service, u64) -> T + Sync,
) -> Vec<T> {
    let start = Barrier::new(64);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=64)
            .map(|number| {
                let service = if number % 2 == 0 { services.0 } else { services.1 };
                let (start, work) = (&start, &work);
                scope.spawn(move || {
                    start.wait();
                    work(service, number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// 64 threads present the same right code at once. Exactly one succeeds.
fn race(services: (&Service, &Service), call: &Verify) {
    let results = at_once(services, |service, _| service.handle(call).unwrap());
    let right = results.iter().filter(|result| result.verdict == Verdict::Right).count();
    let reused = results.iter().filter(|r| r.verdict == Verdict::Wrong && r.reused).count();
    assert_eq!((right, reused), (1, 63));
}

#[test]
fn a_code_is_accepted_once_when_64_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.db");
    let (service, sent) = open(&path);
    let (second, _) = open(&path);
    let both = (&service, &second);
    let user = ada(&service);
    for _ in 0..5 {
        service.request_sms(user).unwrap();
        let code = sent.lock().unwrap().pop().unwrap().code;
        race(both, &Verify::new(user, code.parse().unwrap()));
    }
    let enrolled = service.enrol_authenticator(user).unwrap();
    let totp = Totp::from_uri(enrolled.uri.expose()).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the engine under test uses the system's clock")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    race(both, &Verify::new(user, totp.code(now).expose().parse().unwrap()));
}

#[test]
fn at_most_five_approvals_are_open_when_64_threads_ask() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("approvals.db");
    let (service, _) = open(&path);
    let (second, _) = open(&path);
    let user = ada(&service);
    let engine = service.engine().unwrap();
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let created = at_once((&service, &second), |service, _| {
        service.create_approval(user, "Log in?").unwrap().uuid
    });
    let open = engine.open_approvals(device.device_id, &device.secret).unwrap();
    assert_eq!(open.len(), 5);
    let pending = created.iter().filter(|uuid| {
        service.check_approval(uuid).unwrap().status == calls::ApprovalStatus::Pending
    });
    assert_eq!(pending.count(), 5);
}

/// Two people type one number at the same time.
#[test]
fn a_number_enrols_one_new_user_when_64_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.db");
    let (service, _) = open(&path);
    let (second, _) = open(&path);
    for (phone, new_only) in [("555-010-0123", false), ("555-010-0124", true)] {
        let created = tally(at_once((&service, &second), |service, number| {
            let email = format!("user{number}@example.com").parse().unwrap();
            let call = calls::CreateUser::new(email, phone.parse().unwrap(), "1".parse().unwrap());
            match service.handle(&calls::CreateUser { new_only, ..call }) {
                Ok(user) => format!("{:?}", user.created.unwrap()),
                Err(Error::Rejected(no)) => format!("{} {}", no.status, no.code.unwrap()),
                Err(other) => panic!("{other}"),
            }
        }));
        let others = if new_only { "409 60027" } else { "false" };
        assert_eq!(created, results(&[("true", 1), (others, 63)]));
    }
}

/// Counts equal results.
fn tally(results: Vec<String>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    results.into_iter().for_each(|result| *counted.entry(result).or_default() += 1);
    counted
}

/// The results of 64 different wrong guesses at once of a code, for an action or for none.
fn guess(
    services: (&Service, &Service),
    user: UserId,
    code: &str,
    action: Option<&str>,
) -> BTreeMap<String, usize> {
    let (right, all): (u64, u64) = (code.parse().unwrap(), 10_u64.pow(code.len() as u32));
    tally(at_once(services, |service, number| {
        let token: Token =
            format!("{:0width$}", (right + number) % all, width = code.len()).parse().unwrap();
        let action = action.map(|action| action.parse().unwrap());
        match service.handle(&Verify { action, ..Verify::new(user, token) }) {
            Ok(result) => format!("{:?}", result.verdict),
            Err(Error::RateLimited { .. }) => "RateLimited".into(),
            Err(other) => panic!("{other}"),
        }
    }))
}

fn results(of: &[(&str, usize)]) -> BTreeMap<String, usize> {
    of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// Three wrong codes are free, and the fourth makes the user wait, so four of the guesses are
/// answered at first and one after each wait. The fifth is the last that concerns the code.
#[test]
fn parallel_guesses_of_a_code_are_limited_like_sequential_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("guess.db"), ManualClock::at(1_000_000));
    let (service, sent) = open_at(&path, &clock);
    let (second, _) = open_at(&path, &clock);
    let both = (&service, &second);
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let code = sent.lock().unwrap()[0].code.clone();
    assert_eq!(guess(both, user, &code, None), results(&[("Wrong", 4), ("RateLimited", 60)]));
    clock.set(1_000_001);
    assert_eq!(guess(both, user, &code, None), results(&[("RateLimited", 64)]));
    clock.set(1_000_002);
    assert_eq!(guess(both, user, &code, None), results(&[("Wrong", 1), ("RateLimited", 63)]));
    clock.set(1_000_006);
    let late = service.handle(&Verify::new(user, code.parse().unwrap())).unwrap();
    assert_eq!(late.verdict, Verdict::Wrong, "five guesses were looked at");
}

#[test]
fn parallel_guesses_of_an_app_are_limited_by_the_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut now) = (folder.path().join("app.db"), 1_000_000);
    let clock = ManualClock::at(now);
    let (service, _) = open_at(&path, &clock);
    let (second, _) = open_at(&path, &clock);
    let both = (&service, &second);
    let user = ada(&service);
    let enrolled = service.enrol_authenticator(user).unwrap();
    let totp = Totp::from_uri(enrolled.uri.expose()).unwrap();
    // A range in which no guess is a code of this time step, of those around it, or of a later one.
    let steps =
        (0..40).map(|step| totp.code(now - 30 + 30 * step).expose().parse::<u64>().unwrap());
    let codes: Vec<u64> = steps.collect();
    let free = (0..15_000_u64)
        .map(|start| start * 65)
        .find(|start| codes.iter().all(|code| !(*start..=start + 64).contains(code)));
    let start = format!("{:06}", free.unwrap());
    assert_eq!(guess(both, user, &start, None), results(&[("Wrong", 4), ("RateLimited", 60)]));
    for wait in [2, 4, 8, 16, 32, 60] {
        now += wait;
        clock.set(now - 1);
        assert_eq!(guess(both, user, &start, None), results(&[("RateLimited", 64)]), "{wait}");
        clock.set(now);
        let one = results(&[("Wrong", 1), ("RateLimited", 63)]);
        assert_eq!(guess(both, user, &start, None), one, "after {wait} s");
    }
    let token = totp.code(now).expose().parse().unwrap();
    match service.handle(&Verify::new(user, token)).unwrap_err() {
        Error::RateLimited { retry_after, .. } => assert_eq!(retry_after.unwrap().as_secs(), 900),
        other => panic!("{other}"),
    }
}

/// A right code ends the waits, but gives no tries back to the code for another action.
#[test]
fn tries_of_a_code_are_not_given_back_by_another_code() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("two.db"), ManualClock::at(1_000_000));
    let (service, sent) = open_at(&path, &clock);
    let (second, _) = open_at(&path, &clock);
    let both = (&service, &second);
    let user = ada(&service);
    let pay = Some("pay:1".parse().unwrap());
    let send = |action| {
        service.handle(&calls::RequestSms { action, ..calls::RequestSms::new(user) }).unwrap();
        sent.lock().unwrap().pop().unwrap().code
    };
    let paying = send(pay.clone());
    let wrong = results(&[("Wrong", 4), ("RateLimited", 60)]);
    assert_eq!(guess(both, user, &paying, Some("pay:1")), wrong);
    // The cool-down of the other action's code has passed, and so has the wait.
    clock.set(1_000_030);
    let login = send(None);
    let call = Verify::new(user, login.parse().unwrap());
    let unforced = service.handle(&Verify { force: false, ..call.clone() }).unwrap();
    assert_eq!(unforced.verdict, Verdict::NotChecked);
    let right = service.handle(&call).unwrap();
    assert_eq!(right.verdict, Verdict::Right);
    assert_eq!(guess(both, user, &paying, Some("pay:1")), wrong);
    clock.set(1_000_060);
    let call = Verify { action: pay, ..Verify::new(user, paying.parse().unwrap()) };
    assert_eq!(service.handle(&call).unwrap().verdict, Verdict::Wrong);
}

#[test]
fn parallel_checks_of_a_number_are_limited_like_sequential_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clock) = (folder.path().join("phone.db"), ManualClock::at(1_000_000));
    let (service, sent) = open_at(&path, &clock);
    let (second, _) = open_at(&path, &clock);
    service.start_phone_verification(Channel::Sms, "555-010-0123", "1").unwrap();
    let code = sent.lock().unwrap()[0].code.clone();
    let right: u64 = code.parse().unwrap();
    let guess = || {
        tally(at_once((&service, &second), |service, number| {
            let code = format!("{:07}", (right + number) % 10_000_000).parse().unwrap();
            match service.check_phone_verification("555-010-0123", "1", &code) {
                Err(Error::Rejected(rejection)) => rejection.code.unwrap(),
                Err(Error::TokenWrong { code, .. }) => code,
                Err(Error::RateLimited { .. }) => "RateLimited".into(),
                other => panic!("{other:?}"),
            }
        }))
    };
    assert_eq!(guess(), results(&[("60022", 4), ("RateLimited", 60)]));
    clock.set(1_000_002);
    // A guess that starts after the fifth finds no code.
    let last = guess();
    assert_eq!(last["60022"], 1, "{last:?}");
    clock.set(1_000_006);
    let late = service.check_phone_verification("555-010-0123", "1", &code.parse().unwrap());
    assert!(matches!(late, Err(Error::Rejected(r)) if r.code.as_deref() == Some("60023")));
}

/// Each attempt counts before the reply to it, so parallel ones at other users get no more.
#[test]
fn an_address_gets_no_more_wrong_codes_by_racing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = || Settings::new(&url(&folder.path().join("race.db")));
    let service = settings().limits("address_wrong_hour=10").open().unwrap();
    let second = settings().open().unwrap();
    let users: Vec<UserId> = (0..65)
        .map(|user| {
            let number = format!("202-550-{:04}", 1000 + user);
            service.create_user("ada@example.com", &number, "1").unwrap().user_id
        })
        .collect();
    let results = at_once((&service, &second), |service, number| {
        let user_ip = Some("192.0.2.1".parse().unwrap());
        let call = Verify::new(users[number as usize], "123456".parse().unwrap());
        match service.handle(&Verify { user_ip, ..call }) {
            Ok(checked) => format!("{:?}", checked.verdict),
            Err(error) => error.limit().unwrap_or("none").to_owned(),
        }
    });
    let wrong = results.iter().filter(|result| *result == "Wrong").count();
    let limited = results.iter().filter(|result| *result == "address_wrong_hour").count();
    assert_eq!((wrong, limited), (10, 54));
}

/// An address is the name of one user without a number.
#[test]
fn a_user_without_a_number_is_created_once_when_64_threads_race() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.db");
    let (service, _) = open(&path);
    let (second, _) = open(&path);
    let call = calls::CreateUser::without_phone("ada@example.com".parse().unwrap());
    let new_only = calls::CreateUser { new_only: true, ..call.clone() };
    let results = at_once((&service, &second), |service, number| {
        let call = if number % 3 == 0 { &new_only } else { &call };
        match service.handle(call) {
            Ok(user) => (user.user_id.get(), user.created),
            Err(Error::Rejected(why)) if why.status == 409 => (1, Some(false)),
            Err(other) => panic!("{other}"),
        }
    });
    assert!(results.iter().all(|(user, _)| *user == 1), "{results:?}");
    assert_eq!(results.iter().filter(|(_, new)| *new == Some(true)).count(), 1);
    assert_eq!(service.app_stats().unwrap().total_users, Some(1));
}
