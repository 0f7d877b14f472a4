//! `POST /-/{format}/users/{user_id}/devices/invite`

use super::{Call, Route};
use crate::model::{Secret, UserId};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Makes an invitation, by which a user registers a phone that approves logins and shows codes (interface
/// 4.31). It can be used once, within ten minutes.
///
/// # Errors
/// [`Error::Rejected`] with the service code `no_public_url` if the service has no public URL, by
/// which phones reach it, and if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteDevice {
    /// The user who registers the phone.
    pub user_id: UserId,
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    pub qr_size: Option<u64>,
}

impl InviteDevice {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> InviteDevice {
        InviteDevice { user_id, qr_size: None }
    }
}

impl Call for InviteDevice {
    const ROUTE: Route = Route::post("invite_device", "/-/{format}/users/{user_id}/devices/invite");
    type Reply = DeviceInvited;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        match self.qr_size {
            None | Some(100..=1000) => Ok(()),
            Some(_) => Err(Error::invalid_argument("qr_size", "must be 100 to 1000 pixels")),
        }
    }
}

/// An invitation. Anyone who has its link or its code can register a device. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInvited {
    /// The link that the user opens on the phone.
    #[serde(default)]
    pub link: Secret,
    /// The code in the link, which can be typed too: ten letters and digits in two groups.
    #[serde(default)]
    pub code: Secret,
    /// The link as a QR code: a `data:` URL for an `<img>`.
    #[serde(default)]
    pub qr_code: Secret,
    /// For how long the invitation is valid, in seconds.
    #[cfg_attr(false, cpp(seconds))]
    pub expires_in: u64,
}

impl DeviceInvited {
    /// An invitation by this link and code, valid for so many seconds.
    pub fn new(link: Secret, code: Secret, qr_code: Secret, expires_in: u64) -> DeviceInvited {
        DeviceInvited { link, code, qr_code, expires_in }
    }
}

impl fmt::Debug for DeviceInvited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("DeviceInvited");
        fields.field("expires_in", &self.expires_in).finish_non_exhaustive()
    }
}
