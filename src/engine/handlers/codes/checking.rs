//! Checking the code of a number.

use super::super::{sandbox, verify};
use super::{CODE_CORRECT, CODE_WRONG};
use crate::Result;
use crate::calls::Done;
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::phones::Phone;
use crate::engine::model::{limits, rejections};
use crate::engine::operations::Subject;
use crate::engine::operations::addresses::WrongFromAddress;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::verify::{Barred, Factor, Match, commit, state};
use crate::engine::store::{Decided, SentCode, View};

/// The outcome of checking the code of a number.
#[derive(Clone)]
pub(in crate::engine) enum Checked {
    /// With the route by which the code was sent.
    Right(Option<String>),
    Wrong,
    NoneIsPending,
    Barred(Barred),
}

impl Checked {
    /// Notes it in the audit.
    pub(in crate::engine) fn note(&self, view: &mut View, trail: &mut Trail, noted: Noted) {
        let of = |verdict| Noted { verdict, ..noted.clone() };
        match self {
            Checked::Right(_) => trail.note(view, of(AuditVerdict::Right)),
            Checked::Wrong => trail.note(view, of(AuditVerdict::Wrong)),
            Checked::NoneIsPending => trail.refuse(of(AuditVerdict::NonePending)),
            Checked::Barred(barred) => trail.refuse(noted.barred(*barred)),
        }
    }

    /// Returns the reply.
    fn result(self, now: Now) -> Result<Done> {
        match self {
            Checked::Right(_) => Ok(Done::with_message(CODE_CORRECT)),
            Checked::Wrong => Err(rejections::verification_code_wrong(CODE_WRONG)),
            Checked::NoneIsPending => Err(rejections::no_pending_verification()),
            Checked::Barred(barred) => rejections::barred(barred, now),
        }
    }
}

impl Engine {
    /// Counts a code that was right, and returns the reply.
    pub(in crate::engine) fn reply_to_check(&self, checked: Checked, now: Now) -> Result<Done> {
        if let Checked::Right(Some(route)) = &checked {
            self.count_used(route);
        }
        checked.result(now)
    }

    /// Returns how the code of a number is checked.
    pub(in crate::engine) fn checks_of_numbers(&self, phone: &Phone) -> (bool, u32, Option<u16>) {
        let limits = &self.app.settings.limits;
        (self.is_lenient(), limits.tries, limits.counted(phone.country_code))
    }
}

/// Checks the code of a number. If `lenient`, it does so like a sandbox that accepts every number's
/// code: without waits and tries, and also if no code is pending.
pub(in crate::engine) fn check_number(
    view: &mut View,
    subject: &Subject,
    typed: &str,
    (lenient, tries, country): (bool, u32, Option<u16>),
    now: Now,
) -> Decided<Checked> {
    let Some(mut state) = state(view, subject)? else { return Ok(Checked::NoneIsPending) };
    state.country = country;
    let pending = state.codes.iter().find(|code| code.lives(now, tries));
    let lenient = lenient && (typed == sandbox::PHONE_CODE || pending.is_some());
    let Some(code) = pending else {
        return Ok(if lenient { Checked::Right(None) } else { Checked::NoneIsPending });
    };
    let (action, route) = (code.action.clone(), code.route.clone());
    let right = verify::same(code.code.get()?, typed) || lenient && typed == sandbox::PHONE_CODE;
    if lenient && !right {
        return Ok(Checked::Wrong);
    }
    let found = match right {
        true => code.used(),
        // A wrong code of any length uses up one try of the pending code.
        false => Match::Nothing { factors: vec![Factor::Code], compared: vec![action] },
    };
    Ok(match commit(view, state, &found, &WrongFromAddress::default(), now, limits::delay)? {
        Some(barred) => Checked::Barred(barred),
        None if right => Checked::Right(route),
        None => Checked::Wrong,
    })
}

impl SentCode {
    /// Returns the match of this code.
    pub(in crate::engine) fn used(&self) -> Match {
        Match::Code { action: self.action.clone(), route: self.route.clone() }
    }

    /// Returns whether it is accepted, if so many wrong tries make it void.
    pub(in crate::engine) fn lives(&self, now: Now, tries: u32) -> bool {
        // A code that would live longer than any code can was issued while the clock was wrong.
        let longest = limits::LONGEST_CODE_LIFE + limits::CLOCK_SLACK;
        let possible = self.expires_at <= now.steady.plus(longest);
        !self.spent && self.wrong_tries < tries && self.expires_at > now.steady && possible
    }

    pub(in crate::engine) fn fits(&self, typed: &str, now: Now) -> Result<bool> {
        Ok(self.expires_at > now.steady && self.code.get()?.len() == typed.len())
    }
}
