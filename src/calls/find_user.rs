//! `GET /-/{format}/logins/{login}`

use super::{Call, Route};
use crate::codes;
use crate::model::{LoginName, UserId};
use crate::wire::Reply;
use crate::wire::older::Shape;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Finds the user who has a login name, and what the user can log in with (interface 4.17).
///
/// # Errors
/// [`Error::Rejected`] with the service code `60026` if no user has the name, and with another one
/// if the service has no such call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "machines"))]
pub struct FindUser {
    /// The login name.
    pub login: LoginName,
}

impl FindUser {
    /// The call.
    pub fn new(login: LoginName) -> FindUser {
        FindUser { login }
    }

    /// Returns the user of a result; `None` if the service says that no user has the name.
    ///
    /// # Errors
    /// The other errors of the result.
    pub fn found(result: Result<FoundUser>) -> Result<Option<FoundUser>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.code() == Some(codes::USER_NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Call for FindUser {
    const ROUTE: Route = Route::get("find_user", "/-/{format}/logins/{login}");
    const REPEATABLE: bool = true;
    const OLDER: Shape = Shape::Same;
    const FOR_LOGIN: bool = true;
    const FOR_OWN_ACCOUNT: bool = true;
    type Reply = FoundUser;

    fn user_of(reply: &FoundUser) -> Option<UserId> {
        Some(reply.user_id)
    }

    /// The name decides whose codes a login accepts, so a reply about another one is rejected.
    fn read_own(&self, reply: Reply) -> Result<FoundUser> {
        let found = Self::read(reply)?;
        match found.login == self.login {
            true => Ok(found),
            false => Err(Error::invalid_response("it is about another login name")),
        }
    }
}

/// The user who has a login name, and what the user can log in with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FoundUser {
    /// The user's id.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// The login name.
    pub login: LoginName,
    /// True if the user has used a valid code.
    #[serde(default)]
    pub confirmed: bool,
    /// True if the user has a confirmed authenticator app.
    #[serde(default)]
    pub authenticator: bool,
    /// The types of device that generate or receive codes, as in the status of a user: `android`,
    /// `android_tablet`, `ios`, `svc_chrome`, `sms`.
    #[serde(default)]
    pub devices: Vec<String>,
    /// The number of recovery codes that the user has left.
    #[serde(default)]
    pub recovery_codes_left: u64,
    /// The service's message.
    pub message: Option<String>,
}

impl FoundUser {
    /// A user without anything to log in with.
    pub fn new(user_id: UserId, login: LoginName) -> FoundUser {
        FoundUser {
            user_id,
            login,
            confirmed: false,
            authenticator: false,
            devices: Vec::new(),
            recovery_codes_left: 0,
            message: None,
        }
    }
}
