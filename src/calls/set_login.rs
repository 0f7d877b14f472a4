//! `POST /-/{format}/logins/{login}`

use super::{Call, Done, Route};
use crate::model::{LoginName, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Gives a user a login name (interface 4.18). A user has one at most.
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if there is no such user, if another user has the
/// name, or if the user has another one: remove that first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "machines"))]
pub struct SetLogin {
    /// The user who gets the name.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// The login name.
    pub login: LoginName,
}

impl SetLogin {
    /// The call.
    pub fn new(user_id: UserId, login: LoginName) -> SetLogin {
        SetLogin { user_id, login }
    }
}

impl Call for SetLogin {
    const ROUTE: Route = Route::post("set_login", "/-/{format}/logins/{login}");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
