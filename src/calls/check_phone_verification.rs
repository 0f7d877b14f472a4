//! `GET /protected/{format}/phones/verification/check`

use super::{Call, Done, Route};
use crate::model::{CountryCode, PhoneNumber, VerificationCode};
use serde::{Deserialize, Serialize};

/// Checks the code that was sent to a number by
/// [`StartPhoneVerification`](super::StartPhoneVerification). Only [`Ok`] means that the code is
/// right.
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) with status 401 and the service code `60022` if the
/// code is wrong, and with status 404 and the service code `60023` if no code is pending.
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
}
