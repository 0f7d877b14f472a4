//! The operation that changes the number of a user.

use super::declaration::{Nothing, Operation, operation};
use crate::engine::core::Engine;
use crate::engine::handlers::users::numbers::Proof;
use crate::model::{CountryCode, PhoneNumber, UserId, VerificationCode};
use crate::{Error, Result};

operation! {
    /// Changes the phone number of a user, who keeps everything else. The user proves to hold the new number by the
    /// code of a verification, as in the call `set_number`, or the operator says that it is not verified. A user who
    /// is locked gets it too, and stays locked.
    SetUserNumber = "user.set_number" -> Nothing {
        /// The user.
        user_id: UserId,
        /// The new number without its calling code.
        phone_number: PhoneNumber,
        /// The calling code of the number.
        country_code: CountryCode,
        /// The code that was sent to the new number.
        verification_code: Option<VerificationCode>,
        /// Changes it without a code.
        #[serde(default)]
        unverified: bool,
    }
}

impl SetUserNumber {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let proof = match (&self.verification_code, self.unverified) {
            (Some(code), false) => Proof::Code(code.clone()),
            (None, true) => Proof::Unverified,
            _ => {
                let reason = "must be given, or else unverified (--unverified)";
                return Err(Error::invalid_argument("verification_code", reason));
            }
        };
        let trail = engine.trail_of(<Self as Operation>::NAME, engine.begin(), None)?;
        let new = (self.user_id, self.country_code, &self.phone_number);
        engine.change_number(trail, new, (proof, true)).map(|()| Nothing {})
    }
}
