//! Operations on jobs by an operator: replay and cancel.

use super::super::audit::{AuditVerdict, Noted, Trail};
use super::super::budgets::Over;
use super::carried::{Outgoing, What, what};
use super::ended::{Undelivered, give_up, note_ambiguous, sending};
use super::job::{PUSHES, Plan, callbacks, free, user_id};
use super::reading::state;
use super::wanted::is_wanted;
use crate::engine::model::clock::Now;
use crate::engine::model::jobs::JobKind;
use crate::engine::model::jobs::JobState;
use crate::engine::model::limits::CALLBACK_LIFE;
use crate::engine::store::{Decided, Job, SentCode, View};

/// The reason why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Refused {
    /// The job no longer exists.
    Gone,
    Sent,
    Failed,
    /// An attempt is in progress.
    Leased,
    /// Its payload is no longer of use.
    Void,
    Unreadable,
    /// No route takes messages to its number.
    NoRoute,
    Over(Over),
}

/// Has a job attempted at once. A failed job starts over: a message counts as one that is sent now,
/// and a callback has the time and the attempts of a new one.
pub(in crate::engine) fn replay(
    view: &mut View,
    key: &(String, i64),
    plan: &Plan,
    trail: &Trail,
    now: Now,
) -> Decided<Result<Job, Refused>> {
    let Some(mut job) = view.get::<Job>(key.clone())? else { return Ok(Err(Refused::Gone)) };
    let has_failed = match state(&job, now) {
        JobState::Sent => return Ok(Err(Refused::Sent)),
        JobState::Leased => return Ok(Err(Refused::Leased)),
        JobState::Failed => true,
        JobState::Waiting => false,
    };
    if job.kind != JobKind::Callback && job.deadline <= now.steady {
        return Ok(Err(Refused::Void));
    }
    let Ok(what) = what(&job) else { return Ok(Err(Refused::Unreadable)) };
    match &what {
        What::Callback { .. } if has_failed || job.deadline <= now.steady => {
            job.deadline = now.steady.plus(CALLBACK_LIFE);
            let lane = callbacks(job.app_id);
            begin_anew(view, &mut job, lane, now);
        }
        What::Callback { .. } => {}
        What::Message { .. } | What::Push { .. } if !is_wanted(view, &job, &what, now)? => {
            return Ok(Err(Refused::Void));
        }
        What::Message { message, code } if has_failed => {
            let Some(route) = plan.routes.first() else { return Ok(Err(Refused::NoRoute)) };
            if let Err(refused) = count_again(view, &job, message, plan, now)? {
                return Ok(Err(refused));
            }
            if code.is_some() {
                count_code(view, &job, now)?;
            }
            job.created_at = now.steady;
            begin_anew(view, &mut job, route.clone(), now);
        }
        What::Push { .. } if has_failed => begin_anew(view, &mut job, PUSHES.to_owned(), now),
        What::Message { .. } | What::Push { .. } => {}
    }
    free(&mut job, now.steady);
    let (user_id, number) = (user_id(&job), job.number.clone());
    trail.note(view, Noted { user_id, verdict: AuditVerdict::Done, number, ..Noted::default() });
    view.put(job.clone());
    Ok(Ok(job))
}

/// Removes a job that is not over, as if it had failed.
pub(in crate::engine) fn cancel(
    view: &mut View,
    key: &(String, i64),
    plan: &Plan,
    now: Now,
) -> Decided<Result<Job, Refused>> {
    let Some(job) = view.get::<Job>(key.clone())? else { return Ok(Err(Refused::Gone)) };
    match state(&job, now) {
        JobState::Sent => return Ok(Err(Refused::Sent)),
        JobState::Failed => return Ok(Err(Refused::Failed)),
        JobState::Leased | JobState::Waiting => {}
    }
    give_up(view, &job, Undelivered::Cancelled, plan, now)?;
    note_ambiguous(view, &job, now);
    view.delete(&job);
    Ok(Ok(job))
}

fn begin_anew(view: &mut View, job: &mut Job, lane: String, now: Now) {
    note_ambiguous(view, job, now);
    job.lane = lane;
    job.ended_at = None;
    job.attempts = 0;
    job.ambiguous = 0;
    job.ambiguous_here = 0;
    job.asked = String::new();
}

/// Counts a message that was taken back when it failed.
fn count_again(
    view: &mut View,
    job: &Job,
    message: &Outgoing,
    plan: &Plan,
    now: Now,
) -> Decided<Result<(), Refused>> {
    let sending = sending(view, job, message.clone(), plan, now.steady)?;
    match sending {
        Some(sending) => Ok(sending.spend(view)?.map(drop).map_err(Refused::Over)),
        None => Ok(Ok(())),
    }
}

fn count_code(view: &mut View, job: &Job, now: Now) -> Decided<()> {
    let code = view.get::<SentCode>((job.subject.clone(), job.action.clone()))?;
    if let Some(mut code) = code {
        *job.kind.sent_at(&mut code) = now.steady;
        code.sends += 1;
        view.put(code);
    }
    Ok(())
}
