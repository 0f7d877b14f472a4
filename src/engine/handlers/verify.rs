//! Checking a code (interface 3.1 and 4.4).

use super::recovery;
use crate::calls::{Device, Verdict, Verification, Verify};
use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::model::limits::{self, Limits};
use crate::engine::model::{as_written, rejections};
use crate::engine::operations::addresses::WrongFromAddress;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::verify::{
    Checked, Circumstances, Counted, Guess, Hashed, Match, check,
};
use crate::engine::operations::{Subject, recovery as recovery_codes};
use crate::engine::store::{self, View};
use crate::model::UserId;
use crate::{Handle, Result};
use serde_json::{Map, Value};

/// The number of times that a check of a recovery code starts over after the set was replaced
/// meanwhile.
const ROUNDS: u32 = 8;
/// The audit reason of a token with a length that no factor of the user has.
const NONE_TO_COMPARE: &str = "none_to_compare";

/// Notes the check of a user's code in the audit.
fn note(checked: &Checked, view: &mut View, trail: &mut Trail, (of, is_recovery): (UserId, bool)) {
    let noted = |verdict| Noted::of(of, verdict);
    match checked {
        Checked::NoUser | Checked::NonePending | Checked::Unhashed(_) => {}
        Checked::NotConfirmed => {
            trail.refuse(noted(AuditVerdict::NotChecked).because(Some("not_confirmed")));
        }
        Checked::Barred(barred) => {
            let factors = is_recovery.then_some(Factor::Recovery).into_iter().collect();
            trail.refuse(Noted { factors, ..noted(AuditVerdict::Unset) }.barred(*barred));
        }
        Checked::Used => trail.refuse(noted(AuditVerdict::Reused)),
        Checked::Wrong(factors, _) if factors.is_empty() => {
            trail.refuse(noted(AuditVerdict::Wrong).because(Some(NONE_TO_COMPARE)));
        }
        Checked::Wrong(factors, reason) => {
            let noted = noted(AuditVerdict::Wrong).because(*reason);
            trail.note(view, Noted { factors: factors.clone(), ..noted });
        }
        Checked::Right(found, _) => {
            let factors = vec![found.factor()];
            trail.note(view, Noted { factors, ..noted(AuditVerdict::Right) });
        }
    }
}

/// The outcome of a check, and the device of the approver whose code it was.
pub(in crate::engine) type CheckedUser = (Checked, Option<Device>);

impl Handle<Verify> for Engine {
    fn handle(&self, call: &Verify) -> Result<Verification> {
        let now = self.begin();
        if let Some(verification) = self.verify_in_sandbox(Some(&call.token), call.user_id, now)? {
            return Ok(verification);
        }
        if recovery::fits(&call.token) {
            return self.check_recovery_code(call, now);
        }
        let trail = self.trail::<Verify>(now, call.user_ip)?;
        let guess = Guess::Login {
            typed: call.token.clone(),
            action: call.action.as_ref().map_or("", |action| action.as_str()).to_owned(),
            force: call.force,
            tries: self.app.settings.limits.tries,
        };
        reply(self.check(call.user_id, trail, guess)?, now)
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
    /// Checks a guess at a code of a user, and notes the outcome.
    pub(in crate::engine) fn check(
        &self,
        user_id: UserId,
        trail: Trail,
        guess: Guess,
    ) -> Result<CheckedUser> {
        let subject = Subject::User(self.app.app_id, user_id);
        let counts_codes = self.app.settings.limits.completion_min > 0;
        let of = Circumstances {
            address: self.wrong_from_address(&trail),
            counted: if counts_codes { Counted::OfUser } else { Counted::Nowhere },
            now: trail.now,
        };
        let is_recovery = matches!(guess, Guess::Recovery { .. });
        let decide = move |view: &mut View, trail: &mut Trail| {
            let checked = check(view, &subject, &guess, &of)?;
            let device = match &checked {
                Checked::Right(Match::Step { device_id: Some(id), .. }, _) => {
                    view.get::<store::Device>((user_id.get(), *id))?.map(device)
                }
                _ => None,
            };
            note(&checked, view, trail, (user_id, is_recovery));
            Ok((checked, device))
        };
        let checked = self.run_refusable(trail, &user_id.to_string(), decide)?;
        if let Checked::Right(Match::Code { route: Some(route), .. }, _) = &checked.0 {
            self.count_used(route);
        }
        Ok(checked)
    }

    /// Checks a recovery code. It is hashed outside any transaction, because that takes time, and
    /// only while the user need not wait.
    fn check_recovery_code(&self, call: &Verify, now: Now) -> Result<Verification> {
        let mut hashed = None;
        for _ in 0..=ROUNDS {
            let trail = self.trail::<Verify>(now, call.user_ip)?;
            let guess = Guess::Recovery { hashed, force: call.force };
            let checked = self.check(call.user_id, trail, guess)?;
            match checked.0 {
                Checked::Unhashed(salt) => {
                    let hash = recovery::hash(&call.token, salt.get()?);
                    hashed = Some(Hashed { hash, salt });
                    continue;
                }
                Checked::Right(..) => self.report_recovery_code(call.user_id),
                _ => {}
            }
            return reply(checked, now);
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
        let left = self.look(move |view| recovery_codes::left(view, user_id)).unwrap_or_default();
        self.shared.events.recovery_code_used(user_id, left as usize);
    }
}

/// Returns a device of the approver, as replies show it.
fn device(row: store::Device) -> Device {
    Device {
        id: Some(row.device_id),
        os_type: Some(row.os_type),
        registration_device_id: Some(row.device_id),
        registration_date: i64::try_from(row.registered_at.seconds()).ok(),
        ..Device::default()
    }
}

/// Returns the reply to the check of a user's code.
pub(in crate::engine) fn reply((checked, device): CheckedUser, now: Now) -> Result<Verification> {
    match checked {
        Checked::NoUser => Err(rejections::user_not_found()),
        Checked::NonePending => Err(rejections::no_pending_authenticator()),
        Checked::NotConfirmed => Ok(verification(Verdict::NotChecked)),
        Checked::Barred(barred) => rejections::barred(barred, now),
        Checked::Used => Ok(Verification::wrong(true)),
        // A guess that was not compared confirms nothing.
        Checked::Unhashed(_) | Checked::Wrong(..) => Ok(Verification::wrong(false)),
        Checked::Right(found, enrolled_at) => {
            let made_with = match found {
                Match::Code { .. } => "sms",
                Match::Step { .. } => "authenticator",
                Match::Recovery { .. } => Verification::RECOVERY_CODE,
                // It was accepted before, which lets nobody in.
                Match::Shown { .. } => return Ok(Verification::wrong(true)),
            };
            let reply = accepted(made_with, enrolled_at.unwrap_or(now.clock));
            Ok(match device {
                Some(_) => Verification { device, ..reply },
                None => reply,
            })
        }
    }
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
