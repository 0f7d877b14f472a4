//! `POST /-/{format}/users/{user_id}/number`

use super::check_phone_verification::read_checked;
use super::{Call, Done, Route};
use crate::Result;
use crate::model::{CountryCode, PhoneNumber, UserId, VerificationCode};
use crate::wire::Reply;
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Changes the phone number of a user, who proves to hold the new one by the code of
/// [`StartPhoneVerification`](super::StartPhoneVerification) (interface 4.32). The code is used up.
///
/// The user keeps the id, the authenticator apps, the devices and the recovery codes. Codes that were
/// sent to the former number are wrong from then on, remembered browsers are forgotten, and the devices
/// of the user are notified.
///
/// # Errors
/// [`Error::TokenWrong`](crate::Error::TokenWrong) if the code is wrong;
/// [`Error::Rejected`](crate::Error::Rejected) with status 404 and the service code `60023` if no code
/// is pending, with 409 if another user has the number, and if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetNumber {
    /// The user who gets the number.
    pub user_id: UserId,
    /// The new number without its calling code.
    pub phone_number: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
    /// The code that was sent to the new number.
    pub verification_code: VerificationCode,
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl SetNumber {
    /// The call with its defaults.
    pub fn new(
        user_id: UserId,
        phone_number: PhoneNumber,
        country_code: CountryCode,
        verification_code: VerificationCode,
    ) -> SetNumber {
        SetNumber { user_id, phone_number, country_code, verification_code, user_ip: None }
    }
}

impl Call for SetNumber {
    const ROUTE: Route = Route::post("set_number", "/-/{format}/users/{user_id}/number");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    const WAITS_FOR_OTHERS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn read(reply: Reply) -> Result<Done> {
        read_checked::<Self>(reply)
    }
}
