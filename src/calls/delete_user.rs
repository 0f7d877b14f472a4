//! `POST /protected/{format}/users/{user_id}/delete`

use super::{Call, Done, Route};
use crate::model::UserId;
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Removes a user and all data about the user from the application (interface 4.5).
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteUser {
    /// The user to remove.
    pub user_id: UserId,
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl DeleteUser {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> DeleteUser {
        DeleteUser { user_id, user_ip: None }
    }
}

impl Call for DeleteUser {
    const ROUTE: Route = Route::post("delete_user", "/protected/{format}/users/{user_id}/delete")
        .older(&[
            "/protected/{format}/users/delete/{user_id}",
            "/protected/{format}/users/{user_id}/remove",
        ]);
    const OLDER: Shape = Shape::Text;
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
