//! The kinds and states of jobs.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The kind of message or callback that a job sends, in the order of the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum JobKind {
    /// The response to an approval request, to the application.
    Callback,
    /// A code, by voice.
    Call,
    /// A push message, to a device.
    Push,
    /// A code, as a text.
    Sms,
    /// The install message to a new user, as a text.
    Welcome,
}

impl JobKind {
    /// All of them.
    pub const ALL: [JobKind; 5] =
        [JobKind::Callback, JobKind::Call, JobKind::Push, JobKind::Sms, JobKind::Welcome];

    /// Returns its name: `sms`, `calls`, `welcome`, `callback` or `push`.
    pub fn name(self) -> &'static str {
        match self {
            JobKind::Sms => "sms",
            JobKind::Call => "calls",
            JobKind::Welcome => "welcome",
            JobKind::Callback => "callback",
            JobKind::Push => "push",
        }
    }
}

impl FromStr for JobKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<JobKind> {
        JobKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::invalid_argument("kind", "must be sms, calls, welcome, callback or push")
        })
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::model::serde_by!(from_text, serialize_str(name): JobKind);

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum JobState {
    /// It waits for an attempt, the first one or another.
    Waiting,
    /// An attempt is in progress, or was when its process was killed a moment ago.
    Leased,
    /// It was sent.
    Sent,
    /// It failed permanently.
    Failed,
}

impl JobState {
    /// All of them.
    pub const ALL: [JobState; 4] =
        [JobState::Waiting, JobState::Leased, JobState::Failed, JobState::Sent];

    /// Returns its name: `waiting`, `leased`, `sent` or `failed`.
    pub fn name(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Leased => "leased",
            JobState::Sent => "sent",
            JobState::Failed => "failed",
        }
    }
}

impl FromStr for JobState {
    type Err = Error;

    fn from_str(name: &str) -> Result<JobState> {
        JobState::ALL.into_iter().find(|state| state.name() == name).ok_or_else(|| {
            Error::invalid_argument("state", "must be waiting, leased, failed or sent")
        })
    }
}

crate::model::serde_by!(from_text, serialize_str(name): JobState);

/// Returns the id of a job, as it is shown outside the engine.
pub(in crate::engine) fn shown_id(job_id: i64) -> String {
    format!("{job_id:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_by_its_own_name() {
        for kind in JobKind::ALL {
            assert_eq!(kind.name().parse::<JobKind>().unwrap(), kind);
        }
        let error = "mail".parse::<JobKind>().unwrap_err().to_string();
        assert!(error.contains("must be sms, calls, welcome, callback or push"), "{error}");
    }
}
