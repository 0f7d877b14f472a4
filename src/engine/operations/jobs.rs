//! Jobs: the messages to phones and the callbacks that the engine has to send. A job is a row that is written in the
//! transaction that causes it. It is leased before each attempt, in a transaction too, and the outcome of the attempt
//! is written in another one: nothing is sent inside a transaction.
//!
//! The `lane` of a job is the route by which it goes next, and each lane has a queue of its own, so that a route that
//! hangs holds up no other. `due_at` is the time at which the job has to be looked at: when it can be attempted again;
//! after a lease, when it is believed that no attempt is in progress; and once it is over, when it is forgotten.

mod carried;
mod ended;
mod kind;
mod known;
mod managing;
mod next;
mod reading;
mod receipts;

use super::audit::Author;
use super::{AppId, Subject, codes, pushes, user};
use crate::engine::delivery::Outcome;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::JobKind;
use crate::engine::store::{Application, Decided, Due, Job, SentCode, Stop, View};
use crate::model::UserId;
use ended::{Undelivered, bury, discard, drop_void, sent};
use next::{next_callback, next_message, next_push};
use std::time::Duration;

pub(in crate::engine) use carried::{Notice, Outgoing, What, what};
pub(in crate::engine) use ended::forget_contents;
pub(in crate::engine) use managing::{Refused, cancel, replay};
pub(in crate::engine) use reading::{earliest, lane_before, read, read_of_user, state};
pub(in crate::engine) use receipts::{delete_all, receipt};

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
const ERROR_LENGTH: usize = 200;

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

/// Jobs that were leased.
pub(in crate::engine) struct Leased {
    pub(in crate::engine) claimed: Vec<Claimed>,
    /// The number of jobs looked at: as many as were asked for, if more are due.
    pub(in crate::engine) due: usize,
}

/// Leases jobs of a lane that are due, and at most so many. Jobs that must no longer be sent end
/// here: a code is not sent once it is void. Damaged data ends only the job that needs it.
pub(in crate::engine) fn claim(
    view: &mut View,
    lane: &str,
    most: u32,
    plan: &Plan,
    now: Now,
) -> Decided<Leased> {
    let due = Due::until(now.steady, most).of(lane.to_owned());
    let (jobs, unreadable) = view.due::<Job>(&due)?;
    for job in &jobs {
        // Together, or each of them would restart the decision.
        view.ask::<SentCode>((job.subject.clone(), job.action.clone()));
        view.ask::<Application>((job.app_id,));
    }
    let mut leased = Leased { claimed: Vec::new(), due: jobs.len() + unreadable.len() };
    for values in unreadable {
        discard(view, &values, now);
    }
    for mut job in jobs {
        if job.leased {
            // The process that attempted it was killed, or never reported the outcome.
            was_ambiguous(&mut job);
        }
        if job.deadline <= now.steady {
            bury(view, job, Undelivered::Expired, plan, now)?;
            continue;
        }
        let wanted = match what(&job) {
            Ok(what) => {
                let wanted = unless_damaged(is_wanted(view, &job, &what, now))?;
                wanted.map(|wanted| wanted.then_some(what))
            }
            Err(error) => Err(error),
        };
        match wanted {
            Ok(Some(what)) => {
                lease(&mut job, plan, now);
                leased.claimed.push(claimed(&job, what, plan.lease));
                view.put(job);
            }
            Ok(None) => drop_void(view, &job, now),
            Err(error) => {
                job.last_error = Some(error.to_string());
                bury(view, job, Undelivered::Unreadable, plan, now)?;
            }
        }
    }
    Ok(leased)
}

/// Ends jobs of a lane whose time is over, and at most so many. Returns how many.
pub(in crate::engine) fn bury_expired(
    view: &mut View,
    lane: &str,
    most: u32,
    now: Now,
) -> Decided<u32> {
    if most == 0 {
        return Ok(0);
    }
    let (jobs, unreadable) = view.due::<Job>(&Due::until(now.steady, most).of(lane.to_owned()))?;
    let plan = Plan {
        routes: Vec::new(),
        lease: Duration::ZERO,
        limited: true,
        author: Author::default(),
    };
    let mut buried = 0;
    for values in unreadable {
        discard(view, &values, now);
        buried += 1;
    }
    for mut job in jobs.into_iter().filter(|job| job.deadline <= now.steady) {
        if job.leased {
            was_ambiguous(&mut job);
        }
        bury(view, job, Undelivered::Expired, &plan, now)?;
        buried += 1;
    }
    Ok(buried)
}

/// Returns whether a job that was leased a while ago is still to be sent.
pub(in crate::engine) fn is_still_wanted(
    view: &mut View,
    lease: &Lease,
    now: Now,
) -> Decided<bool> {
    match leased(view, lease)? {
        Some(job) => {
            let what = what(&job)?;
            is_wanted(view, &job, &what, now)
        }
        None => Ok(false),
    }
}

/// An attempt whose outcome is not known has ended.
fn was_ambiguous(job: &mut Job) {
    job.attempts = job.attempts.saturating_add(1);
    job.ambiguous = job.ambiguous.saturating_add(1);
    job.ambiguous_here = job.ambiguous_here.saturating_add(1);
}

