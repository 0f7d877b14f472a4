//! Jobs: the messages to phones and the callbacks that the engine has to send. A job is a row that is written in the
//! transaction that causes it. It is leased before each attempt, in a transaction too, and the outcome of the attempt
//! is written in another one: nothing is sent inside a transaction.
//!
//! The `lane` of a job is the route by which it goes next, and each lane has a queue of its own, so that a route that
//! hangs holds up no other. `due_at` is the time at which the job has to be looked at: when it can be attempted again;
//! after a lease, when it is believed that no attempt is in progress; and once it is over, when it is forgotten.

pub(super) mod carried;
mod ended;
pub(super) mod job;
mod kind;
mod known;
mod managing;
mod next;
mod reading;
mod receipts;
mod wanted;

use super::AppId;
use super::audit::Author;
use crate::engine::delivery::Outcome;
use crate::engine::model::clock::Now;
use crate::engine::model::jobs::JobKind;
use crate::engine::store::{Application, Decided, Due, Job, SentCode, View};
use ended::{Undelivered, bury, discard, drop_void, sent};
use job::{claimed, error, free, lease, leased, unless_damaged, was_ambiguous};
use next::{next_callback, next_message, next_push};
use std::time::Duration;
use wanted::is_wanted;

pub(in crate::engine) use carried::{Notice, Outgoing, What, what};
pub(in crate::engine) use ended::forget_contents;
pub(in crate::engine) use job::{
    CALLBACKS, Claimed, DEAD, Ended, FAILED, Lease, PUSHES, Plan, SENT, callbacks, is_over, user_id,
};
pub(in crate::engine) use managing::{Refused, cancel, replay};
pub(in crate::engine) use reading::{earliest, lane_before, read, read_of_user, state};
pub(in crate::engine) use receipts::{delete_all, receipt};

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
