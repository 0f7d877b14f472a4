//! Operations on messages and callbacks that are to be sent.

use super::declaration::operation;
use crate::engine::core::Engine;
use crate::engine::handlers::jobs::{JobEntry, JobFilter, JobPage, JobStatus, JobsRun};
use crate::engine::model::jobs::JobKind;
use crate::engine::model::jobs::JobState;
use crate::model::UserId;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;

operation! {
    /// Lists what the engine has to send, and what it has sent, for all applications of the database, page
    /// by page: see [`Engine::jobs`].
    #[derive(Default)]
    ListJobs = "jobs.list" -> JobPage {
        /// Those in this state.
        state: Option<JobState>,
        /// Those of this kind.
        kind: Option<JobKind>,
        /// Those of this route.
        route: Option<String>,
        /// Jobs about this user, the latest first.
        user_id: Option<UserId>,
        /// What the page before has as `next`.
        after: Option<String>,
        /// The most jobs on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
    }
}

impl ListJobs {
    fn run(&self, engine: &Engine) -> Result<JobPage> {
        let ListJobs { state, kind, user_id, .. } = *self;
        let filter = JobFilter { state, kind, route: self.route.clone(), user_id };
        engine.jobs(&filter, self.after.as_deref(), self.most.unwrap_or(super::declaration::MOST))
    }
}

operation! {
    /// Returns the job with this id.
    ShowJob = "jobs.show" -> JobEntry {
        /// The id of the job: 16 hexadecimal digits.
        id: String,
    }
}

impl ShowJob {
    fn run(&self, engine: &Engine) -> Result<JobEntry> {
        engine.job(&self.id)?.ok_or_else(|| {
            let reason = format!(
                "{} is that of no job. It was sent, was cancelled or is long over: jobs.list has those that there are",
                self.id
            );
            Error::invalid_argument("id", reason)
        })
    }
}

operation! {
    /// Counts the jobs of all applications of the database, by route and kind: see
    /// [`Engine::job_status`].
    CountJobs = "jobs.status" -> JobCounts {}
}

/// Statistics of the messages and callbacks to send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobCounts {
    /// For each route and kind.
    pub counts: Vec<JobStatus>,
}

impl CountJobs {
    fn run(&self, engine: &Engine) -> Result<JobCounts> {
        Ok(JobCounts { counts: engine.job_status()? })
    }
}

operation! {
    /// Has a job attempted with the next ones that are due: see [`Engine::replay_job`].
    ReplayJob = "jobs.replay" -> JobEntry {
        /// The id of the job: 16 hexadecimal digits.
        id: String,
    }
}

impl ReplayJob {
    fn run(&self, engine: &Engine) -> Result<JobEntry> {
        engine.replay_job(&self.id)
    }
}

operation! {
    /// Removes a job that is not over: see [`Engine::cancel_job`].
    CancelJob = "jobs.cancel" -> JobEntry {
        /// The id of the job: 16 hexadecimal digits.
        id: String,
    }
}

impl CancelJob {
    fn run(&self, engine: &Engine) -> Result<JobEntry> {
        engine.cancel_job(&self.id)
    }
}

operation! {
    /// Makes the attempts that are due, for all applications of the database, as [`Engine::run_jobs`] does. Where
    /// `seconder serve` runs, it does so all the time.
    #[derive(Default)]
    RunJobs = "jobs.run" -> JobsRun {
        /// The time after which no attempt begins, in seconds, 1 to 86400. Default: 60.
        budget: Option<u64>,
    }
}

impl RunJobs {
    fn run(&self, engine: &Engine) -> Result<JobsRun> {
        match self.budget.unwrap_or(60) {
            budget @ 1..=86_400 => engine.run_jobs(Duration::from_secs(budget)),
            _ => Err(Error::invalid_argument("budget", "must be 1 to 86400")),
        }
    }
}
