//! Which route is asked next, and when.

use super::{NOW, ambiguous, permanent, retry, run_jobs, world};
use crate::fresh::{ManualClock, ada, url};
use crate::operated::{attempt, lane};
use seconder::calls::{Channel, RequestSms};
use seconder::engine::{AuditEntry, AuditFilter, Deliver, JobEntry, JobFilter, Message, Outcome};
use seconder::{Error, Handle, Service, Settings};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Routes that the test adds and removes, each with outcomes of its own.
#[derive(Clone, Default)]
struct Routes(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    names: Vec<&'static str>,
    outcomes: BTreeMap<&'static str, VecDeque<Outcome>>,
    asked: Vec<String>,
}

impl Deliver for Routes {
    fn deliver(&self, _: &Message) -> Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, _: &Message, route: &str) -> Outcome {
        let mut state = self.0.lock().unwrap();
        state.asked.push(route.to_owned());
        let outcome = state.outcomes.get_mut(route).and_then(VecDeque::pop_front);
        outcome.unwrap_or(Outcome::Sent(Some("provider-1".to_owned())))
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        self.all_routes()
    }

    fn all_routes(&self) -> Vec<String> {
        self.0.lock().unwrap().names.iter().map(|name| (*name).to_owned()).collect()
    }
}

struct World {
    _folder: tempfile::TempDir,
    service: Service,
    routes: Routes,
    clock: ManualClock,
}

