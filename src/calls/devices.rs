//! `GET /-/{format}/users/{user_id}/devices`

use super::{Call, RegisteredDevice, Route};
use crate::model::UserId;
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Lists the devices that a user has registered for approval requests (interface 4.25).
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Devices {
    /// The user whose devices are listed.
    pub user_id: UserId,
}

impl Devices {
    /// The call.
    pub fn new(user_id: UserId) -> Devices {
        Devices { user_id }
    }
}

impl Call for Devices {
    const ROUTE: Route = Route::get("devices", "/-/{format}/users/{user_id}/devices");
    const REPEATABLE: bool = true;
    const OLDER: Shape = Shape::Same;
    const FOR_OWN_ACCOUNT: bool = true;
    type Reply = RegisteredDevices;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}

/// The devices that a user has registered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegisteredDevices {
    /// The devices, oldest first.
    pub devices: Vec<RegisteredDevice>,
    /// The service's message.
    pub message: Option<String>,
}
