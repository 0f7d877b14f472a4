//! The calls about phone numbers.

use super::Service;
use crate::calls::*;
use crate::model::{ApprovalId, CountryCode, PhoneNumber, UserId, VerificationCode};
use crate::{Handle, Result};

impl Service {
    /// Sends a code to a number that does not belong to a user yet (interface 4.10). See
    /// [`StartPhoneVerification`] for the options.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn start_phone_verification(
        &self,
        via: Channel,
        phone_number: &str,
        country_code: &str,
    ) -> Result<PhoneVerificationStarted> {
        let (number, country) = phone(phone_number, country_code)?;
        self.handle(&StartPhoneVerification::new(via, number, country))
    }

    /// Checks the code that was sent to a number. `Ok` means that it was right.
    ///
    /// # Errors
    /// See [`CheckPhoneVerification`].
    pub fn check_phone_verification(
        &self,
        phone_number: &str,
        country_code: &str,
        code: &VerificationCode,
    ) -> Result<Done> {
        let (number, country) = phone(phone_number, country_code)?;
        self.handle(&CheckPhoneVerification::new(number, country, code.clone()))
    }

    /// Changes the phone number of a user, who proves to hold the new one by the code that was sent to it
    /// (interface 4.32).
    ///
    /// # Errors
    /// See [`SetNumber`].
    pub fn set_number(
        &self,
        user_id: UserId,
        phone_number: &str,
        country_code: &str,
        code: &VerificationCode,
    ) -> Result<Done> {
        let (number, country) = phone(phone_number, country_code)?;
        self.handle(&SetNumber::new(user_id, number, country, code.clone()))
    }

    /// Returns the state of a number's verification, by the id that
    /// [`start_phone_verification`](Service::start_phone_verification) returned. See
    /// [`PhoneVerificationStatus`] for the options.
    ///
    /// # Errors
    /// [`crate::Error::Rejected`] with status 404 and code `60023` if there is no such verification;
    /// otherwise see [`crate::Error`].
    pub fn phone_verification_status(&self, uuid: &ApprovalId) -> Result<PhoneVerificationRecord> {
        self.handle(&PhoneVerificationStatus::new(uuid.clone()))
    }

    /// Returns the type of a phone number (interface 4.11).
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn phone_info(&self, phone_number: &str, country_code: &str) -> Result<PhoneInformation> {
        let (number, country) = phone(phone_number, country_code)?;
        self.handle(&PhoneInfo::new(number, country))
    }
}

fn phone(number: &str, country: &str) -> Result<(PhoneNumber, CountryCode)> {
    Ok((number.parse()?, country.parse()?))
}
