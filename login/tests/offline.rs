//! Logins while the service is unreachable: which codes are accepted, and what is refused.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "offline/world.rs"]
mod world;

use proptest::prelude::*;
use seconder::Verdict;
use seconder_login::offline::{Limits, OfflineVerdict, Problem};
use std::time::Duration;
use world::{START, World, accepted, other};

const DAY: u64 = 24 * 60 * 60;

#[test]
fn a_code_is_accepted_once_and_no_earlier_one_after_it() {
    let world = World::new();
    let offline = world.prepared();
    let at = START + 600;
    let code = world.code(at);
    assert_eq!(offline.check(world.user, &other(&code), at), OfflineVerdict::Wrong);
    assert_eq!(offline.check(world.user, &code, at), OfflineVerdict::Accepted { logins_left: 4 });
    assert_eq!(offline.check(world.user, &code, at), OfflineVerdict::Wrong);
    assert_eq!(offline.check(world.user, &world.code(at - 30), at), OfflineVerdict::Wrong);
    // Another process sees the same.
    let again = world.open();
    assert_eq!(again.check(world.user, &code, at), OfflineVerdict::Wrong);
    assert!(accepted(&again.check(world.user, &world.code(at + 30), at)));
    assert_eq!(again.check(world.user, &world.code(at + 90), at), OfflineVerdict::Wrong);
}

#[test]
fn a_code_that_the_service_accepted_is_not_accepted_again() {
    let world = World::new();
    let offline = world.prepared();
    assert_eq!(offline.check(world.user, &world.code(START), START), OfflineVerdict::Wrong);
    // The next code is used online too, and no codes are prepared with it.
    let at = START + 30;
    assert_eq!(world.verify(&world.code(at), at), Verdict::Right);
    offline.used_online(world.user, &world.code(at), at).unwrap();
    assert_eq!(offline.check(world.user, &world.code(at), at), OfflineVerdict::Wrong);
    assert!(accepted(&offline.check(world.user, &world.code(at + 30), at + 30)));
}

#[test]
fn codes_of_an_app_that_was_replaced_are_forgotten() {
    let world = World::new();
    let offline = world.prepared();
    let at = START + 600;
    // A code by SMS has another length, and says nothing about the app.
    offline.used_online(world.user, &"7654321".parse().unwrap(), at).unwrap();
    assert!(accepted(&offline.check(world.user, &world.code(at), at)));
    let reports = offline.reports(world.user).unwrap().unwrap();
    let of_another_app = other(&world.code(at));
    offline.used_online(world.user, &of_another_app, at).unwrap();
    let check = || offline.check(world.user, &world.code(at + 30), at);
    assert_eq!(check(), OfflineVerdict::Refused(Problem::NotPrepared));
    assert_eq!(offline.refusal(world.user, at), Some(Problem::NotPrepared));
    assert!(offline.wants_codes(world.user, at));
    assert_eq!(offline.reports(world.user).unwrap().as_ref(), Some(&reports));
    offline.acknowledged(world.user, &reports).unwrap();
    assert_eq!(check(), OfflineVerdict::Refused(Problem::NotPrepared));
}

/// Two logins at once: the reply to the first is stored after the second, with a later code, was
/// accepted by the service.
#[test]
fn a_late_reply_does_not_make_a_code_acceptable_that_the_service_accepted() {
    let at = START + 30;
    // Without any cache before, with one in which the code is found, and with one of an app that was
    // replaced.
    for before in ["", "found", "replaced"] {
        let world = World::new();
        let offline = world.open();
        let late = world.reply(START);
        if !before.is_empty() {
            world.prepare_into(&offline, START);
        }
        if before == "replaced" {
            offline.used_online(world.user, &other(&world.code(START)), START).unwrap();
        }
        offline.used_online(world.user, &world.code(at), at).unwrap();
        offline.prepared(world.user, &late, at).unwrap();
        let check = |code: u64| offline.check(world.user, &world.code(code), at);
        assert_eq!(check(at), OfflineVerdict::Wrong, "{before}");
        assert!(accepted(&check(at + 30)), "{before}");
    }
}

#[test]
fn what_was_used_is_known_after_many_codes_by_sms() {
    let world = World::new();
    let offline = world.open();
    let late = world.reply(START);
    let at = START + 30;
    let sms = |n: u32| format!("{n:07}").parse().unwrap();
    (0..100).for_each(|n| offline.used_online(world.user, &sms(n), START).unwrap());
    offline.used_online(world.user, &world.code(at), at).unwrap();
    (0..20).for_each(|n| offline.used_online(world.user, &sms(n), at).unwrap());
    offline.prepared(world.user, &late, at).unwrap();
    assert_eq!(offline.check(world.user, &world.code(at), at), OfflineVerdict::Wrong);
}

