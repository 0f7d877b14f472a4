//! `POST /-/{format}/users/{user_id}/browsers/forget`

use super::{Call, Done, Route};
use crate::model::{BrowserToken, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Forgets one remembered browser of a user, or all of them (interface 4.29). Their tokens are void
/// from then on. Without a token, it forgets all of them: for a user who changes the password, loses
/// a phone or asks to be logged out everywhere.
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if no token is given and there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forget {
    /// The user whose browser it is.
    pub user_id: UserId,
    /// The token of the browser to forget; without one, all browsers of the user are forgotten. A
    /// token that is not recognised is no error, since there is nothing to forget.
    #[cfg_attr(false, c(argument))]
    pub token: Option<BrowserToken>,
}

impl Forget {
    /// The call for one browser.
    pub fn new(user_id: UserId, token: BrowserToken) -> Forget {
        Forget { user_id, token: Some(token) }
    }

    /// The call for all browsers of the user.
    pub fn all(user_id: UserId) -> Forget {
        Forget { user_id, token: None }
    }
}

impl Call for Forget {
    const ROUTE: Route = Route::post("forget", "/-/{format}/users/{user_id}/browsers/forget");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    const KEY_IN_HEADER: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
