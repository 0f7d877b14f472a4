//! `GET /protected/{format}/phones/verification/status`

use super::{Call, Route};
use crate::model::{ApprovalId, CountryCode, PhoneNumber};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Requests the state of a number's verification, which [`super::StartPhoneVerification`] began. It is
/// identified either by its `uuid` or by the number.
///
/// It is for display: a user proves to hold a number by [`super::CheckPhoneVerification`] alone,
/// since anyone may have verified the number before.
///
/// # Errors
/// [`Error::Rejected`] with the service code `60023` if there is no such verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneVerificationStatus {
    /// The id of the verification, from
    /// [`PhoneVerificationStarted::uuid`](super::PhoneVerificationStarted::uuid).
    pub uuid: Option<ApprovalId>,
    /// The number without its calling code, whose latest verification is meant.
    pub phone_number: Option<PhoneNumber>,
    /// The calling code of the number.
    pub country_code: Option<CountryCode>,
}

impl PhoneVerificationStatus {
    /// The call for a verification's id.
    pub fn new(uuid: ApprovalId) -> PhoneVerificationStatus {
        PhoneVerificationStatus { uuid: Some(uuid), phone_number: None, country_code: None }
    }

    /// The call for the latest verification of a number.
    pub fn of_number(
        phone_number: PhoneNumber,
        country_code: CountryCode,
    ) -> PhoneVerificationStatus {
        let (phone_number, country_code) = (Some(phone_number), Some(country_code));
        PhoneVerificationStatus { uuid: None, phone_number, country_code }
    }
}

impl Call for PhoneVerificationStatus {
    const ROUTE: Route =
        Route::get("phone_verification_status", "/protected/{format}/phones/verification/status");
    const REPEATABLE: bool = true;
    type Reply = PhoneVerificationRecord;

    fn check(&self) -> Result<()> {
        match (&self.uuid, &self.phone_number, &self.country_code) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => Ok(()),
            (None, Some(_), None) => Err(Error::invalid_argument("country_code", "is required")),
            (None, None, Some(_)) => Err(Error::invalid_argument("phone_number", "is required")),
            (None, None, None) => Err(Error::invalid_argument(
                "uuid",
                "is required, or phone_number and country_code",
            )),
            (Some(_), ..) => Err(Error::invalid_argument(
                "uuid",
                "must not be given with phone_number or country_code",
            )),
        }
    }
}

/// The service's record of a number's verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhoneVerificationRecord {
    /// The state of the verification.
    #[serde(default)]
    pub status: VerificationStatus,
    /// The time that the code remains valid, in seconds; 0 unless the verification is pending.
    pub seconds_to_expire: Option<u64>,
    /// The service's message.
    pub message: Option<String>,
}

/// The states of a number's verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationStatus {
    /// The code was sent and can still be checked.
    Pending,
    /// The code was right.
    Verified,
    /// The code was not entered in time, or wrong codes were entered too often.
    Expired,
    /// A status that this library does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

impl VerificationStatus {
    /// The status's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            VerificationStatus::Pending => "pending",
            VerificationStatus::Verified => "verified",
            VerificationStatus::Expired => "expired",
            VerificationStatus::Unknown => "unknown",
        }
    }
}
