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
/// service.
///
/// The call requires the code of the app that the service has accepted just now, so only someone who
/// was given that code can prepare anything, and once. The service must allow it:
/// [`Settings::offline_days`](crate::Settings::offline_days). An older code, a code by SMS, or a user
/// whose app has not shown a right code yet is [`Error::Rejected`]; a wrong code counts as a wrong
/// code of [`super::Verify`] does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrepareOffline {
    /// The user.
    pub user_id: UserId,
    /// The code of the app that was accepted in the last five minutes.
    pub token: Token,
    /// For how many days, 1 to 7. Default 3, and at most as many as the service allows.
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

/// What a machine keeps to check codes while the service is unreachable. `Debug` does not show it:
/// whoever has it can find the codes by trying all of them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OfflinePrepared {
    /// Which authenticator app the codes are of, for [`super::ReportOffline`].
    pub authenticator_id: u64,
    /// How many digits a code has.
    pub digits: u64,
    /// How long the app shows a code, in seconds. A step is a time in Unix seconds divided by it.
    pub period: u64,
    /// The step that was used last. No code of it, or of an earlier step, may be accepted.
    pub last_step: u64,
    /// The step of the first hash; each further hash is of the next step.
    pub first_step: u64,
    /// When the hashes must no longer be used, in Unix seconds.
    pub expires_at: u64,
    /// The key of the hashes: 32 bytes in Base64.
    pub hash_key: Secret,
    /// The hashes, 8 bytes each, in Base64: see [`crate::offline::Hasher`].
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
