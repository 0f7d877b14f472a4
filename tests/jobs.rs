//! Messages and callbacks that are sent again, by whoever runs the jobs that are due.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod callbacks;
mod rounds;
mod senders;

use crate::fresh::{ManualClock, ada, at_once, url};
use seconder::calls::{self, RequestSms};
use seconder::engine::{AuditFilter, Deliver, JobsRun, Message, Outcome};
use seconder::model::UserId;
use seconder::{Canceller, Error, Handle, Result, Service, Settings, Verdict};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NOW: u64 = 1_700_006_400;
const BUDGET: Duration = Duration::from_secs(5);

type During = Box<dyn FnMut(&str) + Send>;

/// Gateways whose outcomes the test decides, by two routes.
#[derive(Clone, Default)]
struct Gateways {
    outcomes: Arc<Mutex<VecDeque<Outcome>>>,
    attempts: Arc<Mutex<Vec<(String, Message)>>>,
    during: Arc<Mutex<Option<During>>>,
}

impl Deliver for Gateways {
    fn deliver(&self, _: &Message) -> std::result::Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, message: &Message, route: &str) -> Outcome {
        self.attempts.lock().unwrap().push((route.to_owned(), message.clone()));
        let during = self.during.lock().unwrap().take();
        if let Some(mut during) = during {
            during(&message.code);
        }
        let outcome = self.outcomes.lock().unwrap().pop_front();
        outcome.unwrap_or(Outcome::Sent(Some("provider-1".to_owned())))
    }

    fn routes(&self, to: &str, via: calls::Channel) -> Vec<String> {
        let is_taken = match via {
            calls::Channel::Call => !to.ends_with("98"),
            _ => true,
        };
        if is_taken && !to.ends_with("99") { self.all_routes() } else { Vec::new() }
    }

    fn all_routes(&self) -> Vec<String> {
        vec!["first".to_owned(), "second".to_owned()]
    }
}

impl Gateways {
    fn will(&self, outcomes: impl IntoIterator<Item = Outcome>) {
        self.outcomes.lock().unwrap().extend(outcomes);
    }

    fn routes_taken(&self) -> Vec<String> {
        self.attempts.lock().unwrap().drain(..).map(|(route, _)| route).collect()
    }

    fn during(&self, during: impl FnMut(&str) + Send + 'static) {
        *self.during.lock().unwrap() = Some(Box::new(during));
    }
}

fn retry() -> Outcome {
    Outcome::Retry { after: None, reason: "busy".to_owned() }
}

fn permanent() -> Outcome {
    Outcome::Permanent("unknown number".to_owned())
}

fn ambiguous() -> Outcome {
    Outcome::Ambiguous("the connection was lost".to_owned())
}

struct World {
    service: Service,
    gateways: Gateways,
    clock: ManualClock,
    user: UserId,
}

fn world(path: &Path) -> World {
    let clock = ManualClock::at(NOW);
    let gateways = Gateways::default();
    let service = open(path, &clock, &gateways);
    let user = ada(&service);
    World { service, gateways, clock, user }
}

fn open(path: &Path, clock: &ManualClock, gateways: &Gateways) -> Service {
    Settings::new(&url(path)).clock(clock.clone()).deliver(gateways.clone()).open().unwrap()
}

impl World {
    fn request(&self) -> Result<()> {
        let call = RequestSms { force: Some(true), ..RequestSms::new(self.user) };
        self.service.handle(&call).map(drop)
    }

    fn run(&self, seconds: u64) -> JobsRun {
        self.clock.set(NOW + seconds);
        run_jobs(&self.service)
    }

    fn verify(&self, code: &str) -> Verdict {
        self.service.verify(self.user, &code.parse().unwrap()).unwrap()
    }

    fn verdicts(&self) -> Vec<String> {
        let engine = self.service.engine().unwrap();
        let page = engine.audit(&AuditFilter::default(), None, 100).unwrap();
        page.entries.into_iter().map(|entry| entry.verdict).collect()
    }
}

fn run_jobs(service: &Service) -> JobsRun {
    service.engine().unwrap().run_jobs(BUDGET).unwrap()
}

fn counts(run: JobsRun) -> [u32; 3] {
    [run.sent, run.waiting, run.failed]
}

