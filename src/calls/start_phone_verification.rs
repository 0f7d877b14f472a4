//! `POST /protected/{format}/phones/verification/start`

use super::{Call, Route};
use crate::model::{ApprovalId, CountryCode, PhoneNumber};
use crate::wire::loose;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Sends a code to a number that belongs to no user yet (interface 4.10).
///
/// # Errors
/// [`Error::RateLimited`] if a code was sent to the number by the same channel a moment ago, or too
/// often; [`Error::Rejected`] if the number cannot be reached by this channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartPhoneVerification {
    /// The channel that delivers the code.
    pub via: Channel,
    /// The number without its calling code.
    pub phone_number: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
    /// The language of the message, such as `de`. A service that lacks it uses its own. Default: as
    /// configured with the service.
    pub locale: Option<String>,
    /// The number of digits of the code, 4 to 10. Default: as configured with the service.
    pub code_length: Option<u64>,
    /// The IP address from which the request originates, which a service may limit.
    pub user_ip: Option<IpAddr>,
}

/// The channel that delivers a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// In a text message.
    Sms,
    /// In a voice call.
    Call,
}

impl Channel {
    /// The channel's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Channel::Sms => "sms",
            Channel::Call => "call",
        }
    }
}

impl StartPhoneVerification {
    /// The call with its defaults.
    pub fn new(
        via: Channel,
        phone_number: PhoneNumber,
        country_code: CountryCode,
    ) -> StartPhoneVerification {
        StartPhoneVerification {
            via,
            phone_number,
            country_code,
            locale: None,
            code_length: None,
            user_ip: None,
        }
    }
}

impl Call for StartPhoneVerification {
    const ROUTE: Route =
        Route::post("start_phone_verification", "/protected/{format}/phones/verification/start");
    const MUST_SAY_SUCCESS: bool = true;
    const WAITS_FOR_OTHERS: bool = true;
    type Reply = PhoneVerificationStarted;

    fn check(&self) -> Result<()> {
        match self.code_length {
            None | Some(4..=10) => Ok(()),
            Some(_) => Err(Error::invalid_argument("code_length", "must be 4 to 10")),
        }
    }
}

/// A verification that was started: a code was sent to the number.
#[cfg_attr(false, c(optional))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhoneVerificationStarted {
    /// The number's carrier.
    pub carrier: Option<String>,
    /// True if the number was ported from another carrier.
    pub is_ported: Option<bool>,
    /// True if the number is a mobile number.
    pub is_cellphone: Option<bool>,
    /// The service's message.
    pub message: Option<String>,
    /// The time that the code remains valid, in seconds.
    #[cfg_attr(
        false,
        c = "The time that the code remains valid, in seconds, or [`FOREVER`]. 0 if the \
             service does not provide it."
    )]
    #[cfg_attr(false, c(zero))]
    pub seconds_to_expire: Option<u64>,
    /// The id of the verification.
    pub uuid: Option<ApprovalId>,
    /// After how many seconds another code can be sent to the number by the same channel, even if
    /// this one is not used. `None` if the service does not say: only a service of Seconder does.
    #[cfg_attr(false, c(known))]
    #[cfg_attr(false, cpp(seconds))]
    #[serde(default, deserialize_with = "loose::if_it_fits")]
    pub resend_after: Option<u64>,
}
