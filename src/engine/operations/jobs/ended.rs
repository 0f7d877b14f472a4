//! What becomes of a job that is over.

use super::super::audit::{Noted, Trail};
use super::super::budgets::Sending;
use super::super::verify::Factor;
use super::super::{applications, count};
use super::{DEAD, Outgoing, Plan, SENT, What, what};
use crate::engine::clock::{Now, Time};
use crate::engine::store::{Application, Decided, Job, SentCode, View};
use crate::model::UserId;
use std::time::Duration;

/// For how long jobs that are over can be looked at.
const KEPT_SENT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
const KEPT_DEAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Ends a job that was sent. It is kept for a while if it went by a route of an operator, who may want
/// to know what became of it.
pub(super) fn sent(view: &mut View, mut job: Job, provider_id: Option<String>, now: Now) {
    match &*job.kind {
        "callback" => {}
        "calls" => count(view, job.app_id, now, |counted| counted.calls += 1),
        _ => count(view, job.app_id, now, |counted| counted.sms += 1),
    }
    if provider_id.is_none() {
        return view.delete(&job);
    }
    end(&mut job, SENT, now.steady.plus(KEPT_SENT));
    job.provider_id = provider_id;
    job.payload = "{}".into();
    view.put(job);
}

/// Ends a job that failed for good. A message that reached nobody does not count, and the next one need
/// not wait.
pub(super) fn bury(view: &mut View, mut job: Job, plan: &Plan, now: Now) -> Decided<()> {
    if let Ok(What::Message { message, code }) = what(&job) {
        if code.is_some() {
            take_back_code(view, &job)?;
        }
        take_back(view, &job, message, plan)?;
        note(view, &job, now);
    }
    end(&mut job, DEAD, now.steady.plus(KEPT_DEAD));
    view.put(job);
    Ok(())
}

fn end(job: &mut Job, lane: &str, forget_at: Time) {
    job.lane = lane.to_owned();
    job.due_at = forget_at;
    job.epoch += 1;
}

fn take_back_code(view: &mut View, job: &Job) -> Decided<()> {
    let code = view.get::<SentCode>((job.subject.clone(), job.action.clone()))?;
    let Some(mut code) = code else { return Ok(()) };
    let sent_at = if job.kind == "calls" { &mut code.call_at } else { &mut code.sms_at };
    if *sent_at == job.created_at {
        *sent_at = Time(0);
        code.sends = code.sends.saturating_sub(1);
        view.put(code);
    }
    Ok(())
}

fn take_back(view: &mut View, job: &Job, message: Outgoing, plan: &Plan) -> Decided<()> {
    let Some(app) = view.get::<Application>((job.app_id,))?.filter(|_| plan.limited) else {
        return Ok(());
    };
    let sending = Sending {
        app: job.app_id,
        number: message.to,
        country: message.country,
        network: message.network,
        limits: Some(applications::limits(&app)?),
        now: job.created_at,
    };
    sending.take_back(view)
}

/// What the audit says of a message that nobody got. The id of the job is random, so it distinguishes
/// the row from others.
fn note(view: &mut View, job: &Job, now: Now) {
    let user_id = job.subject.strip_prefix("user:").and_then(|id| id.parse::<UserId>().ok());
    let call = match (&*job.kind, user_id) {
        ("welcome", _) => "create_user",
        (_, None) => "start_phone_verification",
        ("calls", _) => "request_call",
        _ => "request_sms",
    };
    let (app, nonce) = (job.app_id, job.job_id);
    let trail = Trail { app, call, nonce, user_ip: None, now, refused: None };
    let is_code = job.kind != "welcome";
    let noted = Noted {
        user_id,
        verdict: "not_delivered",
        factors: is_code.then_some(Factor::Code).into_iter().collect(),
        number: job.number.clone(),
        ..Noted::default()
    };
    trail.note(view, noted);
}
