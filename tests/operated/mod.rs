//! A service whose gateways and receiver of callbacks do as a test says.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, url};
use seconder::calls::{self, Channel, RequestCall, RequestSms};
use seconder::engine::{
    AfterAttempt, ApprovalResponse, AuditEntry, AuditFilter, Deliver, DeviceType, Engine, JobEntry,
    JobFilter, JobState, Lane, LeasedJob, Message, Outcome, Post, Prepared, RespondToApproval,
    SignedCallback,
};
use seconder::model::UserId;
use seconder::{Error, Handle, Result, Service, Settings, Verdict};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const NOW: u64 = 1_700_006_400;
/// A part of the number of the messages, which nobody may see.
pub(crate) const SECRET: &str = "5550100123";

/// Gateways and a receiver of callbacks whose outcomes the test decides, by two routes.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) outcomes: Arc<Mutex<VecDeque<Outcome>>>,
    pub(crate) codes: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) fn outcome(&self) -> Outcome {
        let outcome = self.outcomes.lock().unwrap().pop_front();
        outcome.unwrap_or(Outcome::Sent(Some("provider-1".to_owned())))
    }

    pub(crate) fn will(&self, outcomes: impl IntoIterator<Item = Outcome>) {
        self.outcomes.lock().unwrap().extend(outcomes);
    }
}

impl Deliver for World {
    fn deliver(&self, _: &Message) -> std::result::Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, message: &Message, _: &str) -> Outcome {
        self.codes.lock().unwrap().push(message.code.clone());
        self.outcome()
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        self.all_routes()
    }

    fn all_routes(&self) -> Vec<String> {
        vec!["first".to_owned(), "second".to_owned()]
    }
}

/// The lane of a route by which an attempt takes 30 s at most.
pub(crate) fn lane(name: &str) -> Lane {
    Lane { name: name.to_owned(), longest_attempt: Duration::from_secs(30) }
}

/// Makes an attempt to send a leased message, as a worker does, unless it is no longer to be sent. Returns whether
/// another one follows at once.
pub(crate) fn attempt(job: LeasedJob, by: &impl Deliver) -> bool {
    let Prepared::Message(message) = job.prepare(Duration::from_secs(30)).unwrap() else {
        return false;
    };
    let outcome = by.attempt(&message, job.lane());
    let routes: Vec<_> =
        by.routes(&message.to, message.via).iter().map(|name| lane(name)).collect();
    matches!(job.finish(outcome, &routes).unwrap().0, AfterAttempt::Again(_))
}

impl Post for World {
    fn post(&self, _: &SignedCallback) -> std::result::Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, _: &SignedCallback) -> Outcome {
        self.outcome()
    }
}

pub(crate) fn retry() -> Outcome {
    Outcome::Retry { after: None, reason: "busy".to_owned() }
}

pub(crate) fn permanent() -> Outcome {
    Outcome::Permanent("unknown number".to_owned())
}

pub(crate) struct Operated {
    pub(crate) service: Service,
    pub(crate) world: World,
    pub(crate) clock: ManualClock,
    pub(crate) user: UserId,
}

pub(crate) fn operated(path: &Path) -> Operated {
    operated_with(path, "")
}

pub(crate) fn operated_with(path: &Path, limits: &str) -> Operated {
    let (clock, world) = (ManualClock::at(NOW), World::default());
    let service = Settings::new(&url(path))
        .clock(clock.clone())
        .deliver(world.clone())
        .post(world.clone())
        .callback_url("https://app.example/callback")
        .limits(limits)
        .open()
        .unwrap();
    let user = ada(&service);
    Operated { service, world, clock, user }
}

impl Operated {
    pub(crate) fn engine(&self) -> &Engine {
        self.service.engine().unwrap()
    }

    pub(crate) fn request(&self, outcomes: [Outcome; 2]) -> Result<()> {
        self.world.will(outcomes);
        let call = RequestSms { force: Some(true), ..RequestSms::new(self.user) };
        self.service.handle(&call).map(drop)
    }

    pub(crate) fn call(&self, outcomes: [Outcome; 2]) -> Result<()> {
        self.world.will(outcomes);
        let call = RequestCall { force: Some(true), ..RequestCall::new(self.user) };
        self.service.handle(&call).map(drop)
    }

    /// Has the user approve a request, of which the callback has this outcome.
    pub(crate) fn approve(&self, outcome: Outcome) {
        let engine = self.engine();
        let device = engine.register_device(self.user, DeviceType::Ios).unwrap();
        let call = calls::CreateApproval::new(self.user, "Log in?".parse().unwrap());
        let uuid = self.service.handle(&call).unwrap().uuid;
        self.world.will([outcome]);
        let response = RespondToApproval {
            uuid,
            device_id: device.device_id,
            device_secret: device.secret,
            response: ApprovalResponse::Approve,
            number: None,
        };
        let _ = engine.respond_to_approval(&response).unwrap();
    }

    pub(crate) fn jobs(&self, filter: &JobFilter) -> Vec<JobEntry> {
        let page = self.engine().jobs(filter, None, 1000).unwrap();
        assert_eq!(page.next, None);
        page.entries
    }

    pub(crate) fn all(&self) -> Vec<JobEntry> {
        self.jobs(&JobFilter::default())
    }

    pub(crate) fn only(&self) -> JobEntry {
        let all = self.all();
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    }

    pub(crate) fn run(&self, seconds: u64) -> [u32; 3] {
        self.clock.set(NOW + seconds);
        let run = self.engine().run_jobs(Duration::from_secs(5)).unwrap();
        [run.sent, run.waiting, run.failed]
    }

    pub(crate) fn code(&self) -> String {
        self.world.codes.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn verify(&self) -> Verdict {
        self.service.verify(self.user, &self.code().parse().unwrap()).unwrap()
    }

    pub(crate) fn audit(&self) -> Vec<AuditEntry> {
        self.engine().audit(&AuditFilter::default(), None, 100).unwrap().entries
    }

    /// The reasons of what was not delivered, with the calls, the latest first.
    pub(crate) fn undelivered(&self) -> Vec<(String, String)> {
        let failed = self.audit().into_iter().filter(|entry| entry.verdict == "not_delivered");
        failed.map(|entry| (entry.call, entry.reason.unwrap())).collect()
    }
}

pub(crate) fn of_state(state: JobState) -> JobFilter {
    JobFilter { state: Some(state), ..JobFilter::default() }
}

pub(crate) fn reason(outcome: Result<JobEntry>) -> String {
    match outcome.unwrap_err() {
        error @ Error::InvalidArgument { .. } => error.to_string(),
        other => panic!("{other}"),
    }
}
