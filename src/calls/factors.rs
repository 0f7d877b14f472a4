//! The factors that protect a user's account.

use crate::model::{AuthenticatorId, DeviceId};
use serde::{Deserialize, Serialize};

/// The factors of a user (interface 2.7). None of these is a secret. A service that leaves one of them
/// out says nothing: an empty list would mean that the user has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Factors {
    /// True if codes can be sent to the user's number by SMS.
    pub sms: bool,
    /// The user's authenticator apps, oldest first: at most one that is confirmed, and one that is
    /// pending.
    pub authenticators: Vec<Authenticator>,
    /// The devices that the user has registered for approval requests, oldest first.
    pub devices: Vec<RegisteredDevice>,
    /// The number of recovery codes that the user has left.
    pub recovery_codes: u64,
    /// True if codes by SMS and voice are not checked, after too many wrong ones in a row, until
    /// [`UnlockUser`](super::UnlockUser); false if the service does not say.
    #[serde(default)]
    pub codes_locked: bool,
    /// True if the codes of authenticator apps are not checked, until
    /// [`UnlockUser`](super::UnlockUser).
    #[serde(default)]
    pub authenticators_locked: bool,
    /// True if recovery codes are not checked, until [`UnlockUser`](super::UnlockUser).
    #[serde(default)]
    pub recovery_codes_locked: bool,
}

/// An authenticator app of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Authenticator {
    /// Its id, for [`RemoveAuthenticator`](super::RemoveAuthenticator).
    pub id: AuthenticatorId,
    /// True if a code of it was accepted. Until then it is pending.
    #[serde(default)]
    pub confirmed: bool,
    /// The label that it was enrolled with, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it was enrolled, in Unix seconds.
    #[cfg_attr(false, python(time))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
}

/// A device that a user has registered for approval requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegisteredDevice {
    /// Its id, for [`RemoveDevice`](super::RemoveDevice).
    pub id: DeviceId,
    /// `android`, `android_tablet`, `ios` or `svc_chrome`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// When it was registered, in Unix seconds.
    #[cfg_attr(false, python(time))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
}

impl Authenticator {
    /// Creates a pending app with nothing known besides its id.
    pub fn new(id: AuthenticatorId) -> Authenticator {
        Authenticator { id, confirmed: false, label: None, created_at: None }
    }
}

impl RegisteredDevice {
    /// Creates a device with nothing known besides its id.
    pub fn new(id: DeviceId) -> RegisteredDevice {
        RegisteredDevice { id, r#type: None, created_at: None }
    }
}
