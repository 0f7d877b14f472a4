//! `POST /-/{format}/users/{svc_id}/recovery_codes`

use super::{Call, Route};
use crate::model::{Token, UserId};
use crate::wire::Reply;
use crate::wire::older::Shape;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Creates a set of recovery codes for a user, in place of any that the user has (interface 4.20).
/// Show them to the user, who keeps them on paper: each is right once, as the token of
/// [`Verify`](super::Verify), and they are returned only here.
///
/// # Errors
/// [`Error::Rejected`] if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateRecoveryCodes {
    /// The user who gets the codes.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
}

impl CreateRecoveryCodes {
    /// The call.
    pub fn new(user_id: UserId) -> CreateRecoveryCodes {
        CreateRecoveryCodes { user_id }
    }
}

impl Call for CreateRecoveryCodes {
    const ROUTE: Route =
        Route::post("create_recovery_codes", "/-/{format}/users/{svc_id}/recovery_codes");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    const FOR_OWN_ACCOUNT: bool = true;
    type Reply = RecoveryCodes;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn read(reply: Reply) -> Result<RecoveryCodes> {
        let created = super::read::<Self>(reply)?;
        match created.codes.is_empty() {
            // The earlier codes may be void, and the user must not go away without any.
            true => Err(Error::invalid_response("it has no recovery codes")),
            false => Ok(created),
        }
    }
}

/// The recovery codes of a user. Anyone who has one can log in with it once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecoveryCodes {
    /// The codes, of 12 digits each. `Debug` does not show them.
    pub codes: Vec<Token>,
    /// The service's message.
    pub message: Option<String>,
}

impl RecoveryCodes {
    /// These codes, without a message.
    pub fn new(codes: Vec<Token>) -> RecoveryCodes {
        RecoveryCodes { codes, message: None }
    }
}
