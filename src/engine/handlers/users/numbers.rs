//! Changes of users' phone numbers.

use super::super::codes::{kind_of, note};
use crate::calls::{Done, SetNumber};
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::factors::Barred;
use crate::engine::model::phones::{self, Phone};
use crate::engine::model::{as_written, rejections};
use crate::engine::operations::Subject;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::jobs::Claimed;
use crate::engine::operations::numbers::{self, NewNumber, Refused};
use crate::engine::operations::pushes::NewPushes;
use crate::engine::operations::verify::{Checked, check};
use crate::engine::store::View;
use crate::model::{CountryCode, PhoneNumber, UserId, VerificationCode};
use crate::{Error, Handle, Result};
use serde_json::{Map, Value};

/// The audit reason of a number that nobody has proven to hold.
const UNVERIFIED: &str = "unverified";

/// The proof that the user holds the new number.
#[derive(Clone)]
pub(in crate::engine) enum Proof {
    /// The code of a verification.
    Code(VerificationCode),
    /// None: an operator knows the user.
    Unverified,
}

/// The outcome of a change.
enum Outcome {
    Refused(Refused),
    NotProven(Checked),
    /// With the code that has proven the number, if there was one, and the messages to devices.
    Done(Option<Checked>, Vec<Claimed>),
}

impl Engine {
    /// Changes the number of a user, by a call or an operation of this name.
    pub(in crate::engine) fn change_number(
        &self,
        trail: Trail,
        (user_id, country, number): (UserId, CountryCode, &PhoneNumber),
        (proof, by_operator): (Proof, bool),
    ) -> Result<()> {
        let now = trail.now;
        let phone = Phone::parse(country, number).map_err(phones::invalid("phone_number"))?;
        self.accept_new(&phone, &trail)?;
        let app = self.app.app_id;
        let subject = Subject::Phone(app, phone.e164());
        let guess = match &proof {
            Proof::Code(typed) => Some(self.guess_of_number(&phone, typed, now)),
            Proof::Unverified => None,
        };
        let masked = phone.masked_e164();
        let counted_as = kind_of(&subject);
        let new = NewNumber { user_id, phone, limits: self.limits(), by_operator };
        let notices =
            NewPushes { app, first_job: self.nonce()?, lease: self.push_lane().lease(), now };
        let decide = move |view: &mut View, trail: &mut Trail| {
            let found = match numbers::may_have(view, app, &new)? {
                Ok(found) => found,
                Err(refused) => {
                    trail.refuse(noted(refused, Noted::of(user_id, AuditVerdict::Refused)));
                    return Ok(Outcome::Refused(refused));
                }
            };
            let of =
                |verdict| Noted { number: Some(masked.clone()), ..Noted::of(user_id, verdict) };
            let proven = match &guess {
                Some((guess, how)) => Some(check(view, &subject, guess, how)?),
                None => None,
            };
            if let Some(checked) = &proven
                && !matches!(checked, Checked::Right(..))
            {
                note(checked, view, trail, of(AuditVerdict::Unset));
                return Ok(Outcome::NotProven(checked.clone()));
            }
            let is_verified = proven.is_some();
            let pushed = numbers::set(view, found, (&new, is_verified), &notices)?;
            if pushed.is_some() || is_verified {
                let done = of(AuditVerdict::Done);
                trail.note(view, done.because((!is_verified).then_some(UNVERIFIED)));
            }
            Ok(Outcome::Done(proven, pushed.unwrap_or_default()))
        };
        match self.run_refusable(trail, &counted_as, decide)? {
            Outcome::Done(proven, pushes) => {
                self.hand_over(pushes);
                proven.map_or(Ok(()), |checked| self.reply_to_check(checked, now).map(drop))
            }
            Outcome::NotProven(checked) => self.reply_to_check(checked, now).map(drop),
            Outcome::Refused(refused) => Err(rejected(refused, now)),
        }
    }
}

/// Returns the audit entry of a refusal, so that tries of many numbers can be seen.
fn noted(refused: Refused, of: Noted) -> Noted {
    match refused {
        Refused::Locked => of.barred(Barred::Account),
        Refused::Taken => of.because(Some("taken")),
        Refused::NoUser | Refused::Returned | Refused::NotAllowed => of,
    }
}

fn rejected(refused: Refused, now: Now) -> Error {
    match refused {
        Refused::NoUser => rejections::user_not_found(),
        Refused::Locked => match rejections::barred::<()>(Barred::Account, now) {
            Err(error) => error,
            Ok(()) => rejections::user_not_found(),
        },
        Refused::Returned => rejections::user_returned(),
        Refused::NotAllowed => rejections::country_not_allowed(),
        Refused::Taken => rejections::user_taken("phone_number"),
    }
}

impl Handle<SetNumber> for Engine {
    fn handle(&self, call: &SetNumber) -> Result<Done> {
        let trail = self.trail::<SetNumber>(self.begin(), call.user_ip)?;
        let new = (call.user_id, call.country_code, &call.phone_number);
        self.change_number(trail, new, (Proof::Code(call.verification_code.clone()), false))?;
        Ok(Done::with_message("Phone number was changed."))
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<Done>> {
        as_written::rewrite_phone(params).map(|()| None)
    }
}
