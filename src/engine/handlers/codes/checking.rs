//! Checking the code of a number.

use super::super::sandbox;
use super::{CODE_CORRECT, CODE_WRONG};
use crate::Result;
use crate::calls::Done;
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::phones::Phone;
use crate::engine::model::rejections;
use crate::engine::operations::addresses::WrongFromAddress;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::verify::{Checked, Circumstances, Counted, Guess, Match};
use crate::engine::store::View;
use crate::model::VerificationCode;

/// Notes the check of a number's code in the audit.
pub(in crate::engine) fn note(checked: &Checked, view: &mut View, trail: &mut Trail, noted: Noted) {
    let of = |verdict| Noted { verdict, ..noted.clone() };
    match checked {
        Checked::Right(..) => trail.note(view, of(AuditVerdict::Right)),
        Checked::Barred(barred) => trail.refuse(noted.barred(*barred)),
        Checked::NonePending => trail.refuse(of(AuditVerdict::NonePending)),
        _ => trail.note(view, of(AuditVerdict::Wrong)),
    }
}

impl Engine {
    /// Counts a code that was right, and returns the reply.
    pub(in crate::engine) fn reply_to_check(&self, checked: Checked, now: Now) -> Result<Done> {
        if let Checked::Right(Match::Code { route: Some(route), .. }, _) = &checked {
            self.count_used(route);
        }
        match checked {
            Checked::Right(..) => Ok(Done::with_message(CODE_CORRECT)),
            Checked::Barred(barred) => rejections::barred(barred, now),
            Checked::NonePending => Err(rejections::no_pending_verification()),
            _ => Err(rejections::verification_code_wrong(CODE_WRONG)),
        }
    }

    /// Returns a guess at the code of a number, and how it is checked.
    pub(in crate::engine) fn guess_of_number(
        &self,
        phone: &Phone,
        typed: &VerificationCode,
        now: Now,
    ) -> (Guess, Circumstances) {
        let limits = &self.app.settings.limits;
        let guess = Guess::Number {
            typed: typed.clone(),
            sandbox: self.is_lenient().then_some(sandbox::PHONE_CODE),
            tries: limits.tries,
        };
        let counted = limits.counted(phone.country_code).map_or(Counted::Nowhere, Counted::For);
        (guess, Circumstances { address: WrongFromAddress::default(), counted, now })
    }
}
