//! `POST /-/{format}/users/{user_id}/offline/logins`

use super::{Call, Done, Route};
use crate::model::{DisplayText, UserId};
use crate::wire::older::Shape;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Reports the logins that a machine has accepted while the service was unreachable (interface
/// 4.22). The service marks their codes as used, and records each login as an activity of the user.
///
/// A machine reports a login until a report of it was acknowledged; a login that is reported twice
/// is recorded once.
///
/// # Errors
/// [`Error::Rejected`] if there is no such user, and with the service code `offline_not_prepared`
/// if the service has not prepared these logins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "machines"))]
pub struct ReportOffline {
    /// The user who logged in.
    pub user_id: UserId,
    /// The authenticator app, by
    /// [`OfflinePrepared::authenticator_id`](super::OfflinePrepared::authenticator_id).
    pub authenticator_id: u64,
    /// A list of 1 to 100 logins.
    #[cfg_attr(false, c(argument, most = "ReportOffline::MOST_LOGINS"))]
    #[cfg_attr(false, python(required))]
    #[serde(default)]
    pub logins: Vec<OfflineLogin>,
    /// The machine, for the service's records.
    pub machine: Option<DisplayText>,
}

/// A login that was accepted while the service was unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfflineLogin {
    /// The step of the code.
    pub step: u64,
    /// When the code was accepted, in Unix seconds.
    pub time: u64,
}

impl ReportOffline {
    /// More logins than a machine accepts before it reaches the service again.
    pub(crate) const MOST_LOGINS: usize = 100;

    /// The call with its defaults.
    pub fn new(user_id: UserId, authenticator_id: u64, logins: Vec<OfflineLogin>) -> ReportOffline {
        ReportOffline { user_id, authenticator_id, logins, machine: None }
    }
}

impl Call for ReportOffline {
    const ROUTE: Route =
        Route::post("report_offline", "/-/{format}/users/{user_id}/offline/logins");
    const OLDER: Shape = Shape::Same;
    const KEY_IN_HEADER: bool = true;
    const MUST_SAY_SUCCESS: bool = true;
    const FOR_LOGIN: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        match (1..=ReportOffline::MOST_LOGINS).contains(&self.logins.len()) {
            true => Ok(()),
            false => Err(Error::invalid_argument("logins", "must be 1 to 100 logins")),
        }
    }
}
