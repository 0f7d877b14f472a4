//! `POST /-/{format}/users/{user_id}/authenticators/{authenticator_id}/remove`

use super::{Call, Done, Route};
use crate::model::{AuthenticatorId, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Removes an authenticator app of a user, confirmed or pending (interface 4.24). Its codes are
/// wrong from then on, except on machines that have prepared logins without the service (interface
/// 4.21). A user who has no app and no device left is sent codes by SMS again. Removing a confirmed
/// app also forgets the remembered browsers of the user.
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) with the service code `authenticator_not_found` if
/// the user has no such app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveAuthenticator {
    /// The user who has the app.
    pub user_id: UserId,
    /// The app, by its id in [`Factors`](super::Factors).
    pub authenticator_id: AuthenticatorId,
}

impl RemoveAuthenticator {
    /// The call.
    pub fn new(user_id: UserId, authenticator_id: AuthenticatorId) -> RemoveAuthenticator {
        RemoveAuthenticator { user_id, authenticator_id }
    }
}

impl Call for RemoveAuthenticator {
    const ROUTE: Route = Route::post(
        "remove_authenticator",
        "/-/{format}/users/{user_id}/authenticators/{authenticator_id}/remove",
    );
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
