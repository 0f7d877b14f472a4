//! A job: its lanes, its lease, and how it is added.

use super::super::audit::Author;
use super::super::{AppId, Subject};
use super::carried::What;
use crate::engine::delivery::Outcome;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::JobKind;
use crate::engine::store::{Decided, Job, Stop, View};
use crate::model::UserId;
use std::time::Duration;

/// The lane of jobs that were sent and are kept for a while.
pub(in crate::engine) const SENT: &str = "sent";
/// The lane of messages that failed permanently, as long as they can be replayed.
pub(in crate::engine) const FAILED: &str = "failed";
/// The lane of jobs that failed permanently.
pub(in crate::engine) const DEAD: &str = "dead";
/// The prefix of the lanes of callbacks. No route has such a name.
pub(in crate::engine) const CALLBACKS: &str = "callbacks:";
/// The lane of push messages. No route has such a name.
pub(in crate::engine) const PUSHES: &str = "push:";
/// The number of characters of an error that are kept.
pub(super) const ERROR_LENGTH: usize = 200;

/// Returns the lane of an application's callbacks: a receiver that hangs holds up no other.
pub(in crate::engine) fn callbacks(app: AppId) -> String {
    format!("{CALLBACKS}{app}")
}

/// Returns whether this lane is for jobs that are over, and makes no more attempts.
pub(in crate::engine) fn is_over(lane: &str) -> bool {
    [SENT, FAILED, DEAD].contains(&lane)
}

/// The right to make one attempt, and to report its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Lease {
    pub(in crate::engine) subject: String,
    pub(in crate::engine) job_id: i64,
    epoch: u32,
}

/// A job that was leased.
#[derive(Clone)]
pub(in crate::engine) struct Claimed {
    pub(in crate::engine) lease: Lease,
    pub(in crate::engine) lane: String,
    pub(in crate::engine) kind: JobKind,
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) deadline: Time,
    /// The end of the lease, and its length: twice the time that an attempt takes.
    pub(in crate::engine) until: Time,
    pub(in crate::engine) leased_for: Duration,
    pub(in crate::engine) what: What,
}

/// A job to add, whose first attempt follows at once.
pub(in crate::engine) struct NewJob<'a> {
    pub(in crate::engine) subject: &'a Subject,
    pub(in crate::engine) job_id: i64,
    pub(in crate::engine) kind: JobKind,
    pub(in crate::engine) action: &'a str,
    pub(in crate::engine) what: What,
    pub(in crate::engine) lane: String,
    pub(in crate::engine) lease: Duration,
    pub(in crate::engine) deadline: Time,
    pub(in crate::engine) now: Now,
}

/// The plan that decides about further attempts.
#[derive(Clone)]
pub(in crate::engine) struct Plan {
    /// The routes that a message may take, the preferred one first.
    pub(in crate::engine) routes: Vec<String>,
    /// The time that an attempt may take, with some time to spare.
    pub(in crate::engine) lease: Duration,
    /// True if messages are counted.
    pub(in crate::engine) limited: bool,
    pub(in crate::engine) author: Author,
}

/// The outcome for a job after an attempt.
pub(in crate::engine) enum Ended {
    Sent,
    /// It waits for another attempt.
    Waits,
    /// It is leased again for an attempt by another route, at once.
    Again(Box<Claimed>),
    /// It failed permanently.
    Failed,
    /// The attempt of this lease no longer decides: another one was begun, or there is nothing left
    /// to send.
    Stale,
}

/// Adds a job, and leases it.
pub(in crate::engine) fn add(view: &mut View, new: NewJob<'_>) -> Decided<Claimed> {
    let payload = new.what.sealed()?;
    let number = match &new.what {
        What::Message { message, .. } => Some(message.masked.clone()),
        What::Callback { .. } | What::Push { .. } => None,
    };
    let job = Job {
        subject: new.subject.key(),
        job_id: new.job_id,
        app_id: new.subject.app(),
        kind: new.kind,
        action: new.action.to_owned(),
        payload,
        number,
        route: new.lane.clone(),
        lane: new.lane,
        leased: true,
        due_at: new.now.steady.plus(new.lease),
        deadline: new.deadline,
        created_at: new.now.steady,
        ended_at: None,
        attempts: 0,
        ambiguous: 0,
        ambiguous_here: 0,
        epoch: 1,
        asked: String::new(),
        provider_id: None,
        receipt: None,
        receipt_at: None,
        last_error: None,
    };
    let claimed = claimed(&job, new.what, new.lease);
    view.append(job);
    Ok(claimed)
}

/// An attempt whose outcome is not known has ended.
pub(super) fn was_ambiguous(job: &mut Job) {
    job.attempts = job.attempts.saturating_add(1);
    job.ambiguous = job.ambiguous.saturating_add(1);
    job.ambiguous_here = job.ambiguous_here.saturating_add(1);
}

/// Turns damaged data into an error of its own, which does not fail the whole decision.
pub(super) fn unless_damaged<T>(decided: Decided<T>) -> Decided<crate::Result<T>> {
    match decided {
        Ok(decided) => Ok(Ok(decided)),
        Err(Stop::Failed(error)) => Ok(Err(error)),
        Err(Stop::Missing) => Err(Stop::Missing),
    }
}

/// Returns the job, unless another attempt was begun meanwhile, or it is over.
pub(super) fn leased(view: &mut View, lease: &Lease) -> Decided<Option<Job>> {
    let job = view.get::<Job>((lease.subject.clone(), lease.job_id))?;
    Ok(job.filter(|job| job.epoch == lease.epoch && !is_over(&job.lane)))
}

pub(super) fn lease(job: &mut Job, plan: &Plan, now: Now) {
    job.epoch += 1;
    job.route.clone_from(&job.lane);
    job.leased = true;
    job.due_at = now.steady.plus(plan.lease);
}

/// Frees a job: it is leased by no process from now on, and earlier leases no longer decide.
pub(super) fn free(job: &mut Job, due_at: Time) {
    job.epoch += 1;
    job.leased = false;
    job.due_at = due_at;
}

pub(super) fn claimed(job: &Job, what: What, leased_for: Duration) -> Claimed {
    Claimed {
        lease: Lease { subject: job.subject.clone(), job_id: job.job_id, epoch: job.epoch },
        lane: job.lane.clone(),
        kind: job.kind,
        app: job.app_id,
        deadline: job.deadline,
        until: job.due_at,
        leased_for,
        what,
    }
}

/// Returns the user whom it is about.
pub(in crate::engine) fn user_id(job: &Job) -> Option<UserId> {
    Subject::user_of(&job.subject)
}

pub(super) fn error(outcome: &Outcome) -> Option<String> {
    Some(outcome.reason()?.chars().take(ERROR_LENGTH).collect())
}
