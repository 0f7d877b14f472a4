//! Codes by SMS and voice, and the messages that carry them.

use super::audit::{AuditVerdict, Noted};
use super::budgets::{Over, Sending};
use super::completions::{self, Paused};
use super::jobs::carried::{Outgoing, What};
use super::jobs::job::{self, Claimed, NewJob};
use super::verify::WrongAnswers;
use super::{AppId, Subject, limits, user, verifications};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::model::jobs::JobKind;
use crate::engine::model::limits::{CLOCK_SLACK, LONGEST_CODE_LIFE};
use crate::engine::store::{Application, Decided, FactorState, NumberCheck, SentCode, View};
use crate::model::ApprovalId;
use std::time::Duration;
use zeroize::Zeroizing;

#[derive(Clone)]
pub(in crate::engine) struct IssueCode {
    pub(in crate::engine) subject: Subject,
    /// Empty for a code that is not bound to an action.
    pub(in crate::engine) action: String,
    /// The code to use if there is no valid one.
    pub(in crate::engine) fresh: Zeroizing<String>,
    pub(in crate::engine) life: Duration,
    pub(in crate::engine) cool_down: Duration,
    pub(in crate::engine) sends: u32,
    pub(in crate::engine) tries: u32,
    pub(in crate::engine) message: Outgoing,
    /// The id of the job that delivers it, the route that it tries first, and for how long.
    pub(in crate::engine) job: (i64, String, Duration),
    /// The id of the verification that a new code begins, for a number.
    pub(in crate::engine) uuid: Option<ApprovalId>,
    pub(in crate::engine) now: Now,
    pub(in crate::engine) sending: Sending,
}

pub(in crate::engine) enum Issued {
    Sent {
        /// The message, for its first attempt.
        message: Box<Claimed>,
        expires_at: Time,
        /// The time at which another message for the same action by the same channel is accepted.
        next: Time,
        /// The id of the verification, for a number.
        uuid: Option<ApprovalId>,
        /// The country of the number, if this was the last code to it for a while.
        paused: Option<Paused>,
    },
    /// The user has another number than the one that the code is for, since a moment ago.
    Moved,
    /// After too many wrong codes, all codes are rejected, so no code is sent.
    Barred(Barred),
    /// A code was sent just now, for the same action and by the same channel.
    TooSoon(Time),
    /// Codes that were not used yet were sent as many times as allowed.
    TooOften(Time),
    /// Too many messages were sent altogether.
    Over(Over),
}

impl Issued {
    /// Returns the audit entry of the outcome.
    pub(in crate::engine) fn noted(&self, of: Noted) -> Noted {
        let refused =
            |over| Noted { verdict: AuditVerdict::Refused, over: Some(over), ..of.clone() };
        match self {
            Issued::Sent { .. } => Noted { verdict: AuditVerdict::Sent, ..of },
            Issued::Moved => Noted { verdict: AuditVerdict::Refused, ..of },
            Issued::Barred(barred) => of.barred(*barred),
            Issued::TooSoon(_) => refused("cool_down"),
            Issued::TooOften(_) => refused("sends"),
            Issued::Over(over) => refused(over.limit),
        }
    }
}

/// Issues a code or finds the valid one, and stores the message that carries it.
pub(in crate::engine) fn issue(view: &mut View, issue: &IssueCode) -> Decided<Issued> {
    if let Some(barred) = locked(view, issue)? {
        return Ok(Issued::Barred(barred));
    }
    // The number was read before, and a look-up may have taken seconds since: a code must not go to a former number.
    if has_moved(view, issue)? {
        return Ok(Issued::Moved);
    }
    let subject = issue.subject.key();
    delete_expired(view, issue, &subject)?;
    let (own, others): (Vec<_>, Vec<_>) = view
        .all::<SentCode>((subject.clone(),))?
        .into_iter()
        .partition(|code| code.action == issue.action);
    let present = own.into_iter().next();
    // When the messages that count now no longer count.
    let counts = |old: &&SentCode| old.sends > 0 && !old.spent;
    let own_end = present.as_ref().filter(counts).map(|old| old.expires_at);
    let (mut code, is_new) = valid_or_fresh(present, issue, subject.clone())?;
    // Messages for the other actions count too, or varying the action would flood the phone.
    let unused = || others.iter().filter(counts);
    let sent: u32 = unused().map(|other| other.sends).sum();
    let others_end = unused().map(|other| other.expires_at).min();
    let too_often = |own: u32| own.saturating_add(sent) >= issue.sends;
    let sent_at = if issue.message.by_voice { &mut code.call_at } else { &mut code.sms_at };
    let recent = *sent_at <= issue.now.steady.plus(CLOCK_SLACK) && !issue.cool_down.is_zero();
    let cool = if recent { sent_at.plus(issue.cool_down) } else { issue.now.steady };
    if too_often(code.sends) {
        return Ok(Issued::TooOften(next(cool, Some(others_end), own_end)));
    }
    if cool > issue.now.steady {
        return Ok(Issued::TooSoon(next(cool, None, own_end)));
    }
    let is_new_number = completions::is_new(view, &issue.subject)?;
    if is_new_number && let Some(over) = completions::paused(view, &issue.sending)? {
        return Ok(Issued::Over(over));
    }
    let has_place = match issue.sending.spend(view)? {
        Ok(has_place) => has_place,
        Err(over) => return Ok(Issued::Over(over)),
    };
    let paused = completions::sent(view, &issue.sending, is_new_number)?;
    *sent_at = issue.now.steady;
    code.sends += 1;
    let limit = too_often(code.sends).then_some(others_end);
    let next = next(issue.now.steady.plus(issue.cool_down), limit, Some(code.expires_at));
    // Messages to the number count also after their code has ended.
    let next = next.max(has_place);
    let uuid = verifications::begin(view, issue, is_new, code.expires_at)?;
    let (job_id, lane, lease) = issue.job.clone();
    code.route = Some(lane.clone());
    let code_sent = Some(Zeroizing::new(code.code.get()?.clone()));
    let message = job::add(
        view,
        NewJob {
            subject: &issue.subject,
            job_id,
            kind: JobKind::of_code(issue.message.by_voice),
            action: &issue.action,
            what: What::Message { message: issue.message.clone(), code: code_sent },
            lane,
            lease,
            deadline: code.expires_at,
            now: issue.now,
        },
    )?;
    let (message, expires_at) = (Box::new(message), code.expires_at);
    view.put(code);
    Ok(Issued::Sent { message, expires_at, next, uuid, paused })
}

