//! Checking a code (interface 3.1 and 4.4).

use super::clock::Time;
use super::store::{
    Attempt, AuthenticatorRow, CodeRow, Committed, ComparedCode, Factor, Match, Subject,
    VerifyState, WrongAnswers,
};
use super::{Engine, as_written, limits, recovery, rejections};
use crate::calls::{Device, Verdict, Verification, Verify};
use crate::model::{Token, UserId};
use crate::otp::{self, Algorithm, Totp};
use crate::{Handle, Result};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

pub(super) const TOO_MANY_WRONG: &str = "Too many wrong codes";
/// How often a check starts over after a concurrent attempt changed its state. In each such round
/// another attempt was right or invalidated a code, so more rounds than codes do not occur.
const ROUNDS: u32 = 8;

/// The result of comparing a token with everything that is stored.
pub(super) enum MatchResult {
    /// The user is not confirmed yet, and nothing was compared.
    NotChecked,
    /// What to consume, and the kind of device that generated or received the code.
    Right(Match, &'static str),
    Used,
    /// What counts the token, and which codes lose a try.
    Wrong(Vec<Factor>, Vec<ComparedCode>),
    /// Every factor that the token may belong to is rate limited.
    RateLimited(Time),
}

impl Handle<Verify> for Engine {
    fn handle(&self, call: &Verify) -> Result<Verification> {
        let now = self.begin();
        if let Some(verification) = self.verify_in_sandbox(Some(&call.token), call.user_id, now)? {
            return Ok(verification);
        }
        self.check(call.user_id, now, |state| match state.confirmed || call.force {
            false => Ok(MatchResult::NotChecked),
            true if recovery::fits(&call.token) => self.match_recovery(call, now),
            true => Ok(match_factors(call, state, now)),
        })
    }

    /// A token that nobody can have been sent gets the reply of a wrong one (interface 3.1 and 4.4).
    /// It is not counted: it gives a guesser nothing, and a user who mistypes keeps the tries.
    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<Verification>> {
        let Some((user_id, force)) = as_written::without_token(params)? else { return Ok(None) };
        let now = self.begin();
        if let Some(verification) = self.verify_in_sandbox(None, user_id, now)? {
            return Ok(Some(verification));
        }
        let user = self.user(user_id)?;
        Ok(Some(match user.confirmed || force {
            true => Verification::wrong(false),
            false => verification(Verdict::NotChecked),
        }))
    }
}

impl Engine {
    /// Checks a token by `compare`, and commits the result. It starts over while concurrent attempts
    /// change what the token was compared with.
    pub(super) fn check(
        &self,
        user_id: UserId,
        now: Time,
        compare: impl Fn(&VerifyState) -> Result<MatchResult>,
    ) -> Result<Verification> {
        let subject = Subject::User(self.app.app_id, user_id);
        for _ in 0..ROUNDS {
            let state = self.store().begin_verify(subject.clone())?;
            let state = state.ok_or_else(rejections::user_not_found)?;
            let (found, verification) = match compare(&state)? {
                MatchResult::NotChecked => return Ok(verification(Verdict::NotChecked)),
                MatchResult::RateLimited(next) => {
                    return rejections::wait(TOO_MANY_WRONG, next.after(now));
                }
                MatchResult::Used => return Ok(Verification::wrong(true)),
                MatchResult::Right(found, made_with) => {
                    (found, accepted(made_with, state.created_at.unwrap_or(now)))
                }
                MatchResult::Wrong(factors, compared) => {
                    (Match::Nothing { factors, compared }, Verification::wrong(false))
                }
            };
            let by_recovery_code = matches!(found, Match::Recovery { .. });
            let attempt = Attempt {
                app: self.app.app_id,
                subject: subject.clone(),
                found,
                tries: limits::TRIES,
                delay: limits::delay,
                now,
            };
            match self.store().commit_verify(attempt)? {
                Committed::Done => {
                    if by_recovery_code {
                        self.report_recovery_code(user_id);
                    }
                    return Ok(verification);
                }
                Committed::RateLimited(next) => {
                    return rejections::wait(TOO_MANY_WRONG, next.after(now));
                }
                Committed::Changed => {}
            }
        }
        rejections::wait("Too many attempts at once", None)
    }

    /// Compares a token with the user's recovery codes. While the user has to wait, nothing is
    /// compared: the hash takes time.
    fn match_recovery(&self, call: &Verify, now: Time) -> Result<MatchResult> {
        let (rows, wrong) = self.store().recovery_codes(call.user_id)?;
        if rows.is_empty() {
            return Ok(MatchResult::Wrong(Vec::new(), Vec::new()));
        }
        if let Some(next) = wrong.wait_until(limits::delay, now) {
            return Ok(MatchResult::RateLimited(next));
        }
        Ok(match recovery::find(&call.token, &rows) {
            Some(row) if row.spent => MatchResult::Used,
            Some(row) => MatchResult::Right(recovery::used(row), Verification::RECOVERY_CODE),
            None => MatchResult::Wrong(vec![Factor::Recovery], Vec::new()),
        })
    }