#[test]
fn a_message_that_could_not_be_sent_is_sent_later_with_the_same_code_and_id() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    world.gateways.will([retry(), retry()]);
    world.request().unwrap();
    assert_eq!(counts(world.run(0)), [0, 0, 0], "not before the wait is over");
    assert_eq!(counts(world.run(90)), [1, 0, 0]);
    assert_eq!(counts(world.run(300)), [0, 0, 0]);
    let attempts = world.gateways.attempts.lock().unwrap();
    let routes: Vec<_> = attempts.iter().map(|(route, _)| route.as_str()).collect();
    assert_eq!(routes, ["first", "second", "first"], "each route is asked before one is repeated");
    let (_, first) = &attempts[0];
    assert!(attempts.iter().all(|(_, m)| m.id == first.id && m.code == first.code));
    assert_eq!((first.id.len(), first.to.as_str()), (16, "+15550100123"));
    assert!(attempts[2].1.text.contains("8 minutes"), "{}", attempts[2].1.text);
    assert_eq!(world.verify(&first.code), Verdict::Right);
}

#[test]
fn a_route_that_rejects_a_message_for_good_is_not_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    world.gateways.will([permanent(), retry(), retry()]);
    world.request().unwrap();
    assert_eq!(counts(world.run(90)), [0, 1, 0]);
    assert_eq!(counts(world.run(200)), [1, 0, 0]);
    assert_eq!(world.gateways.routes_taken(), ["first", "second", "second", "second"]);
}

/// The caller learns it, and the message counts for no limit.
#[test]
fn a_message_that_every_route_rejects_fails_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    for _ in 0..3 {
        world.gateways.will([permanent(), permanent()]);
        let error = world.request().unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("unknown number"), "{error}");
    }
    let noted = |verdict| world.verdicts().iter().filter(|noted| *noted == verdict).count();
    assert_eq!((noted("sent"), noted("not_delivered")), (3, 3));
    world.request().unwrap();
    assert_eq!(counts(world.run(100)), [0, 0, 0]);
}

#[test]
fn a_number_that_no_route_takes_is_rejected_before_anything_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let user = world.service.create_user("eve@example.com", "555-010-0199", "1").unwrap().user_id;
    let error = world.service.request_sms(user).unwrap_err();
    assert!(error.to_string().contains("no route takes messages to this number"), "{error}");
    assert_eq!(world.verdicts()[0], "created");
    assert!(world.gateways.routes_taken().is_empty());
}

/// Only the provider that may have it can recognise it. If it stays silent, another one is asked.
#[test]
fn a_message_that_may_have_been_sent_is_repeated_by_the_same_route_first() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    world.gateways.will([ambiguous(), ambiguous(), ambiguous()]);
    world.request().unwrap();
    assert_eq!(counts(world.run(60)), [0, 1, 0]);
    assert_eq!(counts(world.run(120)), [1, 0, 0]);
    assert_eq!(world.gateways.routes_taken(), ["first", "first", "first", "second"]);
}

/// Each of them may have reached the user.
#[test]
fn a_message_that_may_have_been_sent_is_repeated_a_few_times_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    world.gateways.will([permanent(), ambiguous(), ambiguous(), ambiguous()]);
    world.request().unwrap();
    assert_eq!(counts(world.run(60)), [0, 1, 0]);
    assert_eq!(counts(world.run(120)), [0, 0, 1]);
    assert_eq!(counts(world.run(300)), [0, 0, 0]);
    let routes = world.gateways.routes_taken();
    assert_eq!(routes, ["first", "second", "second", "second"]);
    // Within the cool-down of a message that counts: 5 are allowed, of which this was one.
    let more = (0..6).filter(|n| {
        world.clock.set(NOW + 310 + 40 * n);
        world.request().is_ok()
    });
    assert_eq!(more.count(), 4);
}

