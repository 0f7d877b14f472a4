//! `POST /-/{format}/users/{user_id}/devices/{device_id}/remove`

use super::{Call, Done, Route};
use crate::model::{DeviceId, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Removes a registered device of a user (interface 4.26). Its secret is void from then on, and the
/// remembered browsers of the user are forgotten. Approval requests stay open for the user's other
/// devices; a user who has no app and no device left is sent codes by SMS again.
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) with the service code `device_not_found` if the user
/// has no such device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveDevice {
    /// The user who has the device.
    pub user_id: UserId,
    /// The device, by its id in [`Factors`](super::Factors).
    pub device_id: DeviceId,
}

impl RemoveDevice {
    /// The call.
    pub fn new(user_id: UserId, device_id: DeviceId) -> RemoveDevice {
        RemoveDevice { user_id, device_id }
    }
}

impl Call for RemoveDevice {
    const ROUTE: Route =
        Route::post("remove_device", "/-/{format}/users/{user_id}/devices/{device_id}/remove");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