    /// Reports that a code was used up, which cannot be undone if the store fails now.
    fn report_recovery_code(&self, user_id: UserId) {
        let rows = self.store().recovery_codes(user_id);
        let left = rows.map_or(0, |(rows, _)| recovery::left(&rows));
        self.shared.deliver.recovery_code_used(user_id, left);
    }
}

/// Compares a token with all codes and apps that it may belong to, by its length. Each such factor
/// that is not rate limited is tried, and counts the token if it is wrong.
fn match_factors(call: &Verify, state: &VerifyState, now: Time) -> MatchResult {
    let typed = call.token.as_str();
    let codes: Vec<_> = state.codes.iter().filter(|c| c.fits(typed, now)).collect();
    let apps: Vec<_> = state.authenticators.iter().filter(|a| a.fits(typed)).collect();
    let waits = |wrong: WrongAnswers| wrong.wait_until(limits::delay, now);
    let mut waiting = Vec::new();
    let mut tried = Vec::new();
    let mut compared = Vec::new();
    let mut used = false;
    if !codes.is_empty() {
        match waits(state.wrong_codes) {
            Some(next) => waiting.push(next),
            None => {
                tried.push(Factor::Code);
                compared.extend(codes.iter().filter(|c| c.lives(now)).map(|c| c.compared()));
                match match_codes(call, &codes, now) {
                    Some(MatchResult::Used) => used = true,
                    Some(right) => return right,
                    None => {}
                }
            }
        }
    }
    if !apps.is_empty() {
        match waits(state.wrong_authenticator_codes) {
            Some(next) => waiting.push(next),
            None => {
                tried.push(Factor::Authenticator);
                match match_apps(&call.token, &apps, now) {
                    Some(MatchResult::Used) => used = true,
                    Some(right) => return right,
                    None => {}
                }
            }
        }
    }
    match waiting.into_iter().min() {
        _ if used => MatchResult::Used,
        Some(next) if tried.is_empty() => MatchResult::RateLimited(next),
        _ => MatchResult::Wrong(tried, compared),
    }
}

/// Compares a token with codes. A code is valid only for the action that it was sent for.
fn match_codes(call: &Verify, codes: &[&CodeRow], now: Time) -> Option<MatchResult> {
    let action = call.action.as_ref().map_or("", |action| action.as_str());
    let code = codes.iter().find(|c| same(&c.code, call.token.as_str()) && c.action == action)?;
    match code.spent {
        true => Some(MatchResult::Used),
        false if code.lives(now) => Some(MatchResult::Right(Match::Code(code.compared()), "sms")),
        false => None,
    }
}

/// Compares a token with the codes of apps. These are generated without an action, so they are
/// valid for any.
pub(super) fn match_apps(
    token: &Token,
    apps: &[&AuthenticatorRow],
    now: Time,
) -> Option<MatchResult> {
    let mut used = None;
    for app in apps {
        let Ok(totp) = Totp::new(&app.secret, Algorithm::Sha1, app.digits, app.period) else {
            continue;
        };
        match totp.check(token, now.seconds(), app.last_step) {
            otp::Match::Step(step) if app.used_after.contains(&step) => {
                used = Some(MatchResult::Used);
            }
            otp::Match::Step(step) => {
                let found = Match::Step { authenticator_id: app.authenticator_id, step };
                return Some(right_app(found));
            }
            otp::Match::Used => used = Some(MatchResult::Used),
            otp::Match::None => {}
        }
    }
    used
}

/// The result for a right code of an app.
pub(super) fn right_app(found: Match) -> MatchResult {
    MatchResult::Right(found, "authenticator")
}

/// Compares in constant time, so that the time taken does not reveal where the two differ.
pub(super) fn same(code: &str, typed: &str) -> bool {
    code.as_bytes().ct_eq(typed.as_bytes()).into()
}

fn verification(verdict: Verdict) -> Verification {
    Verification { verdict, ..Verification::default() }
}

/// The reply to a right code of a user who was enrolled then.
pub(super) fn accepted(made_with: &str, enrolled_at: Time) -> Verification {
    let device = Device {
        os_type: Some(made_with.into()),
        registration_date: i64::try_from(enrolled_at.seconds()).ok(),
        ..Device::default()
    };
    Verification { device: Some(device), ..verification(Verdict::Right) }
}

impl CodeRow {
    pub(super) fn lives(&self, now: Time) -> bool {
        // A code that would live longer than any code can was issued while the clock was wrong.
        let possible = self.expires_at <= now.plus(limits::CODE_LIFE + limits::CLOCK_SLACK);
        !self.spent && self.wrong_tries < limits::TRIES && self.expires_at > now && possible
    }

    pub(super) fn compared(&self) -> ComparedCode {
        ComparedCode { action: self.action.clone(), code: self.code.clone() }
    }

    fn fits(&self, typed: &str, now: Time) -> bool {
        self.code.len() == typed.len() && self.expires_at > now
    }
}

impl AuthenticatorRow {
    pub(super) fn fits(&self, typed: &str) -> bool {
        usize::from(self.digits) == typed.len()
    }
}
