//! The end of jobs: sent, or failed permanently.

use super::super::audit::{AuditVerdict, Author, Noted, Trail};
use super::super::budgets::Sending;
use super::super::{AppId, Subject, codes, completions, limits, pushes};
use super::carried::{Notice, Outgoing, What, what};
use super::job::{DEAD, FAILED, Plan, SENT, free, unless_damaged, user_id};
use super::receipts;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::Factor;
use crate::engine::model::jobs::JobKind;
use crate::engine::model::limits::LONGEST_CODE_LIFE;
use crate::engine::store::{Application, Cell, Decided, Job, Row, SentCode, Value, View};
use crate::model::UserId;
use std::time::Duration;

/// The time for which jobs that are over can be looked at.
const KEPT_SENT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
const KEPT_DEAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Ends a job that was sent. It is kept for a while if it went by a route of an operator, who may want
/// to know its outcome.
pub(super) fn sent(
    view: &mut View,
    mut job: Job,
    provider_id: Option<String>,
    now: Now,
) -> Decided<()> {
    job.kind.count_sent(view, job.app_id, now);
    match what(&job) {
        Ok(What::Push { notice: Notice::Request(uuid), .. }) => {
            pushes::accepted(view, user_id(&job), &uuid)?;
        }
        // The row of the code has the route already by which the first attempt was to go.
        Ok(What::Message { code: Some(code), .. }) if job.epoch > 1 => {
            let key = (job.subject.clone(), job.action.clone());
            codes::went_by(view, key, &code, &job.route)?;
        }
        _ => {}
    }
    let Some(provider_id) = provider_id else {
        note_ambiguous(view, &job, now);
        view.delete(&job);
        return Ok(());
    };
    job.payload = "{}".into();
    job.lane = SENT.to_owned();
    job.ended_at = Some(now.steady);
    free(&mut job, now.steady.plus(KEPT_SENT));
    job.provider_id = Some(provider_id);
    receipts::expect(view, &mut job, now)?;
    view.put(job);
    Ok(())
}

/// The reason why something was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undelivered {
    /// There was no time left for another attempt.
    Expired,
    /// The recipient's service said that no attempt will succeed.
    Rejected,
    /// The provider refuses the number.
    NumberRefused,
    Cancelled,
    /// It is unknown whether it was sent: no attempt said so.
    Ambiguous,
    /// The payload cannot be read.
    Unreadable,
    /// Its code was used, replaced, or guessed at too often, or its application no longer sends
    /// SMS.
    Void,
    /// The provider has accepted it, and reported later that it did not arrive.
    Undeliverable,
}

/// Returns the name of the reason in the audit.
fn reason(why: Undelivered) -> &'static str {
    match why {
        Undelivered::Expired => "expired",
        Undelivered::Rejected => "rejected",
        Undelivered::NumberRefused => "number_refused",
        Undelivered::Cancelled => "cancelled",
        Undelivered::Ambiguous => "ambiguous",
        Undelivered::Unreadable => "unreadable",
        Undelivered::Void => "void",
        Undelivered::Undeliverable => "undeliverable",
    }
}

/// Ends a job that failed permanently. Its payload is kept as long as it can be replayed.
pub(super) fn bury(
    view: &mut View,
    mut job: Job,
    why: Undelivered,
    plan: &Plan,
    now: Now,
) -> Decided<()> {
    give_up(view, &job, why, plan, now)?;
    job.ended_at = Some(now.steady);
    if job.kind.is_message() && job.deadline <= now.steady {
        forget_contents(view, job, now);
        return Ok(());
    }
    let (lane, until) = match job.kind {
        JobKind::Callback | JobKind::Push => (DEAD, now.steady.plus(KEPT_DEAD)),
        // No code lives longer, unless it was made while the clock was wrong.
        _ => (FAILED, job.deadline.min(now.steady.plus(LONGEST_CODE_LIFE))),
    };
    job.lane = lane.to_owned();
    free(&mut job, until);
    view.put(job);
    Ok(())
}

/// Gives up a job. A message that reached no phone does not count, and the next one need not wait.
/// One that may have reached a phone does count: otherwise, a caller who makes attempts fail would
/// have no limits.
pub(super) fn give_up(
    view: &mut View,
    job: &Job,
    why: Undelivered,
    plan: &Plan,
    now: Now,
) -> Decided<()> {
    if let (Ok(What::Message { message, code }), 0) = (what(job), job.ambiguous) {
        // If a row is damaged, nothing is taken back.
        if code.is_some() {
            drop(unless_damaged(take_back_code(view, job))?);
        }
        let sending = unless_damaged(sending(view, job, message, plan, job.created_at))?;
        if let Ok(Some(sending)) = sending {
            if job.kind.has_code() {
                let is_new = match Subject::user_of(&job.subject) {
                    Some(user_id) => {
                        completions::is_new(view, &Subject::User(job.app_id, user_id))?
                    }
                    None => true,
                };
                completions::take_back(view, &sending, is_new)?;
            }
            drop(unless_damaged(sending.take_back(view))?);
        }
    }
    note(view, job, why, plan.author.clone(), now);
    Ok(())
}

