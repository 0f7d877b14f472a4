//! `POST /-/{format}/users/{user_id}/offline`

use super::{Call, Route};
use crate::model::{DisplayText, Secret, Token, UserId};
use crate::wire::older::Shape;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest time for which codes can be prepared, in days.
pub const MOST_OFFLINE_DAYS: u64 = 7;

/// Prepares logins of a user while the service is unreachable: returns a hash of each code that the
/// user's authenticator app will show in the next days (interface 4.21). The secret stays with the
/// service. A machine must accept a step once, and none before it, and report each login with
/// [`ReportOffline`](super::ReportOffline).
///
/// The call requires the code of the app that the service has accepted just now, so only someone
/// who was given that code can prepare anything, and once. The service must allow it:
/// [`Settings::offline_days`](crate::Settings::offline_days). A wrong code counts as a wrong code
/// of [`Verify`](super::Verify) does.
///
/// # Errors
/// [`Error::Rejected`] if the service does not allow it, if the code is not the one that was
/// accepted last, such as a code by SMS, if the user's app has not shown a right code yet, or if
/// there is no such user; [`Error::RateLimited`] after wrong codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "machines"))]
pub struct PrepareOffline {
    /// The user who logs in.
    pub user_id: UserId,
    /// The code of the app that was accepted in the last five minutes.
    pub token: Token,
    /// The number of days, 1 to 7, and at most as many as the service allows. Default: 3.
    pub days: Option<u64>,
    /// The machine that keeps the hashes, for the service's records.
    pub machine: Option<DisplayText>,
}

impl PrepareOffline {
    /// The call with its defaults.
    pub fn new(user_id: UserId, token: Token) -> PrepareOffline {
        PrepareOffline { user_id, token, days: None, machine: None }
    }
}

impl Call for PrepareOffline {
    const ROUTE: Route = Route::post("prepare_offline", "/-/{format}/users/{user_id}/offline");
    const OLDER: Shape = Shape::Same;
    const KEY_IN_HEADER: bool = true;
    const FOR_LOGIN: bool = true;
    type Reply = OfflinePrepared;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        match self.days {
            None | Some(1..=MOST_OFFLINE_DAYS) => Ok(()),
            Some(_) => Err(Error::invalid_argument("days", "must be 1 to 7")),
        }
    }
}

/// The hashes by which a machine checks codes while the service is unreachable. Anyone who has them
/// can find the codes by trying all of them. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OfflinePrepared {
    /// The number of the authenticator app that generates the codes, for [`super::ReportOffline`].
    pub authenticator_id: u64,
    /// The number of digits of a code.
    #[cfg_attr(false, python(no_repr))]
    pub digits: u64,
    /// The time that the app shows a code, in seconds. A step is a time in Unix seconds divided by it.
    #[cfg_attr(false, python(no_repr))]
    pub period: u64,
    /// The step that was used last. No code of it, or of an earlier step, may be accepted.
    #[cfg_attr(false, python(no_repr))]
    pub last_step: u64,
    /// The step of the first hash; each further hash is of the next step.
    #[cfg_attr(false, python(no_repr))]
    pub first_step: u64,
    /// When the hashes must no longer be used, in Unix seconds.
    pub expires_at: u64,
    /// The key of the hashes: 32 bytes in Base64.
    pub hash_key: Secret,
    /// The hashes, 8 bytes each, in Base64: see [`crate::offline::Hasher`].
    #[cfg_attr(
        false,
        c = "The hashes, 8 bytes each, in Base64. Each is the first 8 bytes of HMAC-SHA-256 with \
             the key [`OfflinePrepared::hash_key`], of the text \"seconder offline code\", a zero \
             byte, the user's id and the step as 8 bytes each with the most significant first, \
             and the digits of the code."
    )]
    #[cfg_attr(false, python = "The hashes, 8 bytes each, in Base64.")]
    pub hashes: Secret,
    /// The service's message.
    pub message: Option<String>,
}

impl fmt::Debug for OfflinePrepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("OfflinePrepared");
        fields.field("authenticator_id", &self.authenticator_id);
        fields.field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
