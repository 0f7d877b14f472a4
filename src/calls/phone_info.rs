//! `GET /protected/{format}/phones/info`

use super::{Call, Route};
use crate::codes;
use crate::model::{CountryCode, PhoneNumber};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Requests the type of a phone number (interface 4.11).
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if it is not a phone number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneInfo {
    /// The number without its calling code.
    pub phone_number: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl PhoneInfo {
    /// The call with its defaults.
    pub fn new(phone_number: PhoneNumber, country_code: CountryCode) -> PhoneInfo {
        PhoneInfo { phone_number, country_code, user_ip: None }
    }
}

impl Call for PhoneInfo {
    const ROUTE: Route = Route::get("phone_info", "/protected/{format}/phones/info");
    const REPEATABLE: bool = true;
    const INVALID_NUMBER: &'static str = codes::PHONE_UNKNOWN;
    const WAITS_FOR_OTHERS: bool = true;
    type Reply = PhoneInformation;
}

/// The service's record of a phone number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhoneInformation {
    /// The service's message.
    pub message: Option<String>,
    /// The type of the number.
    #[serde(rename = "type", default)]
    pub phone_type: PhoneType,
    /// The number's carrier.
    pub provider: Option<String>,
    /// True if the number was ported from another carrier.
    pub ported: Option<bool>,
}

/// The types of phone numbers that the interface defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhoneType {
    /// A number reached over the Internet.
    Voip,
    /// A number that receives no SMS.
    Landline,
    /// A mobile number.
    Cellphone,
    /// None of these for certain. North American numbers do not distinguish mobile phones from
    /// landlines.
    #[default]
    #[serde(other)]
    Unknown,
}

impl PhoneType {
    /// The type's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            PhoneType::Voip => "voip",
            PhoneType::Landline => "landline",
            PhoneType::Cellphone => "cellphone",
            PhoneType::Unknown => "unknown",
        }
    }
}

impl PhoneInformation {
    /// A record with only the type.
    pub fn new(phone_type: PhoneType) -> PhoneInformation {
        PhoneInformation { message: None, phone_type, provider: None, ported: None }
    }
}