fn has_moved(view: &mut View, issue: &IssueCode) -> Decided<bool> {
    let Subject::User(app, user_id) = &issue.subject else { return Ok(false) };
    let Some(user) = user(view, *app, *user_id)? else { return Ok(false) };
    Ok(user.phone().is_none_or(|phone| phone.e164() != issue.message.to))
}

/// Is set if no code of the subject is looked at for long. A wait of minutes may have ended before the
/// user types the code.
fn locked(view: &mut View, issue: &IssueCode) -> Decided<Option<Barred>> {
    let key = issue.subject.key();
    view.ask::<FactorState>((key.clone(),));
    let (account, locked) = match &issue.subject {
        Subject::User(app, user_id) => {
            let Some(user) = user(view, *app, *user_id)? else { return Ok(None) };
            (user.bar(), Some(Barred::Locked))
        }
        Subject::Phone(..) => {
            let check = view.get::<NumberCheck>((key.clone(),))?;
            let until = check.map(|check| check.forget_at).filter(|at| *at > issue.now.steady);
            (None, until.map(Barred::Until))
        }
    };
    let wrong = WrongAnswers::of(&view.all::<FactorState>((key,))?, Factor::Code);
    Ok(account.or(locked.filter(|_| wrong.are_too_many())))
}

/// Returns when the next message is accepted. It has to wait for the end of the cool-down and, if
/// as many were sent as are allowed, until messages for another action no longer count. Both waits
/// end with the code of its own action.
fn next(cool: Time, limit: Option<Option<Time>>, own_end: Option<Time>) -> Time {
    const NEVER: Time = Time(i64::MAX);
    let others = limit.map_or(cool, |others_end| others_end.unwrap_or(NEVER));
    others.max(cool).min(own_end.unwrap_or(NEVER))
}

/// Returns the code that is sent, and whether it is new: the present one as long as it can be
/// accepted, and after that a fresh one. The messages with a code that was not used still count, or
/// asking for codes of another length would flood a phone.
fn valid_or_fresh(
    present: Option<SentCode>,
    issue: &IssueCode,
    subject: String,
) -> Decided<(SentCode, bool)> {
    let fresh = |sends, sms_at, call_at| SentCode {
        subject,
        action: issue.action.clone(),
        code: issue.fresh.clone().into(),
        expires_at: issue.now.steady.plus(issue.life),
        sends,
        wrong_tries: 0,
        spent: false,
        sms_at,
        call_at,
        route: None,
    };
    Ok(match present {
        // After a code was used there is no cool-down: the next login may need another at once.
        None => (fresh(0, Time(0), Time(0)), true),
        Some(old) if old.spent => (fresh(0, Time(0), Time(0)), true),
        Some(old)
            if old.wrong_tries >= issue.tries || old.code.get()?.len() != issue.fresh.len() =>
        {
            (fresh(old.sends, old.sms_at, old.call_at), true)
        }
        Some(old) => (old, false),
    })
}

/// Deletes the codes of this subject that can no longer be accepted, so that they are not sent again. A code cannot be
/// accepted if it has expired, or if it would live longer than any code can: it was issued while the clock was wrong. A
/// code that lives longer than new ones was issued before the application shortened their life.
fn delete_expired(view: &mut View, issue: &IssueCode, subject: &str) -> Decided<()> {
    let end = issue.now.steady.plus(LONGEST_CODE_LIFE + CLOCK_SLACK);
    for code in view.all::<SentCode>((subject.to_owned(),))? {
        if code.expires_at <= issue.now.steady || code.expires_at > end {
            view.delete(&code);
        }
    }
    Ok(())
}

/// Notes that a code went by another route than the one that was tried first.
pub(in crate::engine) fn went_by(
    view: &mut View,
    key: (String, String),
    carried: &str,
    route: &str,
) -> Decided<()> {
    if let Some(mut code) = view.get::<SentCode>(key)?
        && code.route.as_deref() != Some(route)
        && code.code.get().is_ok_and(|code| code == carried)
    {
        code.route = Some(route.to_owned());
        view.put(code);
    }
    Ok(())
}

/// Returns whether the code of this key is this one, and can still be used.
pub(in crate::engine) fn is_code(
    view: &mut View,
    key: (String, String),
    app_id: AppId,
    carried: &str,
    now: Now,
) -> Decided<bool> {
    let Some(code) = view.get::<SentCode>(key)? else { return Ok(false) };
    let tries = match view.get::<Application>((app_id,))? {
        Some(app) => limits(&app)?.tries,
        None => return Ok(false),
    };
    Ok(code.lives(now, tries) && code.code.get()? == carried)
}

#[cfg(test)]
mod tests;
