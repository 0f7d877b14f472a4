//! Checking a code (interface 3.1 and 4.4).

use super::recovery;
use crate::calls::{Device, Verdict, Verification, Verify};
use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::{self, Limits};
use crate::engine::model::{as_written, rejections};
use crate::engine::operations::addresses::WrongFromAddress;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::verify::{
    Barred, EnrolledApp, Factor, Match, VerifyState, commit, state,
};
use crate::engine::operations::{Subject, recovery as recovery_codes};
use crate::engine::store::View;
use crate::engine::store::{self, Authenticator, Decided, RecoveryCode, SentCode};
use crate::model::{Token, UserId};
use crate::{Handle, Result, otp};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

/// The number of times that a check of a recovery code starts over after the set was replaced
/// meanwhile.
const ROUNDS: u32 = 8;
/// The audit reason of a token with a length that no factor of the user has.
const NONE_TO_COMPARE: &str = "none_to_compare";

/// The result of comparing a token with everything that is stored.
pub(in crate::engine) enum MatchResult {
    /// The user is not confirmed yet, and nothing was compared.
    NotChecked,
    /// The match to consume, and the kind of device that generated or received the code.
    Right(Match, &'static str),
    Used,
    /// The factors that count the token, the actions whose codes lose a try, and the reason for the
    /// audit.
    Wrong(Vec<Factor>, Vec<String>, Option<&'static str>),
    /// No code is looked at of any factor that the token may belong to.
    Barred(Barred),
}

/// The outcome of a check.
enum Checked {
    NoUser,
    /// With the route of a code that was used.
    Done(Box<Verification>, Option<String>),
    /// Nothing is counted, so it could be asked for without end.
    Uncounted(Box<Verification>),
    Barred(Barred),
}

impl Checked {
    /// Returns an uncounted outcome, whose refusal the trail notes.
    fn uncounted(trail: &mut Trail, noted: Noted, verification: Verification) -> Checked {
        trail.refuse(noted);
        Checked::Uncounted(Box::new(verification))
    }

    fn barred(trail: &mut Trail, user_id: UserId, barred: Barred) -> Checked {
        trail.refuse(Noted::of(user_id, AuditVerdict::Unset).barred(barred));
        Checked::Barred(barred)
    }

    /// Returns the outcome of a committed match.
    fn committed(
        view: &mut View,
        trail: &mut Trail,
        (user_id, found, reason): (UserId, &Match, Option<&str>),
        verification: Verification,
        barred: Option<Barred>,
    ) -> Checked {
        let factors = found.factors();
        if let Some(barred) = barred {
            return Checked::barred(trail, user_id, barred);
        }
        let is_wrong = matches!(found, Match::Nothing { .. });
        let verdict = if is_wrong { AuditVerdict::Wrong } else { AuditVerdict::Right };
        let noted = Noted { factors, ..Noted::of(user_id, verdict) };
        if noted.factors.is_empty() {
            let noted = noted.because(Some(NONE_TO_COMPARE));
            return Checked::uncounted(trail, noted, verification);
        }
        trail.note(view, noted.because(reason));
        let route = match found {
            Match::Code { route, .. } => route.clone(),
            _ => None,
        };
        Checked::Done(Box::new(verification), route)
    }
}

impl Handle<Verify> for Engine {
    fn handle(&self, call: &Verify) -> Result<Verification> {
        let now = self.begin();
        if let Some(verification) = self.verify_in_sandbox(Some(&call.token), call.user_id, now)? {
            return Ok(verification);
        }
        if recovery::fits(&call.token) {
            return self.check_recovery_code(call, now);
        }
        let user_id = call.user_id;
        let (trail, call) = (self.trail::<Verify>(now, call.user_ip)?, call.clone());
        let tries = self.app.settings.limits.tries;
        self.check(user_id, trail, move |state| match state.confirmed() || call.force {
            false => Ok(MatchResult::NotChecked),
            true => match_factors(&call, state, now, tries),
        })
    }

    /// A token with an impossible form gets the reply of a wrong one (interface 3.1 and 4.4). It is
    /// not counted: it gives a guesser nothing, and a user who mistypes keeps the tries.
    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<Verification>> {
        let Some((user_id, force)) = as_written::without_token(params)? else { return Ok(None) };
        let now = self.begin();
        if let Some(verification) = self.verify_in_sandbox(None, user_id, now)? {
            return Ok(Some(verification));
        }
        let user = self.user(user_id)?;
        if user.locked_at.is_some() {
            return rejections::barred(Barred::Account, now);
        }
        Ok(Some(match user.confirmed || force {
            true => Verification::wrong(false),
            false => verification(Verdict::NotChecked),
        }))
    }
}

impl Engine {
    /// Checks a token by `compare`, and commits the result in the same transaction.
    pub(in crate::engine) fn check(
        &self,
        user_id: UserId,
        trail: Trail,
        compare: impl Fn(&VerifyState) -> Result<MatchResult> + Send + 'static,
    ) -> Result<Verification> {
        let (subject, now) = (Subject::User(self.app.app_id, user_id), trail.now);
        let address = self.wrong_from_address(&trail);
        let counts_codes = self.app.settings.limits.completion_min > 0;
        let decide = move |view: &mut View, trail: &mut Trail| {
            address.ask(view);
            let Some(mut state) = state(view, &subject)? else { return Ok(Checked::NoUser) };
            state.country = state.country.filter(|_| counts_codes);
            if let Some(barred) = state.bar_of_account() {
                return Ok(Checked::barred(trail, user_id, barred));
            }
            let enrolled_at = state.created_at().unwrap_or(now.clock);
            let mut reason = None;
            let (found, verification) = match compare(&state)? {
                MatchResult::NotChecked => {
                    let reply = verification(Verdict::NotChecked);
                    return Ok(Checked::uncounted(trail, not_checked(user_id), reply));
                }
                MatchResult::Barred(barred) => {
                    return Ok(Checked::barred(trail, user_id, barred));
                }
                MatchResult::Used => {
                    let reply = Verification::wrong(true);
                    return Ok(Checked::uncounted(
                        trail,
                        Noted::of(user_id, AuditVerdict::Reused),
                        reply,
                    ));
                }
                MatchResult::Right(found, made_with) => {
                    let mut reply = accepted(made_with, enrolled_at);
                    if let Some(device) = device_of(view, &state, &found)? {
                        reply.device = Some(device);
                    }
                    (found, reply)
                }
                MatchResult::Wrong(factors, compared, why) => {
                    reason = why;
                    (Match::Nothing { factors, compared }, Verification::wrong(false))
                }
            };
            let barred = commit(view, state, &found, &address, now, limits::delay)?;
            Ok(Checked::committed(view, trail, (user_id, &found, reason), verification, barred))
        };
        let kind = user_id.to_string();
        let checked = self.run_refusable(trail, &kind, decide)?;
        if let Checked::Done(_, Some(route)) = &checked {
            self.count_used(route);
        }
        outcome(checked, now)
    }

    /// Checks a recovery code. It is hashed outside any transaction, because that takes time, and
    /// only while the user need not wait.
    fn check_recovery_code(&self, call: &Verify, now: Now) -> Result<Verification> {
        let (app, user_id, force) = (self.app.app_id, call.user_id, call.force);
        for _ in 0..ROUNDS {
            let (trail, kind) = (self.trail::<Verify>(now, call.user_ip)?, user_id.to_string());
            let address = self.wrong_from_address(&trail);
            let of_address = address.clone();
            let found = self.look(move |view| {
                let Some(user) = crate::engine::operations::user(view, app, user_id)? else {
                    return Ok(None);
                };
                let barred = user.bar().or(of_address.bar(view)?);
                Ok(Some((user.confirmed, recovery_codes::codes(view, user_id)?, barred)))
            })?;
            let (confirmed, (rows, wrong), barred) =
                found.ok_or_else(rejections::user_not_found)?;
            if !confirmed && !force && barred != Some(Barred::Account) {
                self.note_refusal(trail, &kind, not_checked(user_id))?;
                return Ok(verification(Verdict::NotChecked));
            }
            if let Some(barred) = barred.or_else(|| wrong.bar(limits::delay, now)) {
                let noted = Noted::of(user_id, AuditVerdict::Unset).barred(barred);
                let noted = Noted { factors: vec![Factor::Recovery], ..noted };
                self.note_refusal(trail, &kind, noted)?;
                return rejections::barred(barred, now);
            }
            let Some(salt) = rows.first().map(|row| row.salt.clone()) else {
                let noted = Noted::of(user_id, AuditVerdict::Wrong).because(Some(NONE_TO_COMPARE));
                self.run(move |view| address.count(view))?;
                self.note_refusal(trail, &kind, noted)?;
                return Ok(Verification::wrong(false));
            };
            let hash = recovery::hash(&call.token, salt.get()?);
            let subject = Subject::User(app, user_id);
            let decide = move |view: &mut View, trail: &mut Trail| {
                address.ask(view);
                let Some(state) = state(view, &subject)? else { return Ok(Some(Checked::NoUser)) };
                let rows = view.all::<RecoveryCode>((user_id.get(),))?;
                if rows.first().is_some_and(|row| row.salt != salt) {
                    return Ok(None);
                }
                let enrolled_at = state.created_at().unwrap_or(now.clock);
                let (found, verification) = match recovery::find(&hash, &rows) {
                    Some(row) if row.spent => {
                        let reply = Verification::wrong(true);
                        let noted = Noted::of(user_id, AuditVerdict::Reused);
                        return Ok(Some(Checked::uncounted(trail, noted, reply)));
                    }
                    Some(row) => {
                        let found = Match::Recovery { hash: row.hash.clone() };
                        (found, accepted(Verification::RECOVERY_CODE, enrolled_at))
                    }
                    None => {
                        let (factors, compared) = (vec![Factor::Recovery], Vec::new());
                        (Match::Nothing { factors, compared }, Verification::wrong(false))
                    }
                };
                let barred = commit(view, state, &found, &address, now, limits::delay)?;
                let found = (user_id, &found, None);
                Ok(Some(Checked::committed(view, trail, found, verification, barred)))
            };
            let checked = self.run_refusable(trail, &kind, decide)?;
            let Some(checked) = checked else { continue };
            let verification = outcome(checked, now)?;
            if verification.verdict == Verdict::Right {
                self.report_recovery_code(user_id);
            }
            return Ok(verification);
        }
        rejections::wait("Too many attempts at once", None, None)
    }

    /// Returns the count of wrong codes from the address of a call.
    pub(in crate::engine) fn wrong_from_address(&self, trail: &Trail) -> WrongFromAddress {
        let address = trail.user_ip.as_ref().and_then(|address| address.parse().ok());
        match (address, self.limits()) {
            (Some(address), Some(Limits { address_wrong_hour: most, .. })) => {
                let network = limits::network(address);
                WrongFromAddress::new(self.app.app_id, &network, most, trail.now.steady)
            }
            _ => WrongFromAddress::default(),
        }
    }

    /// Reports that a code was used up, which cannot be undone if the store fails now.
    fn report_recovery_code(&self, user_id: UserId) {
        let rows = self.look(move |view| recovery_codes::codes(view, user_id));
        let left = rows.map_or(0, |(rows, _)| recovery::left(&rows));
        self.shared.events.recovery_code_used(user_id, left);
    }
}

/// Returns the device of the approver whose code it is, if it is one of those.
fn device_of(view: &mut View, state: &VerifyState, found: &Match) -> Decided<Option<Device>> {
    let Match::Step { authenticator_id, .. } = found else { return Ok(None) };
    let is_it = |app: &&EnrolledApp| app.row.authenticator_id == *authenticator_id;
    let codes = state.authenticators.iter().find(is_it).map(|app| &app.row);
    let Some((user_id, id)) = codes.and_then(|row| Some((row.user_id, row.device_id?))) else {
        return Ok(None);
    };
    let row = view.get::<store::Device>((user_id, id))?;
    Ok(row.map(|row| Device {
        id: Some(id),
        os_type: Some(row.os_type),
        registration_device_id: Some(id),
        registration_date: i64::try_from(row.registered_at.seconds()).ok(),
        ..Device::default()
    }))
}

fn not_checked(user_id: UserId) -> Noted {
    Noted::of(user_id, AuditVerdict::NotChecked).because(Some("not_confirmed"))
}

fn outcome(checked: Checked, now: Now) -> Result<Verification> {
    match checked {
        Checked::NoUser => Err(rejections::user_not_found()),
        Checked::Done(verification, _) | Checked::Uncounted(verification) => Ok(*verification),
        Checked::Barred(barred) => rejections::barred(barred, now),
    }
}

/// Compares a token with all codes and apps that it may belong to, by its length. Each such factor
/// that may be tried is, and counts the token if it is wrong.
fn match_factors(call: &Verify, state: &VerifyState, now: Now, tries: u32) -> Result<MatchResult> {
    let typed = call.token.as_str();
    let mut codes = Vec::new();
    for code in &state.codes {
        if code.fits(typed, now)? {
            codes.push(code);
        }
    }
    let apps: Vec<_> = state.authenticators.iter().filter(|a| a.row.fits(typed)).collect();
    let bar = |factor| state.bar(factor, limits::delay, now);
    let mut bars = Vec::new();
    let mut tried = Vec::new();
    let mut compared = Vec::new();
    let mut used = false;
    let mut reason = None;
    if !codes.is_empty() {
        match bar(Factor::Code) {
            Some(barred) => bars.push(barred),
            None => {
                tried.push(Factor::Code);
                let living = codes.iter().filter(|code| code.lives(now, tries));
                compared.extend(living.map(|code| code.action.clone()));
                match match_codes(call, &codes, now, tries)? {
                    Some(MatchResult::Used) => used = true,
                    Some(right) => return Ok(right),
                    None => reason = why_wrong(call, &codes, tries)?,
                }
            }
        }
    }
    if !apps.is_empty() {
        match bar(Factor::Authenticator) {
            Some(barred) => bars.push(barred),
            None => {
                tried.push(Factor::Authenticator);
                match match_apps(&call.token, &apps, now)? {
                    Some(MatchResult::Used) => used = true,
                    Some(right) => return Ok(right),
                    None => {}
                }
            }
        }
    }
    Ok(match bars.into_iter().reduce(Barred::first) {
        _ if used => MatchResult::Used,
        Some(barred) if tried.is_empty() => MatchResult::Barred(barred),
        _ => MatchResult::Wrong(tried, compared, reason),
    })
}

/// Returns the reason why a code that was sent to the user is wrong all the same, if the token is one.
/// There is no name for a code that would live longer than any, because the clock was wrong.
fn why_wrong(call: &Verify, codes: &[&SentCode], tries: u32) -> Result<Option<&'static str>> {
    let action = call.action.as_ref().map_or("", |action| action.as_str());
    let mut reason = None;
    for code in codes {
        if code.spent || !same(code.code.get()?, call.token.as_str()) {
            continue;
        }
        if code.action != action {
            reason = reason.or(Some("other_action"));
        } else if code.wrong_tries >= tries {
            reason = Some("too_many_tries");
        }
    }
    Ok(reason)
}

/// Compares a token with codes. A code is valid only for the action that it was sent for.
fn match_codes(
    call: &Verify,
    codes: &[&SentCode],
    now: Now,
    tries: u32,
) -> Result<Option<MatchResult>> {
    let action = call.action.as_ref().map_or("", |action| action.as_str());
    let Some(code) = codes.iter().find(|code| code.action == action) else { return Ok(None) };
    if !same(code.code.get()?, call.token.as_str()) {
        return Ok(None);
    }
    Ok(match code.spent {
        true => Some(MatchResult::Used),
        false if code.lives(now, tries) => Some(MatchResult::Right(code.used(), "sms")),
        false => None,
    })
}

/// Compares a token with the codes of apps. These are generated without an action, so they are
/// valid for any.
pub(in crate::engine) fn match_apps(
    token: &Token,
    apps: &[&EnrolledApp],
    now: Now,
) -> Result<Option<MatchResult>> {
    let mut used = None;
    for EnrolledApp { row: app, used_after } in apps {
        let Some(totp) = app.totp()? else { continue };
        let is_used =
            |step| app.last_step.is_some_and(|last| step <= last) || used_after.contains(&step);
        match totp.check_unless(token, now.clock.seconds(), is_used) {
            otp::Match::Step(step) => {
                let found = Match::Step { authenticator_id: app.authenticator_id, step };
                return Ok(Some(right_app(found)));
            }
            otp::Match::Used => used = Some(MatchResult::Used),
            otp::Match::None => {}
        }
    }
    Ok(used)
}

/// Returns the result for a right code of an app.
pub(in crate::engine) fn right_app(found: Match) -> MatchResult {
    MatchResult::Right(found, "authenticator")
}

/// Compares in constant time, so that the time taken does not reveal where the two differ.
pub(in crate::engine) fn same(code: &str, typed: &str) -> bool {
    code.as_bytes().ct_eq(typed.as_bytes()).into()
}

fn verification(verdict: Verdict) -> Verification {
    Verification { verdict, ..Verification::default() }
}

/// Returns the reply to a right code of a user who was enrolled then.
pub(in crate::engine) fn accepted(made_with: &str, enrolled_at: Time) -> Verification {
    let device = Device {
        os_type: Some(made_with.into()),
        registration_date: i64::try_from(enrolled_at.seconds()).ok(),
        ..Device::default()
    };
    Verification { device: Some(device), ..verification(Verdict::Right) }
}

impl Authenticator {
    pub(in crate::engine) fn fits(&self, typed: &str) -> bool {
        usize::from(self.digits) == typed.len()
    }
}