/// Removes the data of a failed message that only a replay needs, once that is no longer possible.
pub(in crate::engine) fn forget_contents(view: &mut View, mut job: Job, now: Now) {
    let ended_at = job.ended_at.unwrap_or(now.steady);
    job.payload = "{}".into();
    job.lane = DEAD.to_owned();
    free(&mut job, ended_at.plus(KEPT_DEAD));
    view.put(job);
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

/// Returns the message of a job, as it is counted at a time; `None` if it is not counted.
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
        verifies_number: Subject::user_of(&job.subject).is_none(),
        limits: Some(limits(&app)?),
        now,
    }))
}

/// Removes a message that is no longer needed. A message that may have been sent was perhaps the
/// one that the user got.
pub(super) fn drop_void(view: &mut View, job: &Job, now: Now) {
    match job.ambiguous {
        0 => note(view, job, Undelivered::Void, Author::default(), now),
        _ => note_ambiguous(view, job, now),
    }
    view.delete(job);
}

/// Notes how many attempts may have sent a message, whose count goes now.
pub(super) fn note_ambiguous(view: &mut View, job: &Job, now: Now) {
    if job.kind.is_message() && job.ambiguous > 0 {
        let noted = Noted { verdict: AuditVerdict::MaybeSent, ..Noted::default() };
        let mut concerned = Concerned::by(job);
        // Another row may say of the same job, at the same time, that it was not delivered.
        concerned.job_id ^= 1;
        concerned.note(view, noted, job.ambiguous, Author::default(), now);
    }
}

/// Removes a job whose values cannot be read as a row.
pub(super) fn discard(view: &mut View, values: &[Value], now: Now) {
    let value = |name| Job::SCHEMA.place(Some(name)).and_then(|place| values.get(place)).cloned();
    let subject = value("subject").and_then(String::of);
    // Otherwise there is no audit that it belongs to.
    if let Some(app) = value("app_id").and_then(i64::of) {
        let concerned = Concerned {
            app,
            job_id: value("job_id").and_then(i64::of).unwrap_or_default(),
            kind: value("kind").and_then(JobKind::of),
            user_id: subject.and_then(|subject| Subject::user_of(&subject)),
            number: value("number").and_then(String::of),
            user_ip: None,
            call: None,
        };
        concerned.note(view, not_delivered(Undelivered::Unreadable), 1, Author::default(), now);
    }
    view.delete_values::<Job>(values);
}

pub(super) fn note(view: &mut View, job: &Job, why: Undelivered, author: Author, now: Now) {
    Concerned::by(job).note(view, not_delivered(why), 1, author, now);
}

fn not_delivered(why: Undelivered) -> Noted {
    Noted { verdict: AuditVerdict::NotDelivered, ..Noted::default() }.because(Some(reason(why)))
}

/// The fields of an audit entry about a job, without its outcome.
struct Concerned {
    app: AppId,
    /// Random, so it distinguishes the row from others.
    job_id: i64,
    kind: Option<JobKind>,
    user_id: Option<UserId>,
    number: Option<String>,
    user_ip: Option<String>,
    /// The call that it is about, if the kind of job does not say that.
    call: Option<&'static str>,
}

impl Concerned {
    fn by(job: &Job) -> Concerned {
        let (user_ip, call) = match what(job) {
            Ok(What::Message { message, .. }) => (message.user_ip, None),
            Ok(What::Push { notice: Notice::Device, .. }) => (None, Some("register_device")),
            Ok(What::Push { notice: Notice::Number, .. }) => (None, Some("set_number")),
            _ => (None, None),
        };
        Concerned {
            app: job.app_id,
            job_id: job.job_id,
            kind: Some(job.kind),
            user_id: user_id(job),
            number: job.number.clone(),
            user_ip,
            call,
        }
    }

    fn note(self, view: &mut View, noted: Noted, times: u32, author: Author, now: Now) {
        let has_user = self.user_id.is_some();
        let of_kind = || self.kind.map_or("run_jobs", |kind| kind.call(has_user));
        let call = self.call.unwrap_or_else(of_kind);
        let (app, nonce, user_ip) = (self.app, self.job_id, self.user_ip);
        let trail = Trail { app, call, nonce, user_ip, author, now, refused: None };
        let is_code = self.kind.is_some_and(JobKind::has_code);
        let noted = Noted {
            user_id: self.user_id,
            factors: is_code.then_some(Factor::Code).into_iter().collect(),
            number: self.number,
            ..noted
        };
        trail.write(view, noted, times);
    }
}