/// A message that was requested, with these routes and their outcomes.
fn requested(routes: &[(&'static str, &[Outcome])]) -> World {
    let folder = tempfile::tempdir().unwrap();
    let (clock, of) = (ManualClock::at(NOW), Routes::default());
    {
        let mut state = of.0.lock().unwrap();
        state.names = routes.iter().map(|(name, _)| *name).collect();
        state.outcomes =
            routes.iter().map(|(name, outcomes)| (*name, outcomes.to_vec().into())).collect();
    }
    let settings = Settings::new(&url(&folder.path().join("jobs.db")));
    let service = settings.clock(clock.clone()).deliver(of.clone()).open().unwrap();
    let user = ada(&service);
    service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    World { _folder: folder, service, routes: of, clock }
}

impl World {
    fn job(&self) -> JobEntry {
        let engine = self.service.engine().unwrap();
        engine.jobs(&JobFilter::default(), None, 10).unwrap().entries.remove(0)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.routes.0.lock().unwrap().asked)
    }

    /// The routes that are asked once this time has come.
    fn asked_at(&self, seconds: u64) -> Vec<String> {
        self.clock.set(NOW + seconds);
        run_jobs(&self.service);
        self.asked()
    }
}

/// Nothing was attempted.
fn busy(seconds: u64) -> Outcome {
    let after = Some(Duration::from_secs(seconds));
    Outcome::NotAttempted { after, reason: "10 were sent in this second".to_owned() }
}

#[test]
fn a_route_that_takes_no_more_is_no_attempt_and_the_next_one_is_asked_at_once() {
    let world = requested(&[("first", &[busy(1)]), ("second", &[])]);
    assert_eq!(world.asked(), ["first", "second"]);
    let job = world.job();
    assert_eq!((job.attempts, &*job.route, job.state.name()), (1, "second", "sent"));
}

#[test]
fn a_message_whose_routes_take_no_more_waits_for_the_first_that_does() {
    let world = requested(&[("first", &[busy(30)]), ("second", &[busy(5)])]);
    assert_eq!(world.asked(), ["first", "second"]);
    let job = world.job();
    assert_eq!((job.attempts, job.ambiguous, &*job.route), (0, 0, "second"));
    assert_eq!(job.due, Some((NOW as i64 + 5) * 1000));
    assert_eq!(job.last_error.as_deref(), Some("10 were sent in this second"));
    assert_eq!(world.asked_at(5), ["second"]);
    assert_eq!(world.job().attempts, 1);
}

/// Otherwise a route that is throttled for a minute would make the message wait for the next one.
#[test]
fn waits_do_not_grow_while_nothing_is_attempted() {
    let world = requested(&[("only", &[busy(1), busy(1), busy(0), busy(0), busy(0), busy(0)])]);
    let due = || {
        let wait = world.job().due.unwrap() - (NOW as i64 * 1000);
        (wait as u64).div_ceil(1000)
    };
    for _ in 0..5 {
        let next = due();
        world.clock.set(NOW + next);
        run_jobs(&world.service);
        assert!(due() <= next + 2, "{} {next}", due());
    }
    assert_eq!((world.job().attempts, world.asked().len()), (0, 6));
}

#[test]
fn a_route_that_was_added_is_asked_at_once_after_one_that_rejects_the_message() {
    let world = requested(&[
        ("first", &[retry(), retry()]),
        ("second", &[permanent()]),
        ("third", &[retry()]),
    ]);
    assert_eq!(world.asked(), ["first", "second", "third"]);
    world.routes.0.lock().unwrap().names.push("fourth");
    assert_eq!(world.asked_at(10), ["first", "third"]);
    assert_eq!(world.job().attempts, 5);
}

#[test]
fn each_route_is_asked_once_before_the_message_waits() {
    let retries = [retry(), retry(), retry()];
    let world = requested(&[("first", &retries), ("second", &retries), ("third", &retries)]);
    let all = ["first", "second", "third"];
    assert_eq!(world.asked(), all);
    let wait = world.job().due.unwrap() - NOW as i64 * 1000;
    assert!((1500..2501).contains(&wait), "{wait}");
    assert_eq!(world.asked_at(10), all);
    world.routes.0.lock().unwrap().names.push("fourth");
    assert_eq!(world.asked_at(30), ["first", "second", "third", "fourth"]);
}

/// What one provider asks for is nothing to others, and still holds once they were asked.
#[test]
fn a_route_is_left_alone_for_as_long_as_it_asks() {
    let after = Some(Duration::from_secs(100));
    let later = Outcome::Retry { after, reason: "too many".to_owned() };
    let fails = vec![retry(); 5];
    let world = requested(&[("first", &[later]), ("second", &fails)]);
    assert_eq!(world.asked(), ["first", "second"]);
    for seconds in [10, 30, 60] {
        assert_eq!(world.asked_at(seconds), ["second"]);
    }
    assert_eq!(world.asked_at(160), ["second", "first"]);
    assert_eq!(world.job().state.name(), "sent");
}

/// Another process may be able to use it, or this one once it is set again.
#[test]
fn a_message_waits_for_a_route_that_cannot_be_used() {
    let world = requested(&[("only", &[retry(), busy(3)])]);
    world.asked();
    world.clock.set(NOW + 10);
    let leased = world.service.engine().unwrap().lease_jobs(&lane("only"), 8).unwrap().0;
    world.routes.0.lock().unwrap().names.clear();
    for job in leased {
        assert!(!attempt(job, &world.routes));
    }
    assert_eq!(world.job().state.name(), "waiting");
    world.routes.0.lock().unwrap().names.push("only");
    assert_eq!(world.asked_at(20).len(), 2);
    assert_eq!(world.job().state.name(), "sent");
}

#[test]
fn a_route_that_may_have_sent_a_message_and_then_rejects_it_is_given_up_for_another() {
    let first = [ambiguous(), retry(), retry(), retry(), retry()];
    let world = requested(&[("first", &first), ("second", &[])]);
    assert_eq!(world.asked(), ["first"]);
    let asked: Vec<_> = (1..60).flat_map(|seconds| world.asked_at(seconds)).collect();
    assert_eq!(asked, ["first", "first", "first", "second"]);
    let job = world.job();
    assert_eq!((job.attempts, job.ambiguous, &*job.route), (5, 1, "second"));
}

#[test]
fn a_route_that_may_have_sent_a_message_and_takes_no_more_for_long_is_given_up_for_another() {
    let world = requested(&[("first", &[ambiguous(), busy(30)]), ("second", &[])]);
    let asked: Vec<_> = (1..10).flat_map(|seconds| world.asked_at(seconds)).collect();
    assert_eq!(asked, ["first", "first", "second"]);
}

#[test]
fn the_only_route_is_asked_until_the_code_expires_whatever_it_may_have_sent() {
    let only: Vec<_> = [ambiguous()].into_iter().chain((0..9).map(|_| retry())).collect();
    let world = requested(&[("only", &only)]);
    let asked: Vec<_> = (1..590).flat_map(|seconds| world.asked_at(seconds)).collect();
    assert_eq!(asked.len(), 11);
}

#[test]
fn a_route_that_was_given_up_is_asked_again_once_the_other_rejects_the_message() {
    let world = requested(&[("first", &[ambiguous(), busy(30)]), ("second", &[permanent()])]);
    let asked: Vec<_> = (1..60).flat_map(|seconds| world.asked_at(seconds)).collect();
    assert_eq!(asked, ["first", "first", "second", "first"]);
    assert_eq!((&*world.job().route, world.job().ambiguous), ("first", 1));
}

/// It is the caller's error, and no outage. The last route decides.
#[test]
fn a_number_that_the_provider_refuses_is_rejected_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let refused = || Outcome::NumberRefused("no such number".to_owned());
    world.gateways.will([refused(), refused()]);
    let error = world.request().unwrap_err();
    let Error::Rejected(rejection) = &error else { panic!("{error}") };
    assert_eq!((rejection.status, error.code()), (400, Some("number_refused")));
    assert!(rejection.message.contains("refuses the phone number"), "{error}");
    let engine = world.service.engine().unwrap();
    let page = engine.audit(&AuditFilter::default(), None, 9).unwrap();
    let has = |row: &AuditEntry| row.reason.as_deref() == Some("number_refused");
    assert!(page.entries.iter().any(has));
    world.gateways.will([refused(), permanent()]);
    assert!(matches!(world.request(), Err(Error::Unavailable { .. })));
    world.gateways.will([refused()]);
    world.request().unwrap();
}
