//! Users as they are imported and exported.

use crate::engine::model::devices::DeviceType;
use crate::engine::model::limits;
use crate::engine::model::phones::Phone;
use crate::model::{CountryCode, DeviceId, DisplayText, Email, LoginName, PhoneNumber, UserId};
use crate::otp::{Algorithm, Totp};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The highest id that an imported user or device can have: new ones have higher ids, and as many
/// are left for them.
pub(in crate::engine) const HIGHEST: u64 = 1 << 62;

/// A user who moves from one service to another, with the factors that protect the account.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct UserRecord {
    /// The user's id, which stays the same. `None` for a user who gets the next one, and whom the number
    /// identifies, or else the e-mail address, or else the login name.
    pub user_id: Option<UserId>,
    pub(in crate::engine) phone: Option<Phone>,
    /// The e-mail address that was added last. A user with neither a number nor an address has a login
    /// name.
    pub email: Option<Email>,
    /// The others.
    pub earlier_emails: Vec<Email>,
    /// The user's name on machines.
    pub login: Option<LoginName>,
    /// True if the user has used a valid code.
    pub confirmed: bool,
    /// True if one of those codes came by SMS or voice.
    pub sms_used: bool,
    /// The factors whose codes are all rejected until the user is unlocked.
    pub locked: LockedFactors,
    /// The time at which the user was created, in milliseconds since the Unix epoch; `None` for
    /// now.
    pub created: Option<i64>,
    /// At most [`MOST_APPS`](UserRecord::MOST_APPS) authenticator apps that the user uses, with a secret each, and one
    /// that is pending, which takes the place of all others with its first code.
    pub authenticators: Vec<AuthenticatorRecord>,
    /// The devices that respond to approval requests.
    pub devices: Vec<DeviceRecord>,
}

/// The factors of a user whose codes are all rejected, after too many wrong ones in a row; or the whole account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockedFactors {
    /// Codes by SMS and voice.
    pub codes: bool,
    /// Codes of authenticator apps.
    pub authenticators: bool,
    /// Recovery codes.
    pub recovery_codes: bool,
    /// The account, by an operator: nothing is accepted, and nothing sent.
    pub account: bool,
}

/// An authenticator app of a [`UserRecord`].
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct AuthenticatorRecord {
    pub(in crate::engine) secret: Zeroizing<Vec<u8>>,
    pub(in crate::engine) digits: u8,
    pub(in crate::engine) period: u64,
    /// The hash function of its codes, by default SHA-1.
    pub algorithm: Algorithm,
    /// The label that it was enrolled with.
    pub label: Option<DisplayText>,
    /// True if no code of it was accepted yet.
    pub pending: bool,
    /// The step of the last code that was accepted: its time in Unix seconds, divided by the period. If
    /// it is not known, the codes of before the import are not accepted.
    pub last_step: Option<u64>,
    /// The time at which it was enrolled, in milliseconds since the Unix epoch; `None` for now.
    pub created: Option<i64>,
}

/// A device of a [`UserRecord`].
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceRecord {
    /// Its id, which stays the same.
    pub device_id: DeviceId,
    /// Its type.
    pub kind: DeviceType,
    pub(in crate::engine) secret_hash: [u8; 32],
    /// The time at which it was registered, in milliseconds since the Unix epoch; `None` for now.
    pub registered: Option<i64>,
}

/// The outcome for a user who was to be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Imported {
    /// The user was not here, and is now.
    Created,
    /// The user was here already, and has not changed.
    Unchanged,
    /// A user with this id is here and differs, or another user has the number, the login name or a
    /// device. Nothing was changed.
    Conflict(Problem),
}

impl UserRecord {
    /// The most authenticator apps that a user uses.
    pub const MOST_APPS: usize = limits::AUTHENTICATORS;

    /// Returns a user with these fields, and nothing else known.
    ///
    /// The number is one of this country, or, if there is none, has the calling code first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a number that is invalid.
    pub fn new(
        user_id: Option<UserId>,
        country: Option<CountryCode>,
        number: &PhoneNumber,
        email: Option<Email>,
    ) -> Result<UserRecord> {
        let phone = match country {
            Some(country) => Phone::parse(country, number),
            None => Phone::parse_international(number.as_str()),
        };
        let phone = phone.map_err(crate::engine::model::phones::invalid("phone"))?;
        Ok(UserRecord::of(user_id, Some(phone), email))
    }

    /// Returns a user without a phone number, of whom nothing else is known.
    pub fn without_phone(user_id: Option<UserId>, email: Option<Email>) -> UserRecord {
        UserRecord::of(user_id, None, email)
    }

    pub(in crate::engine) fn of(
        user_id: Option<UserId>,
        phone: Option<Phone>,
        email: Option<Email>,
    ) -> UserRecord {
        UserRecord {
            user_id,
            phone,
            email,
            earlier_emails: Vec::new(),
            login: None,
            confirmed: false,
            sms_used: false,
            locked: LockedFactors::default(),
            created: None,
            authenticators: Vec::new(),
            devices: Vec::new(),
        }
    }

    /// Returns the user's number in E.164: `+15550100123`.
    pub fn phone(&self) -> Option<String> {
        self.phone.as_ref().map(Phone::e164)
    }
}

impl AuthenticatorRecord {
    /// Returns an app that the user uses, with the bytes of its secret.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] as [`Totp::new`].
    pub fn new(secret: Zeroizing<Vec<u8>>, digits: u8, period: u64) -> Result<AuthenticatorRecord> {
        let algorithm = Algorithm::default();
        Totp::new(&secret, algorithm, digits, period)?;
        Ok(AuthenticatorRecord {
            secret,
            digits,
            period,
            algorithm,
            label: None,
            pending: false,
            last_step: None,
            created: None,
        })
    }

    /// Returns the bytes of its secret.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Returns the number of digits of its codes.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// Returns the time for which it shows a code, in seconds.
    pub fn period(&self) -> u64 {
        self.period
    }
}

impl DeviceRecord {
    /// A device, by the hash of its secret.
    pub fn new(device_id: DeviceId, kind: DeviceType, secret_hash: [u8; 32]) -> DeviceRecord {
        DeviceRecord { device_id, kind, secret_hash, registered: None }
    }

    /// Returns the SHA-256 hash of the text of its secret.
    pub fn secret_hash(&self) -> &[u8; 32] {
        &self.secret_hash
    }

    /// Returns the hash of a device's secret.
    pub fn hash_of(secret: &str) -> [u8; 32] {
        Sha256::digest(secret.as_bytes()).into()
    }
}

/// An error in a field of a user to import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// The name of the field; empty for the user as a whole.
    pub field: String,
    /// The error, and the accepted values.
    pub problem: String,
}

impl Problem {
    /// Returns a problem of this field.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Problem {
        Problem { field: field.into(), problem: problem.into() }
    }

    /// Returns a problem of this field, which the error describes.
    pub(in crate::engine) fn of(error: &Error, field: &str) -> Problem {
        match error {
            Error::InvalidArgument { reason, .. } => Problem::new(field, reason.to_string()),
            other => Problem::new(field, other.to_string()),
        }
    }
}
