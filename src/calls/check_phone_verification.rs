//! `GET /protected/{format}/phones/verification/check`

use super::{Call, Done, Route};
use crate::model::{CountryCode, PhoneNumber, VerificationCode};
use serde::{Deserialize, Serialize};

/// Checks the code that was sent to a number by [`super::StartPhoneVerification`]. Returns `Ok` for
/// a right code. A wrong code is [`crate::Error::Rejected`] with status 401 and code `60022`; if no
/// code is pending, it is `Rejected` with status 404 and code `60023`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckPhoneVerification {
    /// The number.
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
