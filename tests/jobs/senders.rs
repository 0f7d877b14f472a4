//! A program that sends messages itself: it takes jobs of calls, and reports the outcomes.

use super::{NOW, permanent, retry};
use crate::fresh::{ManualClock, ada, url};
use crate::operated::lane;
use seconder::calls::{Channel, RequestSms};
use seconder::engine::{
    AfterAttempt, JobFilter, JobState, Lane, LeasedJob, Offered, Outcome, Prepared, Sender,
};
use seconder::model::UserId;
use seconder::{Error, Handle, Result, Service, Settings};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of the next job of a call.
enum Offer {
    /// It is taken, and its attempts have these outcomes.
    Attempts(Vec<Outcome>),
    /// It is taken, and never sent.
    Lost,
    Full,
}

/// Takes the jobs of calls, as threads of a program do.
#[derive(Clone, Default)]
struct Program {
    offers: Arc<Mutex<VecDeque<Offer>>>,
    steps: Arc<Mutex<Vec<String>>>,
}

impl Program {
    fn send(&self, mut job: LeasedJob, outcomes: Vec<Outcome>) -> Result<()> {
        for outcome in outcomes {
            let Prepared::Message(message) = job.prepare(Duration::from_secs(30))? else {
                return Ok(());
            };
            assert_eq!((message.to.as_str(), message.via), ("+15550100123", Channel::Sms));
            let route = job.lane().to_owned();
            let (then, _) = job.finish(outcome, &self.routes(&message.to, message.via))?;
            let step = |step: &str| self.steps.lock().unwrap().push(format!("{route}: {step}"));
            match then {
                AfterAttempt::Again(next) => {
                    step("again");
                    job = next;
                }
                then => {
                    step(&format!("{then:?}"));
                    return Ok(());
                }
            }
        }
        unreachable!("there is no outcome left");
    }

    fn steps(&self) -> Vec<String> {
        std::mem::take(&mut self.steps.lock().unwrap())
    }
}

impl Sender for Program {
    fn lanes(&self) -> Vec<Lane> {
        vec![lane("first"), lane("second")]
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<Lane> {
        self.lanes()
    }

    fn send(&self, job: LeasedJob) -> Result<()> {
        self.send(job, vec![Outcome::Sent(None)])
    }

    fn offer(&self, job: LeasedJob) -> Offered {
        match self.offers.lock().unwrap().pop_front() {
            Some(Offer::Attempts(outcomes)) => self.send(job, outcomes).unwrap(),
            Some(Offer::Lost) => drop(job),
            Some(Offer::Full) => return Offered::Full(job),
            None => return Offered::Here(job),
        }
        Offered::Taken
    }
}

fn service(path: &Path, program: &Program) -> (Service, UserId, ManualClock) {
    let clock = ManualClock::at(NOW);
    let settings = Settings::new(&url(path)).clock(clock.clone()).sender(program.clone());
    let service = settings.open().unwrap();
    let user = ada(&service);
    (service, user, clock)
}

fn number_refused() -> Outcome {
    Outcome::NumberRefused("+15550100123 does not exist".to_owned())
}

#[test]
fn a_call_replies_what_the_program_reports_of_its_message() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::default();
    let (service, user, _) = service(&folder.path().join("jobs.db"), &program);
    let request = |offer: Option<Offer>| {
        program.offers.lock().unwrap().extend(offer);
        let reply = service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) });
        (reply, program.steps())
    };
    let rejected = vec![permanent(), permanent()];
    let (reply, steps) = request(Some(Offer::Attempts(rejected)));
    let error = reply.unwrap_err();
    assert!(matches!(&error, Error::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("unknown number"), "{error}");
    assert_eq!(steps, ["first: again", "second: Failed"]);

    let (reply, steps) = request(Some(Offer::Attempts(vec![permanent(), number_refused()])));
    let error = reply.unwrap_err();
    assert!(matches!(&error, Error::Rejected { .. }), "{error}");
    assert_eq!(steps, ["first: again", "second: Failed"]);

    let (reply, steps) = request(Some(Offer::Attempts(vec![Outcome::Sent(None)])));
    assert_eq!(reply.unwrap().message.as_deref(), Some("SMS token was sent"));
    assert_eq!(steps, ["first: Sent"]);
}

#[test]
fn a_job_that_the_program_does_not_send_now_waits() {
    for (offer, state) in [
        (Offer::Attempts(vec![retry(), retry()]), JobState::Waiting),
        (Offer::Full, JobState::Waiting),
        (Offer::Lost, JobState::Leased),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::default();
        let (service, user, clock) = service(&folder.path().join("jobs.db"), &program);
        program.offers.lock().unwrap().push_back(offer);
        let call = RequestSms { force: Some(true), ..RequestSms::new(user) };
        let reply = service.handle(&call).unwrap();
        assert_eq!(reply.message.as_deref(), Some("SMS token is queued"));
        let engine = service.engine().unwrap();
        let jobs = engine.jobs(&JobFilter::default(), None, 10).unwrap().entries;
        assert_eq!((jobs.len(), jobs[0].state), (1, state));
        clock.set(NOW + 90);
        assert_eq!(super::counts(super::run_jobs(&service)), [1, 0, 0]);
    }
}
