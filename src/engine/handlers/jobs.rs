//! Sends the messages and callbacks that calls have decided on: at once, by the thread of the call,
//! and later, by the threads that run the jobs that are due.

mod kind;
mod listing;
mod managing;
mod status;
mod workers;

pub use kind::JobKind;
pub use listing::{JobEntry, JobFilter, JobPage, JobState};
pub(in crate::engine) use listing::{entry, number_of};
pub use status::JobStatus;
pub use workers::{CALLBACK_LANES, LeasedJob, PUSH_LANE, Workers};

use crate::calls::Channel;
use crate::engine::delivery::Wiped;
use crate::engine::model::clock::{self, Now};
use crate::engine::model::urls::without_parameters;
use crate::engine::operations::applications as stored;
use crate::engine::operations::jobs::{self, Claimed, Ended, Outgoing, Plan, What};
use crate::engine::{AfterAttempt, Engine, Message, Outcome, Shared, SignedCallback};
use crate::model::{CallbackMethod, CallbackUrl};
use crate::{Error, Result, Stage, callback, interrupt};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use zeroize::Zeroizing;

/// The header with the id that is the same in all attempts to post a callback.
const DELIVERY: &str = "Seconder-Delivery";
/// The number of jobs leased at once: any that the budget leaves are given back.
const STEP: u32 = 8;
/// The time for which a code is not looked at again between the lease and the attempt.
const UNWATCHED: Duration = Duration::from_secs(1);

/// The outcome of a message for the caller.
pub(in crate::engine) enum Delivered {
    /// It was sent.
    Sent,
    /// It is still being sent, or further attempts are to come.
    Queued,
    /// It failed permanently. The reason is without the code.
    Failed(String),
    /// It failed permanently, because the provider refuses the number.
    NumberRefused,
}

/// The result of [`Engine::run_jobs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobsRun {
    /// The number of messages and callbacks that were sent.
    pub sent: u32,
    /// The number that have to wait for another attempt.
    pub waiting: u32,
    /// The number that failed permanently.
    pub failed: u32,
    /// True if the budget was used up, or the call was interrupted, so that there may be more to send at once.
    pub more: bool,
}

impl Engine {
    /// Sends messages and posts callbacks whose next attempt is due: jobs that failed before and are to be repeated,
    /// and jobs that a killed process left. Nothing in a program that embeds the engine does so by itself, so one whose
    /// deliver function returns [`Outcome::Retry`] or [`Outcome::Ambiguous`], or that has a callback URL, calls this
    /// every few seconds: on a thread of its own, or from a timer. So does one whose users have phones with the
    /// approver: push messages are sent by this alone, so that no call waits for a push service. `seconder serve` has
    /// threads for all of it.
    ///
    /// Several processes can do so on one database: each job is sent by one of them. After `budget`, or once [an
    /// interrupt](crate::Interrupt) ends the call that this is part of, no further attempt begins.
    ///
    /// A message is repeated until its code has expired, and never sent once the code is void: after 2, 4, 8 … 60 s, or
    /// when the gateway asks to. So is a push message, until its request is no longer open. A callback is posted again
    /// after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h. Each of these waits is up to a quarter shorter or longer.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read or written. A message or callback that fails to be sent is not
    /// an error.
    pub fn run_jobs(&self, budget: Duration) -> Result<JobsRun> {
        let end = self.shared.clock.now().saturating_add(budget);
        let is_over = || interrupt::interrupted() || self.shared.clock.now() >= end;
        if let Some(post) = &self.shared.post {
            post.housekeep();
        }
        if let Some(push) = &self.shared.push {
            push.housekeep();
        }
        let lanes = self.lanes()?;
        let mut run = JobsRun::default();
        loop {
            let mut found = false;
            for lane in &lanes {
                if is_over() {
                    run.more = true;
                    return Ok(run);
                }
                let jobs::Leased { claimed, due } = self.claim(lane, STEP)?;
                found |= due > 0;
                let mut claimed = claimed.into_iter();
                while let Some(job) = claimed.next() {
                    let ended = self.attempt_all(job);
                    if is_over() || ended.is_err() {
                        self.release(claimed)?;
                        run.count(&ended?);
                        break;
                    }
                    run.count(&ended?);
                }
            }
            if !found {
                return Ok(run);
            }
        }
    }

    /// Returns the lanes whose jobs are sent here.
    fn lanes(&self) -> Result<Vec<String>> {
        let mut lanes = self.shared.deliver.all_routes();
        if self.shared.post.is_some() {
            lanes.extend(self.callback_lanes()?);
        }
        lanes.extend(self.shared.push.as_ref().map(|_| PUSH_LANE.to_owned()));
        Ok(lanes)
    }

    fn claim(&self, lane: &str, most: u32) -> Result<jobs::Leased> {
        let (lane, plan, now) = (lane.to_owned(), self.plan(lane, Vec::new()), self.now());
        // Usually no job is due, so this begins without the lock that writers take.
        self.look(move |view| jobs::claim(view, &lane, most, &plan, now))
    }

