//! Guesses: the stored codes that each may be, what it costs, and the comparison.

use super::matched::Match;
use super::state::{EnrolledApp, VerifyState};
use crate::engine::model::clock::Now;
use crate::engine::model::factors::Factor;
use crate::engine::model::limits;
use crate::engine::operations::recovery;
use crate::engine::store::{Authenticator, RecoveryCode, Sealed, SentCode};
use crate::model::{Token, VerificationCode};
use crate::{Result, otp};
use subtle::ConstantTimeEq;

/// A code that was typed, with all that the comparison depends on.
#[derive(Clone)]
pub(in crate::engine) enum Guess {
    /// A code of a user: one that was sent for this action, or one of an app, which is valid for any.
    Login { typed: Token, action: String, force: bool, tries: u32 },
    /// A recovery code; without a hash until its salt is known.
    Recovery { hashed: Option<Hashed>, force: bool },
    /// The first code of a new app. A sandbox may have decided already.
    FirstOfApp { typed: Token, sandbox: Option<bool> },
    /// The code of an app that was accepted a moment ago.
    Accepted(Token),
    /// The code of a number. A sandbox that does not check codes accepts another one too, and counts nothing.
    Number { typed: VerificationCode, sandbox: Option<&'static str>, tries: u32 },
}

/// The hash of a recovery code, and the salt that it was made with.
#[derive(Clone)]
pub(in crate::engine) struct Hashed {
    pub(in crate::engine) hash: Vec<u8>,
    pub(in crate::engine) salt: Sealed<Vec<u8>>,
}

/// The stored codes of one factor that a guess may be.
pub(super) enum Candidates<'a> {
    Codes(Vec<&'a SentCode>),
    Apps(Vec<&'a EnrolledApp>),
    Recovery(&'a [RecoveryCode]),
}

/// The cost of a wrong guess: the factors that count it, and the actions whose codes lose a try.
#[derive(Default)]
pub(super) struct Charge {
    pub(super) factors: Vec<Factor>,
    pub(super) actions: Vec<String>,
}

/// The result of a comparison. `Nothing` has the reason for the audit, if there is one to name.
pub(super) enum Compared {
    Nothing(Option<&'static str>),
    Used,
    Right(Match),
}

impl Candidates<'_> {
    pub(super) fn factor(&self) -> Factor {
        match self {
            Candidates::Codes(_) => Factor::Code,
            Candidates::Apps(_) => Factor::Authenticator,
            Candidates::Recovery(_) => Factor::Recovery,
        }
    }

    fn are_none(&self) -> bool {
        match self {
            Candidates::Codes(codes) => codes.is_empty(),
            Candidates::Apps(apps) => apps.is_empty(),
            Candidates::Recovery(rows) => rows.is_empty(),
        }
    }
}

impl Guess {
    /// Returns whether only users are checked who were confirmed before.
    pub(super) fn needs_confirmed(&self) -> bool {
        matches!(self, Guess::Login { force: false, .. } | Guess::Recovery { force: false, .. })
    }

    /// Returns whether the comparison needs a slow hash.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self, Guess::Recovery { .. })
    }

    /// Finds the stored codes that the guess may be, by factor; `None` if there is nothing that could be confirmed.
    pub(super) fn candidates<'a>(
        &self,
        state: &'a VerifyState,
        now: Now,
    ) -> Result<Option<Vec<Candidates<'a>>>> {
        Ok(Some(match self {
            Guess::Login { typed, .. } => {
                let typed = typed.as_str();
                let mut codes = Vec::new();
                for code in &state.codes {
                    if code.fits(typed, now)? {
                        codes.push(code);
                    }
                }
                let apps = state.authenticators.iter().filter(|app| app.row.fits(typed)).collect();
                let mut all = vec![Candidates::Codes(codes), Candidates::Apps(apps)];
                all.retain(|of| !of.are_none());
                all
            }
            Guess::Recovery { .. } => vec![Candidates::Recovery(&state.recovery)],
            Guess::FirstOfApp { typed, sandbox } => {
                let pending = state.authenticators.iter().find(|app| app.row.is_pending());
                let Some(pending) = pending else { return Ok(None) };
                // A code of another length cannot be one of the app, so nothing is learnt from it.
                let fits = *sandbox == Some(true) || pending.row.fits(typed.as_str());
                match sandbox {
                    Some(false) => Vec::new(),
                    _ => vec![Candidates::Apps(fits.then_some(pending).into_iter().collect())],
                }
            }
            Guess::Accepted(_) => vec![Candidates::Apps(state.authenticators.iter().collect())],
            Guess::Number { tries, .. } => {
                // A wrong code of any length uses up one try of the pending code.
                let pending = state.codes.iter().find(|code| code.lives(now, *tries));
                let Some(pending) = pending else { return Ok(None) };
                vec![Candidates::Codes(vec![pending])]
            }
        }))
    }

