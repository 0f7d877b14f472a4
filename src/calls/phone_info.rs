//! `GET /protected/{format}/phones/info`

use super::{Call, Route};
use crate::model::{CountryCode, PhoneNumber};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Asks what kind of number a number is (interface 4.11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneInfo {
    /// The number.
    pub phone_number: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
    /// The address of the user who asks.
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
    const INVALID: &'static str = "60025";
    type Reply = PhoneInformation;
}

/// What the service knows of a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhoneInformation {
    /// What happened, in the service's words.
    pub message: Option<String>,
    /// The kind of number.
    #[serde(rename = "type", default)]
    pub phone_type: PhoneType,
    /// Who carries the number, where the service knows.
    pub provider: Option<String>,
    /// Whether the number moved from one carrier to another, where the service knows.
    pub ported: Option<bool>,
}

/// The kinds of number that the interface knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhoneType {
    /// A number reached over the Internet.
    Voip,
    /// A number that receives no SMS.
    Landline,
    /// A mobile number.
    Cellphone,
    /// None of them for sure. In North America the number itself does not tell.
    #[default]
    #[serde(other)]
    Unknown,
}

impl PhoneType {
    /// The kind's name in the interface.
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
    /// A number of which only the kind is known.
    pub fn new(phone_type: PhoneType) -> PhoneInformation {
        PhoneInformation { message: None, phone_type, provider: None, ported: None }
    }
}