/// Turns damaged data into an error of its own, which does not fail the whole decision.
fn unless_damaged<T>(decided: Decided<T>) -> Decided<crate::Result<T>> {
    match decided {
        Ok(decided) => Ok(Ok(decided)),
        Err(Stop::Failed(error)) => Ok(Err(error)),
        Err(Stop::Missing) => Err(Stop::Missing),
    }
}

/// Gives jobs back that were leased and not attempted.
pub(in crate::engine) fn release(view: &mut View, lease: &Lease, now: Now) -> Decided<()> {
    let Some(mut job) = leased(view, lease)? else { return Ok(()) };
    free(&mut job, now.steady);
    view.put(job);
    Ok(())
}

/// Stores the outcome of an attempt, and decides on the next step.
pub(in crate::engine) fn finish(
    view: &mut View,
    lease: &Lease,
    outcome: &Outcome,
    plan: &Plan,
    now: Now,
) -> Decided<Ended> {
    let Some(mut job) = leased(view, lease)? else { return Ok(Ended::Stale) };
    job.last_error = error(outcome).or(job.last_error);
    match outcome {
        Outcome::Ambiguous(_) => was_ambiguous(&mut job),
        Outcome::NotAttempted { .. } => {}
        _ => job.attempts = job.attempts.saturating_add(1),
    }
    let is_message = job.kind.is_message();
    let next = match outcome {
        Outcome::Sent(id) => {
            sent(view, job, id.clone(), now)?;
            return Ok(Ended::Sent);
        }
        Outcome::Permanent(_) if !is_message => None,
        _ if job.kind == JobKind::Callback => next_callback(&job, outcome, now),
        _ if job.kind == JobKind::Push => Some(next_push(&job, outcome, now)),
        _ => next_message(&mut job, outcome, plan, now),
    };
    let Some(due_at) = next.filter(|due_at| *due_at < job.deadline) else {
        // A message has another attempt as long as a route is left, and a callback as its schedule says.
        let why = match (next, outcome) {
            // An earlier attempt may have sent it, even if the last one failed.
            (None, _) if is_message && job.ambiguous > 0 => Undelivered::Ambiguous,
            (None, Outcome::NumberRefused(_)) => Undelivered::NumberRefused,
            (None, Outcome::Permanent(_)) => Undelivered::Rejected,
            (None, _) if is_message => Undelivered::Rejected,
            _ => Undelivered::Expired,
        };
        bury(view, job, why, plan, now)?;
        return Ok(Ended::Failed);
    };
    if due_at > now.steady {
        free(&mut job, due_at);
        view.put(job);
        return Ok(Ended::Waits);
    }
    let what = what(&job)?;
    if !is_wanted(view, &job, &what, now)? {
        drop_void(view, &job, now);
        return Ok(Ended::Stale);
    }
    self::lease(&mut job, plan, now);
    let claimed = claimed(&job, what, plan.lease);
    view.put(job);
    Ok(Ended::Again(Box::new(claimed)))
}

/// Returns the job, unless another attempt was begun meanwhile, or it is over.
fn leased(view: &mut View, lease: &Lease) -> Decided<Option<Job>> {
    let job = view.get::<Job>((lease.subject.clone(), lease.job_id))?;
    Ok(job.filter(|job| job.epoch == lease.epoch && !is_over(&job.lane)))
}

fn lease(job: &mut Job, plan: &Plan, now: Now) {
    job.epoch += 1;
    job.route.clone_from(&job.lane);
    job.leased = true;
    job.due_at = now.steady.plus(plan.lease);
}

/// Frees a job: it is leased by no process from now on, and earlier leases no longer decide.
fn free(job: &mut Job, due_at: Time) {
    job.epoch += 1;
    job.leased = false;
    job.due_at = due_at;
}

fn claimed(job: &Job, what: What, leased_for: Duration) -> Claimed {
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

/// Returns whether the payload of a job is still of use. Once an application no longer sends SMS, waiting ones are not
/// sent either, no message to a user whom an operator has locked, and none to a number that the user no longer has.
fn is_wanted(view: &mut View, job: &Job, what: &What, now: Now) -> Decided<bool> {
    if matches!(what, What::Message { message, .. } if !message.by_voice)
        && view.get::<Application>((job.app_id,))?.is_some_and(|app| !app.sms_enabled)
    {
        return Ok(false);
    }
    if !matches!(what, What::Callback { .. })
        && let Some(user_id) = user_id(job)
        && let Some(user) = user(view, job.app_id, user_id)?
    {
        let number = user.phone().map(|phone| phone.e164());
        let is_former = |what: &What| matches!(what, What::Message { message, .. } if Some(&message.to) != number.as_ref());
        if user.locked_at.is_some() || is_former(what) {
            return Ok(false);
        }
    }
    let carried = match what {
        What::Message { code: Some(carried), .. } => carried,
        What::Message { .. } | What::Callback { .. } => return Ok(true),
        What::Push { device, notice } => {
            return pushes::is_wanted(view, user_id(job), *device, notice.request(), now);
        }
    };
    let key = (job.subject.clone(), job.action.clone());
    codes::is_code(view, key, job.app_id, carried, now)
}

fn error(outcome: &Outcome) -> Option<String> {
    Some(outcome.reason()?.chars().take(ERROR_LENGTH).collect())
}