    /// Returns the match of a number's code that a sandbox accepts without having sent one.
    pub(super) fn is_right_without(&self) -> Option<Match> {
        match self {
            Guess::Number { typed, sandbox: Some(accepted), .. } if typed.as_str() == *accepted => {
                Some(Match::Code { action: String::new(), route: None })
            }
            _ => None,
        }
    }

    /// Returns the salt that the guess has to be hashed with first.
    pub(super) fn unhashed(&self, candidates: &[Candidates]) -> Option<Sealed<Vec<u8>>> {
        let (Guess::Recovery { hashed, .. }, [Candidates::Recovery(rows)]) = (self, candidates)
        else {
            return None;
        };
        let salt = &rows.first()?.salt;
        let is_hashed = hashed.as_ref().is_some_and(|hashed| hashed.salt == *salt);
        (!is_hashed).then(|| salt.clone())
    }

    /// Returns the cost of the guess if it is wrong.
    pub(super) fn charge(&self, candidates: &[Candidates], now: Now) -> Charge {
        let tries = match self {
            Guess::Number { sandbox: Some(_), .. } => return Charge::default(),
            Guess::Login { tries, .. } | Guess::Number { tries, .. } => *tries,
            _ => 0,
        };
        let mut charge = Charge::default();
        for of in candidates {
            // An offline proof counts for the apps also if the user has none that it could be of.
            if !of.are_none() || matches!(self, Guess::Accepted(_)) {
                charge.factors.push(of.factor());
            }
            if let Candidates::Codes(codes) = of {
                let living = codes.iter().filter(|code| code.lives(now, tries));
                charge.actions.extend(living.map(|code| code.action.clone()));
            }
        }
        charge
    }

    /// Compares with all candidates. A right code of one factor is right, whatever it is of the others.
    pub(super) fn compare_all(&self, candidates: &[Candidates], now: Now) -> Result<Compared> {
        let (mut is_used, mut reason) = (false, None);
        for of in candidates {
            match self.compare(of, now)? {
                Compared::Right(found) => return Ok(Compared::Right(found)),
                Compared::Used => is_used = true,
                Compared::Nothing(why) => reason = reason.or(why),
            }
        }
        Ok(if is_used { Compared::Used } else { Compared::Nothing(reason) })
    }

    fn compare(&self, candidates: &Candidates, now: Now) -> Result<Compared> {
        match (self, candidates) {
            (Guess::Login { typed, action, tries, .. }, Candidates::Codes(codes)) => {
                sent(typed, action, codes, (now, *tries))
            }
            (Guess::Login { typed, .. }, Candidates::Apps(apps))
            | (Guess::FirstOfApp { typed, sandbox: None }, Candidates::Apps(apps)) => {
                of_apps(typed, apps, now)
            }
            (Guess::FirstOfApp { sandbox: Some(true), .. }, Candidates::Apps(apps)) => {
                let step = |row: &Authenticator| row.matched(now.clock.seconds() / row.period);
                let found = apps.first().map(|app| Compared::Right(step(&app.row)));
                Ok(found.unwrap_or(Compared::Nothing(None)))
            }
            (Guess::Accepted(typed), Candidates::Apps(apps)) => accepted(typed, apps, now),
            (Guess::Number { typed, sandbox, .. }, Candidates::Codes(codes)) => {
                for code in codes {
                    let typed = typed.as_str();
                    if same(code.code.get()?, typed) || *sandbox == Some(typed) {
                        return Ok(Compared::Right(code.matched()));
                    }
                }
                Ok(Compared::Nothing(None))
            }
            (Guess::Recovery { hashed: Some(hashed), .. }, Candidates::Recovery(rows)) => {
                Ok(match recovery::find(&hashed.hash, rows) {
                    Some(row) if row.spent => Compared::Used,
                    Some(row) => Compared::Right(Match::Recovery { hash: row.hash.clone() }),
                    None => Compared::Nothing(None),
                })
            }
            _ => Ok(Compared::Nothing(None)),
        }
    }
}

