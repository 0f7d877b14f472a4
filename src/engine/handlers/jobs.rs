//! Sends the messages and callbacks that calls have decided on: at once, by the thread of the call,
//! and later, by the threads that run the jobs that are due. A sender claims a job, sends it, and reports the outcome.

mod listing;
mod managing;
mod status;

pub use listing::{JobEntry, JobFilter, JobPage};
pub(in crate::engine) use listing::{entry, number_of};
pub use status::JobStatus;

use crate::calls::Channel;
use crate::engine::core::{Delivered, Engine, Lane};
use crate::engine::delivery::{Outcome, SignedCallback};
use crate::engine::model::clock::{self, Now};
use crate::engine::model::jobs::shown_id;
use crate::engine::model::urls::without_parameters;
use crate::engine::operations::AppId;
use crate::engine::operations::applications as stored;
use crate::engine::operations::jobs::{self, Claimed};
use crate::model::{CallbackMethod, CallbackUrl};
use crate::{Error, Result, Stage, callback, interrupt};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The header with the id that is the same in all attempts to post a callback.
const DELIVERY: &str = "Seconder-Delivery";
/// The number of jobs leased at once: any that the budget leaves are given back.
const STEP: u32 = 8;
/// The time that an attempt counts as taking where this process cannot send.
pub(super) const UNSENT: Duration = Duration::from_secs(30);

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
                    let delivered = self.send_here(job);
                    if is_over() || delivered.is_err() {
                        self.release(claimed)?;
                        run.count(delivered?);
                        break;
                    }
                    run.count(delivered?);
                }
            }
            if !found {
                return Ok(run);
            }
        }
    }

    /// Returns the lanes whose jobs are sent here.
    fn lanes(&self) -> Result<Vec<Lane>> {
        let mut lanes = self.shared.sender.lanes();
        if self.shared.post.is_some() {
            lanes.extend(self.callback_lanes()?);
        }
        lanes.extend(self.shared.push.as_ref().map(|_| self.push_lane()));
        Ok(lanes)
    }

    /// Returns the lanes of the callbacks of all applications: each has its own, so that none holds up
    /// others.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read.
    pub fn callback_lanes(&self) -> Result<Vec<Lane>> {
        let ids = self.look(stored::ids)?;
        Ok(ids.into_iter().map(|app| self.callback_lane(app)).collect())
    }

    /// Signs a callback and sends it. The nonce is the time in seconds, which allows receivers to
    /// check freshness, and a random number, which makes it unique.
    pub(in crate::engine) fn post(
        &self,
        claimed: &Claimed,
        url: &CallbackUrl,
        body: &str,
        now: Now,
    ) -> Result<Outcome> {
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
            (DELIVERY.to_owned(), shown_id(claimed.lease.job_id)),
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
        let route = self.shared.sender.routes(to, via).into_iter().next();
        let route = route.ok_or_else(|| {
            let reason = format!("no route takes messages to this number by {}", via.name());
            Error::unavailable(Stage::Delivery, reason)
        })?;
        let lease = route.lease();
        Ok((route.name, lease))
    }

    /// Returns the lane of an application's callbacks.
    pub(in crate::engine) fn callback_lane(&self, app: AppId) -> Lane {
        let longest = self.shared.post.as_ref().map_or(UNSENT, |post| post.longest_attempt());
        Lane { name: jobs::callbacks(app), longest_attempt: longest }
    }
}

impl JobsRun {
    fn count(&mut self, delivered: Option<Delivered>) {
        match delivered {
            Some(Delivered::Sent) => self.sent += 1,
            Some(Delivered::Queued) => self.waiting += 1,
            Some(Delivered::Failed(_) | Delivered::NumberRefused) => self.failed += 1,
            None => {}
        }
    }
}
