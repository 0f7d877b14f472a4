//! `POST /-/{format}/users/{user_id}/unlock`

use super::{Call, Done, Route};
use crate::model::UserId;
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Lets a user try codes again after too many wrong ones (interface 4.30). The counts of wrong
/// codes of all factors start again at 0, so it ends waits too. Codes that were sent have the tries
/// that they had.
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "admin"))]
pub struct UnlockUser {
    /// The user who may try again.
    pub user_id: UserId,
}

impl UnlockUser {
    /// The call.
    pub fn new(user_id: UserId) -> UnlockUser {
        UnlockUser { user_id }
    }
}

impl Call for UnlockUser {
    const ROUTE: Route = Route::post("unlock_user", "/-/{format}/users/{user_id}/unlock");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
