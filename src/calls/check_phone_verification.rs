//! `GET /protected/{format}/phones/verification/check`

use super::{Call, Done, Route};
use crate::model::{CountryCode, PhoneNumber, VerificationCode};
use serde::{Deserialize, Serialize};

/// Checks the code that was sent to a number by [`super::StartPhoneVerification`]. A right code is
/// `Ok`; a wrong one is [`crate::Error::Rejected`] with status 401 and code `60022`, and 404 with
/// `60023` says that no code is waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckPhoneVerification {
    /// The number.
    pub phone_number: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
    /// What the user typed.
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