#[test]
fn a_code_that_was_reported_is_not_accepted_by_the_service() {
    let world = World::new();
    let offline = world.prepared();
    let at = START + 600;
    assert!(accepted(&offline.check(world.user, &world.code(at), at)));
    let reports = offline.reports(world.user).unwrap().unwrap();
    assert_eq!(reports.logins.len(), 1);
    assert_eq!((reports.logins[0].step, reports.logins[0].time), (at / 30, at));
    world.report(&reports, at);
    assert_eq!(world.verify(&world.code(at), at), Verdict::Wrong);
    assert_eq!(world.verify(&world.code(at + 30), at), Verdict::Right);
    // Until it is acknowledged, it is reported again, also after new codes were prepared.
    offline.prepared(world.user, &world.prepare(&world.code(at + 30), at), at).unwrap();
    assert_eq!(offline.reports(world.user).unwrap().as_ref(), Some(&reports));
    assert!(accepted(&offline.check(world.user, &world.code(at + 60), at + 60)));
    offline.acknowledged(world.user, &reports).unwrap();
    let left = offline.reports(world.user).unwrap().unwrap();
    assert_eq!(left.logins.len(), 1, "what came after the report is still to be reported");
    offline.acknowledged(world.user, &left).unwrap();
    assert_eq!(offline.reports(world.user).unwrap(), None);
    assert_eq!(offline.check(world.user, &world.code(at + 60), at + 60), OfflineVerdict::Wrong);
}

#[test]
fn logins_are_limited_in_number_and_days_until_the_service_checks_one() {
    let world = World::new();
    let offline = world.with(Limits { days: 2, logins: 2 });
    assert!(offline.wants_codes(world.user, START));
    world.prepare_into(&offline, START);
    assert!(!offline.wants_codes(world.user, START + 3599));
    assert!(offline.wants_codes(world.user, START + 3600));
    assert!(offline.wants_codes(world.user, START - 1));
    for minute in [10, 20] {
        let at = START + minute * 60;
        assert!(accepted(&offline.check(world.user, &world.code(at), at)));
    }
    let at = START + 30 * 60;
    let check = |at: u64| offline.check(world.user, &world.code(at), at);
    assert_eq!(check(at), OfflineVerdict::Refused(Problem::TooMany));
    assert_eq!(offline.refusal(world.user, at), Some(Problem::TooMany));
    offline.used_online(world.user, &"7654321".parse().unwrap(), at).unwrap();
    assert!(accepted(&check(at)));
    let last = START + 2 * DAY - 1;
    assert!(accepted(&check(last)));
    offline.used_online(world.user, &"7654321".parse().unwrap(), last).unwrap();
    assert_eq!(check(last + 1), OfflineVerdict::Refused(Problem::TooOld));
    // What the service says counts too: it has prepared three days.
    let longer = world.with(Limits { days: 7, logins: 2 });
    assert!(accepted(&longer.check(world.user, &world.code(last + 1), last + 1)));
    let end = START + 3 * DAY;
    let verdict = longer.check(world.user, &world.code(end), end);
    assert_eq!(verdict, OfflineVerdict::Refused(Problem::TooOld));
}

#[test]
fn wrong_codes_in_a_row_make_the_user_wait() {
    let world = World::new();
    let offline = world.prepared();
    let mut at = START + 600;
    for wait in [0, 0, 0, 2, 4, 8, 16, 32, 60, 900, 900] {
        let wrong = other(&world.code(at));
        assert_eq!(offline.check(world.user, &wrong, at), OfflineVerdict::Wrong, "{wait}");
        if wait > 0 {
            let right = world.code(at + 1);
            let locked = OfflineVerdict::Locked(Duration::from_secs(wait - 1));
            assert_eq!(world.open().check(world.user, &right, at + 1), locked);
        }
        at += wait;
    }
    assert!(accepted(&offline.check(world.user, &world.code(at), at)));
    let wrong = other(&world.code(at));
    assert_eq!(offline.check(world.user, &wrong, at), OfflineVerdict::Wrong);
    assert!(accepted(&offline.check(world.user, &world.code(at + 30), at)));
}

#[test]
fn nothing_is_accepted_at_a_time_before_the_last_login_or_wrong_code() {
    let world = World::new();
    let offline = world.prepared();
    let back = OfflineVerdict::Refused(Problem::ClockBack);
    assert_eq!(offline.check(world.user, &world.code(START - 1), START - 1), back);
    let at = START + 600;
    assert!(accepted(&offline.check(world.user, &world.code(at), at)));
    assert_eq!(offline.check(world.user, &world.code(at + 30), at - 1), back);
    let wrong = other(&world.code(at + 90));
    assert_eq!(offline.check(world.user, &wrong, at + 90), OfflineVerdict::Wrong);
    assert_eq!(offline.check(world.user, &world.code(at + 60), at + 60), back);
    // The service has the right time, so a login that it checks sets the clock.
    offline.used_online(world.user, &"7654321".parse().unwrap(), at + 30).unwrap();
    assert!(accepted(&offline.check(world.user, &world.code(at + 30), at + 30)));
}

