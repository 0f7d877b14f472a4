//! Operations on a job by an operator.

use super::listing::{JobEntry, entry};
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::rejections;
use crate::engine::operations::budgets::Over;
use crate::engine::operations::jobs as stored;
use crate::engine::operations::jobs::{Refused, What};
use crate::{Error, Result, codes};
use std::time::Duration;

impl Engine {
    /// Has a job attempted with the next ones that are due: one that waits, or one that failed permanently. A callback
    /// that failed gets the attempts and the time of a new one. A message can be repeated only while its code is valid,
    /// by the routes that it takes now, and counts as one that is sent now.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such job, it was sent, it is being attempted, or the code of the
    /// message is no longer valid, so that the user has to request another; [`Error::RateLimited`] and
    /// [`Error::Rejected`] if the message is over a limit of the application; [`Error::Storage`] if the database cannot
    /// be read or written.
    pub fn replay_job(&self, id: &str) -> Result<JobEntry> {
        let job = self.find_job(id)?.ok_or_else(|| refused(id, Refused::Gone, self.now()))?;
        let routes = match stored::what(&job) {
            Ok(What::Message { message, .. }) => {
                self.shared.sender.routes(&message.to, message.channel())
            }
            _ => Vec::new(),
        };
        let (plan, now) = (self.plan(&routes, Duration::ZERO), self.now());
        let trail = self.trail_of("replay_job", now, None)?;
        let key = (job.subject, job.job_id);
        let replayed = self.run(move |view| {
            let mut trail = trail.clone();
            trail.app = job.app_id;
            stored::replay(view, &key, &plan, &trail, now)
        })?;
        replayed.map(|job| entry(&job, now)).map_err(|why| refused(id, why, now))
    }

    /// Removes a job that is not over, and returns it as it was. If an attempt is in progress, it may
    /// still be sent. A message counts for no limit then, and the audit has a row, as for one that
    /// failed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such job, or it is over; [`Error::Storage`] if the
    /// database cannot be read or written.
    pub fn cancel_job(&self, id: &str) -> Result<JobEntry> {
        let job = self.find_job(id)?.ok_or_else(|| refused(id, Refused::Gone, self.now()))?;
        let (plan, now) = (self.plan(&[], Duration::ZERO), self.now());
        let key = (job.subject, job.job_id);
        let cancelled = self.run(move |view| stored::cancel(view, &key, &plan, now))?;
        cancelled.map(|job| entry(&job, now)).map_err(|why| refused(id, why, now))
    }
}

fn refused(id: &str, why: Refused, now: Now) -> Error {
    let reason = match why {
        Refused::Gone => "is that of no job: it was sent, or cancelled, or is long over",
        Refused::Sent => "is that of a job that was sent",
        Refused::Failed => {
            "is that of a job that has failed: it is attempted only if it is replayed"
        }
        Refused::Leased => "is that of a job that is being attempted: wait until that is over",
        Refused::Void => {
            "is that of a message whose code is no longer valid: the user has to request a new code"
        }
        Refused::Unreadable => {
            "is that of a job that cannot be read: the database is damaged, or its keyring lacks a key"
        }
        Refused::NoRoute => "is that of a message to a number that no route takes messages to",
        Refused::Over(Over { until: None, .. }) => return rejections::country_not_allowed(),
        Refused::Over(Over { limit, until: Some(until) }) => {
            return Error::RateLimited {
                message: format!("The message is over the limit {limit}"),
                retry_after: until.after(now.steady),
                code: Some(codes::TOO_MANY_REQUESTS.to_owned()),
                limit: Some(limit.to_owned()),
            };
        }
    };
    Error::invalid_argument("id", format!("{id} {reason}"))
}