    fn release(&self, claimed: impl Iterator<Item = Claimed>) -> Result<()> {
        let leases: Vec<_> = claimed.map(|claimed| claimed.lease).collect();
        if leases.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.run(move |view| leases.iter().try_for_each(|lease| jobs::release(view, lease, now)))
    }

    /// Returns the lanes of the callbacks of all applications: each has its own, so that none holds up
    /// others.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read.
    pub fn callback_lanes(&self) -> Result<Vec<String>> {
        self.look(|view| Ok(stored::ids(view)?.into_iter().map(jobs::callbacks).collect()))
    }

    /// Attempts a job by one route after the other, until it is sent or has to wait. Returns the last
    /// outcome too.
    fn attempt_all(&self, mut claimed: Claimed) -> Result<(Ended, Option<Outcome>)> {
        loop {
            match self.attempt_one(&claimed, |_| {})? {
                (Ended::Again(next), _) => claimed = *next,
                ended => return Ok(ended),
            }
        }
    }

    fn attempt_one(
        &self,
        claimed: &Claimed,
        measure: impl FnOnce(&Outcome),
    ) -> Result<(Ended, Option<Outcome>)> {
        let now = self.now();
        // It may have waited in a queue. An attempt that could outlive the lease is left to the
        // next lease, or it might be sent twice.
        if claimed.until <= now.steady.plus(self.longest_attempt(&claimed.lane)) {
            self.release(std::iter::once(claimed.clone()))?;
            return Ok((Ended::Stale, None));
        }
        let begun = claimed.until.minus(self.lease(&claimed.lane));
        if begun.plus(UNWATCHED) <= now.steady {
            let lease = claimed.lease.clone();
            if !self.look(move |view| jobs::is_still_wanted(view, &lease, now))? {
                self.release(std::iter::once(claimed.clone()))?;
                return Ok((Ended::Stale, None));
            }
        }
        let outcome = self.attempt(claimed)?;
        measure(&outcome);
        let routes = match &claimed.what {
            What::Message { message, .. } => {
                self.shared.deliver.routes(&message.to, channel(message))
            }
            What::Callback { .. } | What::Push { .. } => Vec::new(),
        };
        let (lease, plan, now) =
            (claimed.lease.clone(), self.plan(&claimed.lane, routes), self.now());
        let decided = outcome.clone();
        let ended = self.run(move |view| jobs::finish(view, &lease, &decided, &plan, now))?;
        let then = match &ended {
            Ended::Sent => Some(AfterAttempt::Sent),
            Ended::Waits | Ended::Again(_) => Some(AfterAttempt::Repeated),
            Ended::Failed => Some(AfterAttempt::Failed),
            Ended::Stale => None,
        };
        if let Some(then) = then.filter(|_| matches!(claimed.what, What::Message { .. })) {
            self.shared.deliver.attempted(&outcome, then);
        }
        Ok((ended, Some(outcome)))
    }

    fn attempt(&self, claimed: &Claimed) -> Result<Outcome> {
        let now = self.now();
        if claimed.deadline <= now.steady {
            let reason = "its time was over before it could be sent".to_owned();
            return Ok(Outcome::NotAttempted { after: None, reason });
        }
        match &claimed.what {
            What::Message { message, code } => {
                Ok(self.deliver(claimed, message, code.as_ref(), now))
            }
            What::Callback { url, body } => self.post(claimed, url, body, now),
            What::Push { device, notice } => self.push(claimed, (*device, notice), now),
        }
    }

    fn deliver(
        &self,
        claimed: &Claimed,
        outgoing: &Outgoing,
        code: Option<&Zeroizing<String>>,
        now: Now,
    ) -> Outcome {
        let code = code.map_or("", |code| code.as_str());
        let message = Wiped(Message {
            id: id(claimed.lease.job_id),
            to: outgoing.to.clone(),
            via: channel(outgoing),
            text: {
                let left = claimed.deadline.after(now.steady).unwrap_or_default();
                outgoing.text.text(code, left.as_secs())
            },
            language: outgoing.text.language.clone(),
            code: code.to_owned(),
            expires_at: if code.is_empty() { 0 } else { now.shown(claimed.deadline).seconds() },
            subject: claimed.lease.subject.clone(),
        });
        let outcome = self.shared.deliver.attempt(&message.0, &claimed.lane);
        without_secrets(outcome, code, outgoing)
    }

