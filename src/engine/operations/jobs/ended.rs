//! The end of jobs: what was sent, and what failed for good.

use super::super::applications;
use super::super::audit::{Noted, Trail};
use super::super::budgets::Sending;
use super::super::verify::Factor;
use super::{DEAD, Outgoing, Plan, SENT, What, free, unless_damaged, user_id, what};
use crate::engine::clock::{Now, Time};
use crate::engine::store::{Application, Decided, Job, SentCode, View};
use std::time::Duration;

/// For how long jobs that are over can be looked at.
const KEPT_SENT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
const KEPT_DEAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Ends a job that was sent. It is kept for a while if it went by a route of an operator, who may want
/// to know what became of it.
pub(super) fn sent(view: &mut View, mut job: Job, provider_id: Option<String>, now: Now) {
    job.kind.count_sent(view, job.app_id, now);
    if provider_id.is_none() {
        return view.delete(&job);
    }
    end(&mut job, SENT, now.steady.plus(KEPT_SENT));
    job.provider_id = provider_id;
    job.payload = "{}".into();
    view.put(job);
}

/// Why something was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undelivered {
    /// There was no time left for another attempt.
    Expired,
    /// Whoever was asked said that no attempt will succeed.
    Rejected,
    Cancelled,
    /// Nobody knows whether it was: no attempt said so.
    Ambiguous,
    /// What was to be sent cannot be read.
    Unreadable,
}

/// What the audit calls it.
fn reason(why: Undelivered) -> &'static str {
    match why {
        Undelivered::Expired => "expired",
        Undelivered::Rejected => "rejected",
        Undelivered::Cancelled => "cancelled",
        Undelivered::Ambiguous => "ambiguous",
        Undelivered::Unreadable => "unreadable",
    }
}

/// Ends a job that failed for good.
pub(super) fn bury(
    view: &mut View,
    mut job: Job,
    why: Undelivered,
    plan: &Plan,
    now: Now,
) -> Decided<()> {
    give_up(view, &job, why, plan, now)?;
    end(&mut job, DEAD, now.steady.plus(KEPT_DEAD));
    view.put(job);
    Ok(())
}

/// A message that reached nobody does not count, and the next one need not wait. One that may have
/// reached somebody does: otherwise, whoever makes attempts fail would have no limits.
pub(super) fn give_up(
    view: &mut View,
    job: &Job,
    why: Undelivered,
    plan: &Plan,
    now: Now,
) -> Decided<()> {
    if let (Ok(What::Message { message, code }), 0) = (what(job), job.ambiguous) {
        // Where a row is damaged, nothing is taken back.
        if code.is_some() {
            drop(unless_damaged(take_back_code(view, job))?);
        }
        let sending = unless_damaged(sending(view, job, message, plan, job.created_at))?;
        if let Ok(Some(sending)) = sending {
            drop(unless_damaged(sending.take_back(view))?);
        }
    }
    note(view, job, why, now);
    Ok(())
}

/// When a job was over, if it is.
pub(in crate::engine) fn ended_at(job: &Job) -> Option<Time> {
    match &*job.lane {
        SENT => Some(job.due_at.minus(KEPT_SENT)),
        DEAD => Some(job.due_at.minus(KEPT_DEAD)),
        _ => None,
    }
}

fn end(job: &mut Job, lane: &str, forget_at: Time) {
    job.lane = lane.to_owned();
    free(job, forget_at);
}

fn take_back_code(view: &mut View, job: &Job) -> Decided<()> {
    let code = view.get::<SentCode>((job.subject.clone(), job.action.clone()))?;
    let Some(mut code) = code else { return Ok(()) };
    let sent_at = job.kind.sent_at(&mut code);
    if *sent_at == job.created_at {
        *sent_at = Time(0);
        code.sends = code.sends.saturating_sub(1);
        view.put(code);
    }
    Ok(())
}

/// The message of a job, as it is counted at a time; none if nothing is.
pub(super) fn sending(
    view: &mut View,
    job: &Job,
    message: Outgoing,
    plan: &Plan,
    now: Time,
) -> Decided<Option<Sending>> {
    let Some(app) = view.get::<Application>((job.app_id,))?.filter(|_| plan.limited) else {
        return Ok(None);
    };
    Ok(Some(Sending {
        app: job.app_id,
        number: message.to,
        country: message.country,
        network: message.network,
        limits: Some(applications::limits(&app)?),
        now,
    }))
}

/// What the audit says of something that nobody got. The id of the job is random, so it distinguishes
/// the row from others.
fn note(view: &mut View, job: &Job, why: Undelivered, now: Now) {
    let user_id = user_id(job);
    let call = job.kind.call(user_id.is_some());
    let (app, nonce) = (job.app_id, job.job_id);
    let trail = Trail { app, call, nonce, user_ip: None, now, refused: None };
    let noted = Noted {
        user_id,
        verdict: "not_delivered",
        factors: job.kind.has_code().then_some(Factor::Code).into_iter().collect(),
        number: job.number.clone(),
        ..Noted::default()
    };
    trail.note(view, noted.because(Some(reason(why))));
}