#[test]
fn the_audit_counts_attempts_that_may_have_sent_a_message_of_which_no_job_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let counted = || {
        let engine = world.service.engine().unwrap();
        let page = engine.audit(&AuditFilter::default(), None, 100).unwrap();
        let rows = page.entries.into_iter().filter(|entry| entry.verdict == "maybe_sent");
        rows.map(|row| (row.call, row.user_id, row.times)).collect::<Vec<_>>()
    };
    let row = |times| ("request_sms".to_owned(), Some(world.user.get()), times);
    // Sent in the end.
    world.gateways.will([ambiguous(), ambiguous(), ambiguous(), Outcome::Sent(None)]);
    world.request().unwrap();
    assert_eq!(counts(world.run(60)), [0, 1, 0]);
    assert!(counted().is_empty());
    assert_eq!(counts(world.run(120)), [1, 0, 0]);
    assert_eq!(counted(), [row(3)]);
    // Void, as its code was used.
    world.gateways.will([ambiguous()]);
    world.request().unwrap();
    let code = world.gateways.attempts.lock().unwrap()[0].1.code.clone();
    assert_eq!(world.verify(&code), Verdict::Right);
    assert_eq!(counts(world.run(180)), [0, 0, 0]);
    assert_eq!(counted(), [row(1), row(3)]);
    assert!(!world.verdicts().contains(&"not_delivered".to_owned()));
    // Cancelled by an operator.
    world.clock.set(NOW + 240);
    world.gateways.will([ambiguous()]);
    world.request().unwrap();
    let operate = |name, given: serde_json::Value| {
        world.service.operate_json(name, given.as_object().unwrap().clone()).unwrap()
    };
    let listed = operate("jobs.list", serde_json::json!({}));
    operate("jobs.cancel", serde_json::json!({ "id": listed["entries"][0]["id"] }));
    assert_eq!(counted(), [row(1), row(1), row(3)]);
}

/// The other one asks for nothing.
#[test]
fn a_wait_that_one_provider_asks_for_does_not_keep_another_from_sending() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let after = Some(Duration::from_secs(3600));
    world.gateways.will([retry(), Outcome::Retry { after, reason: "too busy".to_owned() }]);
    world.request().unwrap();
    assert_eq!(counts(world.run(60)), [1, 0, 0]);
    assert_eq!(world.gateways.routes_taken(), ["first", "second", "first"]);
}

#[test]
fn a_damaged_code_stops_only_its_own_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let world = world(&path);
    let other = world.service.create_user("eve@example.com", "555-010-0124", "1").unwrap().user_id;
    for user in [world.user, other] {
        world.gateways.will([retry(), retry()]);
        world.service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let damage = "UPDATE codes SET code = x'00' WHERE subject = ?1";
    assert_eq!(db.execute(damage, [format!("user:{}", world.user)]).unwrap(), 1);
    world.gateways.routes_taken();
    assert_eq!(counts(world.run(60)), [1, 0, 0]);
    let sent = world.gateways.attempts.lock().unwrap();
    assert_eq!((sent.len(), sent[0].1.to.as_str()), (1, "+15550100124"));
}

#[test]
fn jobs_behind_many_that_have_expired_are_sent_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let request = |number: u32| {
        let number = format!("202555{number:04}");
        let user = world.service.create_user("a@example.com", &number, "1").unwrap().user_id;
        world.gateways.will([retry(), retry()]);
        world.service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    };
    (0..20).for_each(request);
    world.clock.set(NOW + 1000);
    request(100);
    assert_eq!(counts(world.run(1060)), [1, 0, 0]);
}

#[test]
fn a_message_is_not_sent_once_its_code_is_used_or_has_expired() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    world.gateways.will([retry(), retry()]);
    world.request().unwrap();
    let code = world.gateways.attempts.lock().unwrap()[0].1.code.clone();
    assert_eq!(world.verify(&code), Verdict::Right);
    assert_eq!(counts(world.run(90)), [0, 0, 0]);
    world.gateways.will([retry(), retry()]);
    world.request().unwrap();
    assert_eq!(counts(world.run(900)), [0, 0, 0]);
    assert_eq!(world.gateways.routes_taken().len(), 4);
    assert_eq!(world.verdicts()[0], "not_delivered");
}

/// A gateway that asks to wait for longer than the code lives has failed.
#[test]
fn sms_that_wait_are_not_sent_once_sms_is_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let world = world(&path);
    world.gateways.will([retry(), retry(), retry(), retry()]);
    world.request().unwrap();
    let call = calls::RequestCall { force: Some(true), ..calls::RequestCall::new(world.user) };
    world.service.handle(&call).unwrap();
    assert_eq!(world.gateways.routes_taken().len(), 4);
    let settings = Settings::new(&url(&path)).clock(world.clock.clone());
    drop(settings.deliver(world.gateways.clone()).sms_enabled(false).open().unwrap());
    assert_eq!(counts(world.run(90)), [1, 0, 0]);
    let attempts = world.gateways.attempts.lock().unwrap();
    assert!(attempts.iter().all(|(_, message)| message.via == calls::Channel::Call));
    assert_eq!(attempts.len(), 1);
    drop(attempts);
    // Calls are recommended to numbers to which they are made.
    let service = open(&path, &world.clock, &world.gateways);
    let other = service.create_user("b@example.com", "555-010-0198", "1").unwrap().user_id;
    for (user, has_calls) in [(world.user, true), (other, false)] {
        let refused = service.request_sms(user).unwrap_err().to_string();
        assert!(refused.contains("SMS is not enabled"), "{refused}");
        assert_eq!(refused.contains("Voice calls are"), has_calls, "{refused}");
    }
    assert_eq!(counts(world.run(200)), [0, 0, 0]);
    let noted = |verdict| world.verdicts().iter().filter(|noted| *noted == verdict).count();
    assert_eq!(noted("not_delivered"), 1);
}