/// Compares with codes that were sent. A code is valid only for the action that it was sent for.
fn sent(
    typed: &Token,
    action: &str,
    codes: &[&SentCode],
    (now, tries): (Now, u32),
) -> Result<Compared> {
    let own = codes.iter().find(|code| code.action == action);
    if let Some(code) = own
        && same(code.code.get()?, typed.as_str())
    {
        if code.spent {
            return Ok(Compared::Used);
        }
        if code.lives(now, tries) {
            return Ok(Compared::Right(code.matched()));
        }
    }
    why_wrong(typed, action, codes, tries).map(Compared::Nothing)
}

/// Returns the reason why a code that was sent to the user is wrong all the same, if the guess is one.
/// There is no name for a code that would live longer than any, because the clock was wrong.
fn why_wrong(
    typed: &Token,
    action: &str,
    codes: &[&SentCode],
    tries: u32,
) -> Result<Option<&'static str>> {
    let mut reason = None;
    for code in codes {
        if code.spent || !same(code.code.get()?, typed.as_str()) {
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

/// Compares with the codes that apps show now.
fn of_apps(typed: &Token, apps: &[&EnrolledApp], now: Now) -> Result<Compared> {
    let mut found = Compared::Nothing(None);
    for EnrolledApp { row, used_after } in apps {
        let Some(totp) = row.totp()? else { continue };
        let is_used =
            |step| row.last_step.is_some_and(|last| step <= last) || used_after.contains(&step);
        match totp.check_unless(typed, now.clock.seconds(), is_used) {
            otp::Match::Step(step) => return Ok(Compared::Right(row.matched(step))),
            otp::Match::Used => found = Compared::Used,
            otp::Match::None => {}
        }
    }
    Ok(found)
}

/// Compares with the codes of apps that were accepted last, if that was not long ago.
fn accepted(typed: &Token, apps: &[&EnrolledApp], now: Now) -> Result<Compared> {
    for EnrolledApp { row, .. } in apps {
        let Some(step) = row.last_step else { continue };
        let Some(totp) = row.totp()? else { continue };
        let shown_until = step.saturating_add(1).saturating_mul(row.period);
        let recent =
            shown_until.saturating_add(limits::OFFLINE_PROOF.as_secs()) > now.clock.seconds();
        let is_it = same(totp.code(step.saturating_mul(row.period)).expose(), typed.as_str());
        if is_it && recent {
            let authenticator_id = row.authenticator_id;
            return Ok(Compared::Right(Match::Shown { authenticator_id, step }));
        }
    }
    Ok(Compared::Nothing(None))
}

/// Compares in constant time, so that the time taken does not reveal where the two differ.
fn same(code: &str, typed: &str) -> bool {
    code.as_bytes().ct_eq(typed.as_bytes()).into()
}

impl Authenticator {
    /// Returns whether the guess is as long as its codes.
    fn fits(&self, typed: &str) -> bool {
        usize::from(self.digits) == typed.len()
    }

    fn matched(&self, step: u64) -> Match {
        let (authenticator_id, device_id) = (self.authenticator_id, self.device_id);
        Match::Step { authenticator_id, step, device_id }
    }
}

impl SentCode {
    fn matched(&self) -> Match {
        Match::Code { action: self.action.clone(), route: self.route.clone() }
    }

    /// Returns whether it is accepted, if so many wrong tries make it void.
    pub(in crate::engine) fn lives(&self, now: Now, tries: u32) -> bool {
        // A code that would live longer than any code can was issued while the clock was wrong.
        let longest = limits::LONGEST_CODE_LIFE + limits::CLOCK_SLACK;
        let possible = self.expires_at <= now.steady.plus(longest);
        !self.spent && self.wrong_tries < tries && self.expires_at > now.steady && possible
    }

    /// Returns whether the guess is as long as the code, which has not expired.
    fn fits(&self, typed: &str, now: Now) -> Result<bool> {
        Ok(self.expires_at > now.steady && self.code.get()?.len() == typed.len())
    }
}
