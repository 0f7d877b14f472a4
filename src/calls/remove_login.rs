//! `POST /-/{format}/logins/{login}/remove`

use super::{Call, Done, Route};
use crate::model::LoginName;
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Takes a login name from the user who has it (interface 4.19).
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if no user has the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "machines"))]
pub struct RemoveLogin {
    /// The login name.
    pub login: LoginName,
}

impl RemoveLogin {
    /// The call.
    pub fn new(login: LoginName) -> RemoveLogin {
        RemoveLogin { login }
    }
}

impl Call for RemoveLogin {
    const ROUTE: Route = Route::post("remove_login", "/-/{format}/logins/{login}/remove");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;
}
