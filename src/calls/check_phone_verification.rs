//! `GET /protected/{format}/phones/verification/check`

use super::{Call, Done, Route};
use crate::codes::VERIFICATION_CODE_WRONG;
use crate::model::{CountryCode, PhoneNumber, VerificationCode};
use crate::wire::Reply;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Checks the code that was sent to a number by
/// [`StartPhoneVerification`](super::StartPhoneVerification). Only [`Ok`] means that the code is
/// right.
///
/// # Errors
/// [`Error::TokenWrong`] if the code is wrong; [`Error::Rejected`] with status 404 and the service
/// code `60023` if no code is pending.
#[cfg_attr(
    false,
    python = "Checks the code that was sent to a number by [`StartPhoneVerification`]. It returns \
              only if the code is right."
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckPhoneVerification {
    /// The number without its calling code.
    pub phone_number: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
    /// The code that the user typed.
    pub verification_code: VerificationCode,
}

impl CheckPhoneVerification {
    /// The call.
    pub fn new(
        phone_number: PhoneNumber,
        country_code: CountryCode,
        verification_code: VerificationCode,
    ) -> CheckPhoneVerification {
        CheckPhoneVerification { phone_number, country_code, verification_code }
    }
}

impl Call for CheckPhoneVerification {
    const ROUTE: Route =
        Route::get("check_phone_verification", "/protected/{format}/phones/verification/check");
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn read(reply: Reply) -> Result<Done> {
        read_checked::<Self>(reply)
    }
}

/// Reads a reply as other calls do, but a wrong code has an error of its own.
pub(super) fn read_checked<C: Call>(reply: Reply) -> Result<C::Reply> {
    super::read::<C>(reply).map_err(|error| match error {
        Error::Rejected(no)
            if no.status == 401 && no.code.as_deref() == Some(VERIFICATION_CODE_WRONG) =>
        {
            verification_code_wrong(no.message)
        }
        other => other,
    })
}

/// The error for a wrong code, with the service's message.
pub(crate) fn verification_code_wrong(message: impl Into<String>) -> Error {
    Error::TokenWrong {
        parameter: "verification_code".into(),
        message: message.into(),
        code: VERIFICATION_CODE_WRONG.into(),
    }
}