#[test]
fn a_wait_beyond_the_life_of_the_code_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let after = Some(Duration::from_secs(3600));
    world.gateways.will([permanent(), Outcome::Retry { after, reason: "too busy".to_owned() }]);
    let error = world.request().unwrap_err();
    assert!(error.to_string().contains("too busy"), "{error}");
}

#[test]
fn a_message_whose_process_was_killed_is_sent_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let world = world(&path);
    world.gateways.during(|_| panic!("killed"));
    catch_unwind(AssertUnwindSafe(|| world.request())).unwrap_err();
    assert_eq!(counts(world.run(30)), [0, 0, 0], "it may still be on its way");
    let other = open(&path, &world.clock, &world.gateways);
    world.clock.set(NOW + 61);
    assert_eq!(counts(run_jobs(&other)), [1, 0, 0]);
    let attempts = world.gateways.attempts.lock().unwrap();
    assert_eq!(attempts[0].1.id, attempts[1].1.id);
}

/// Otherwise its late error would undo what the other attempt did.
#[test]
fn an_attempt_that_outlived_its_lease_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let world = world(&path);
    let (other, clock) = (open(&path, &world.clock, &world.gateways), world.clock.clone());
    world.gateways.will([Outcome::Sent(None), permanent()]);
    world.gateways.during(move |_| {
        clock.set(NOW + 61);
        assert_eq!(counts(run_jobs(&other)), [1, 0, 0]);
    });
    world.request().unwrap();
    assert_eq!(counts(world.run(1000)), [0, 0, 0]);
    assert_eq!(world.gateways.routes_taken().len(), 2);
    assert!(!world.verdicts().contains(&"not_delivered".to_owned()));
}

#[test]
fn each_job_is_sent_by_one_of_many_that_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let world = world(&path);
    let users: Vec<_> = (0..40)
        .map(|n| {
            let number = format!("202555{n:04}");
            world.service.create_user("a@example.com", &number, "1").unwrap().user_id
        })
        .collect();
    for user in users {
        world.gateways.will([retry(), retry()]);
        world.service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    }
    world.gateways.routes_taken();
    world.clock.set(NOW + 60);
    let other = open(&path, &world.clock, &world.gateways);
    let runs = at_once([&world.service, &other], |service, _| run_jobs(service));
    assert_eq!(runs.iter().map(|run| run.sent).sum::<u32>(), 40);
    let mut ids: Vec<_> =
        world.gateways.attempts.lock().unwrap().iter().map(|(_, m)| m.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), world.gateways.routes_taken().len()), (40, 40));
}

#[test]
fn no_attempt_begins_after_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    world.gateways.will([retry(), retry()]);
    world.request().unwrap();
    world.gateways.routes_taken();
    world.clock.set(NOW + 60);
    let run = world.service.engine().unwrap().run_jobs(Duration::ZERO).unwrap();
    assert!(run.more && counts(run) == [0, 0, 0]);
    assert!(world.gateways.routes_taken().is_empty());
    assert_eq!(counts(world.run(60)), [1, 0, 0]);
}

#[test]
fn no_attempt_begins_once_the_run_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder.path().join("jobs.db"));
    let eve = world.service.create_user("eve@example.com", "555-010-0124", "1").unwrap().user_id;
    for user in [world.user, eve] {
        world.gateways.will([retry(), retry()]);
        world.service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    }
    world.gateways.routes_taken();
    world.clock.set(NOW + 60);
    let canceller = Canceller::new();
    let cancelled = canceller.clone();
    world.gateways.during(move |_| cancelled.cancel());
    let handle = world.service.with_interrupt(Arc::new(canceller));
    let run = handle.with_engine("run_jobs", None, |engine| engine.run_jobs(BUDGET)).unwrap();
    assert_eq!((counts(run), run.more), ([1, 0, 0], true));
    assert_eq!(counts(world.run(60)), [1, 0, 0], "the other was given back");
}