    /// Signs a callback and sends it. The nonce is the time in seconds, which allows receivers to
    /// check freshness, and a random number, which makes it unique.
    fn post(&self, claimed: &Claimed, url: &CallbackUrl, body: &str, now: Now) -> Result<Outcome> {
        let Some(post) = &self.shared.post else {
            let reason = "no way to post callbacks is set".to_owned();
            return Ok(Outcome::NotAttempted { after: None, reason });
        };
        let Some(app) = self.application(claimed.app)? else {
            return Ok(Outcome::Permanent("the application was removed".into()));
        };
        let unique = clock::digits(self.random(), 9)?;
        let nonce = format!("{}.{unique}", now.clock.seconds());
        // Receivers that do not have the new key yet would reject a signature by it.
        let earlier = app.earlier.as_ref().filter(|earlier| earlier.until > now.steady);
        let key = earlier.map_or(&app.api_key, |earlier| &earlier.key);
        let (at, method) = (url.as_str(), app.settings.callback_method);
        let (query, body) = match method {
            CallbackMethod::Post => (String::new(), body.as_bytes().to_vec()),
            CallbackMethod::Get => (callback::query(body.as_bytes())?, Vec::new()),
        };
        let signature = match method {
            CallbackMethod::Post => callback::sign(key, &nonce, at, &body),
            CallbackMethod::Get => callback::sign_query(key, &nonce, at, &query),
        };
        let signature = match signature {
            Ok(signature) => signature,
            // A query has a limited number of parameters, which is the same in each attempt.
            Err(error) => return Ok(Outcome::Permanent(format!("it cannot be signed: {error}"))),
        };
        let headers = vec![
            (app.settings.names.signature(), signature),
            (app.settings.names.nonce(), nonce),
            (DELIVERY.to_owned(), id(claimed.lease.job_id)),
        ];
        let ca_file = app.settings.callback_ca_file.clone();
        let private = app.settings.callback_private;
        let url = url.clone();
        let callback = SignedCallback { url, method, query, body, headers, ca_file, private };
        let outcome = post.attempt(&callback).map_reason(|reason| without_parameters(&reason));
        if let Some(reason) = outcome.reason() {
            self.shared.events.callback_failed(&callback.url, reason);
        }
        Ok(outcome)
    }

    /// Returns the route that a message tries first, and for how long it is leased.
    pub(in crate::engine) fn first_route(
        &self,
        to: &str,
        via: Channel,
    ) -> Result<(String, Duration)> {
        let route = self.shared.deliver.routes(to, via).into_iter().next();
        let route = route.ok_or_else(|| {
            let reason = format!("no route takes messages to this number by {}", via.name());
            Error::unavailable(Stage::Delivery, reason)
        })?;
        let lease = self.lease(&route);
        Ok((route, lease))
    }

    /// Returns the time for which no other process attempts a job that is being attempted, or is
    /// about to be.
    pub(in crate::engine) fn lease(&self, lane: &str) -> Duration {
        self.longest_attempt(lane) * 2
    }

    fn longest_attempt(&self, lane: &str) -> Duration {
        let Shared { deliver, post, push, .. } = &*self.shared;
        let longest = match (post, push) {
            (Some(post), _) if jobs::is_of_callbacks(lane) => post.longest_attempt(),
            (_, Some(push)) if lane == PUSH_LANE => push.longest_attempt(),
            _ => deliver.longest_attempt(lane),
        };
        longest.max(Duration::from_secs(1))
    }

    fn plan(&self, lane: &str, routes: Vec<String>) -> Plan {
        let limited = self.limits().is_some();
        // The next attempt may be by any of the routes.
        let lease = routes.iter().map(|route| self.lease(route)).fold(self.lease(lane), Ord::max);
        Plan { routes, lease, limited, author: self.author.clone() }
    }
}

fn delivered((ended, outcome): (Ended, Option<Outcome>)) -> Delivered {
    match (ended, outcome) {
        (Ended::Failed, Some(Outcome::NumberRefused(_))) => Delivered::NumberRefused,
        (Ended::Failed, outcome) => {
            let reason = outcome.as_ref().and_then(Outcome::reason);
            Delivered::Failed(reason.unwrap_or_default().to_owned())
        }
        (Ended::Sent, _) => Delivered::Sent,
        (Ended::Waits | Ended::Again(_) | Ended::Stale, _) => Delivered::Queued,
    }
}

impl JobsRun {
    fn count(&mut self, (ended, _): &(Ended, Option<Outcome>)) {
        match ended {
            Ended::Sent => self.sent += 1,
            Ended::Waits => self.waiting += 1,
            Ended::Failed => self.failed += 1,
            Ended::Again(_) | Ended::Stale => {}
        }
    }
}

fn channel(message: &Outgoing) -> Channel {
    if message.by_voice { Channel::Call } else { Channel::Sms }
}

/// Returns the id of a job, as it is shown outside the engine.
fn id(job_id: i64) -> String {
    format!("{job_id:016x}")
}

/// An error that is stored and shown must contain neither the code nor the number.
fn without_secrets(outcome: Outcome, code: &str, message: &Outgoing) -> Outcome {
    let clean = |reason: String| {
        if !code.is_empty() && reason.contains(code) {
            return "the delivery failed with a message that contains the code".to_owned();
        }
        let digits = message.to.trim_start_matches('+');
        match digits.is_empty() {
            true => reason,
            false => reason.replace(&message.to, &message.masked).replace(digits, &message.masked),
        }
    };
    outcome.map_reason(clean)
}