#[test]
fn who_was_not_prepared_is_refused() {
    let world = World::new();
    let offline = world.open();
    let refused = OfflineVerdict::Refused(Problem::NotPrepared);
    assert_eq!(offline.check(world.user, &world.code(START), START), refused);
    assert_eq!(offline.reports(world.user), Ok(None));
    offline.used_online(world.user, &world.code(START), START).unwrap();
    world.prepare_into(&offline, START);
    offline.forget(world.user).unwrap();
    assert_eq!(offline.check(world.user, &world.code(START + 60), START + 60), refused);
}

#[test]
fn a_reply_that_cannot_be_used_changes_nothing() {
    let world = World::new();
    let offline = world.prepared();
    let good = world.reply(START);
    let changes: [fn(&mut seconder::calls::OfflinePrepared); 9] = [
        |reply| reply.digits = 5,
        |reply| reply.period = 0,
        |reply| reply.period = 3601,
        |reply| reply.first_step = 1,
        |reply| reply.first_step = u64::MAX,
        |reply| reply.expires_at = START,
        |reply| reply.hashes = seconder::model::Secret::new("AAAA"),
        |reply| reply.hashes = seconder::model::Secret::new(""),
        |reply| reply.hash_key = seconder::model::Secret::new("AAAA"),
    ];
    for change in changes {
        let mut bad = good.clone();
        change(&mut bad);
        assert_eq!(offline.prepared(world.user, &bad, START), Err(Problem::Reply));
    }
    assert!(accepted(&offline.check(world.user, &world.code(START + 60), START + 60)));
}

#[test]
fn a_login_name_is_remembered() {
    let world = World::new();
    let offline = world.open();
    assert_eq!(offline.remembered("ada"), None);
    offline.remember("ada", world.user).unwrap();
    assert_eq!(world.open().remembered("ada"), Some(world.user));
    assert_eq!(offline.remembered("bob"), None);
    let other = 4711.try_into().unwrap();
    offline.remember("ada", other).unwrap();
    assert_eq!(offline.remembered("ada"), Some(other));
    offline.forget_login("ada").unwrap();
    assert_eq!(offline.remembered("ada"), None);
}

/// What happens next: the time passes or goes back, and a code arrives.
#[derive(Clone, Debug)]
enum Event {
    Pass(i64),
    /// The code of the step that is this far from the current one.
    Check(i64),
    CheckWrong,
    /// The service accepts the code of the step that is this far.
    Online(i64),
    Prepare,
    Reopen,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (-40..200_i64).prop_map(Event::Pass),
        6 => (-3..=3_i64).prop_map(Event::Check),
        1 => Just(Event::CheckWrong),
        1 => (-1..=1_i64).prop_map(Event::Online),
        1 => Just(Event::Prepare),
        1 => Just(Event::Reopen),
    ];
    proptest::collection::vec(event, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_step_is_accepted_twice_or_out_of_order(events in events()) {
        let world = World::small();
        let mut offline = world.prepared();
        let (mut now, mut last, mut logins) = (START, START / 30, 0);
        let code = |now: u64, far: i64| world.code(now.saturating_add_signed(far * 30));
        for event in events {
            match event {
                Event::Pass(seconds) => now = now.saturating_add_signed(seconds).max(START),
                Event::Check(far) => {
                    let step = (now / 30).saturating_add_signed(far);
                    if accepted(&offline.check(world.user, &code(now, far), now)) {
                        prop_assert!(step > last, "{step} after {last}");
                        prop_assert!((-1..=1).contains(&far));
                        logins += 1;
                        prop_assert!(logins <= 5);
                        last = step;
                    }
                }
                Event::CheckWrong => {
                    let wrong = other(&code(now, 0));
                    let near = [-1, 1].map(|far| code(now, far));
                    if !near.contains(&wrong) {
                        prop_assert!(!accepted(&offline.check(world.user, &wrong, now)));
                    }
                }
                Event::Online(far) => {
                    offline.used_online(world.user, &code(now, far), now).unwrap();
                    last = last.max((now / 30).saturating_add_signed(far));
                    logins = 0;
                }
                Event::Prepare => {
                    let mut reply = world.reply(START);
                    reply.last_step = START / 30;
                    offline.prepared(world.user, &reply, now).unwrap();
                    logins = 0;
                }
                Event::Reopen => offline = world.open(),
            }
        }
    }
}
