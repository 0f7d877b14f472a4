//! `POST /protected/{format}/users/new`

use super::{Call, Route, yes};
use crate::model::{CountryCode, Email, PhoneNumber, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Enrols a user, or adds an e-mail address to the user who already has this cellphone (interface
/// 4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateUser {
    /// The user to enrol.
    pub user: NewUser,
    /// Whether to send a new user a text message with a link to the app. Default true; an
    /// application without an install link sends none, and the reply's message says so.
    #[serde(default = "yes")]
    pub send_install_link_via_sms: bool,
}

/// The user to enrol (interface 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUser {
    /// One of the user's e-mail addresses.
    pub email: Email,
    /// The number that identifies the user: two calls with the same number return the same user.
    pub cellphone: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
}

impl CreateUser {
    /// The call with its defaults.
    pub fn new(email: Email, cellphone: PhoneNumber, country_code: CountryCode) -> CreateUser {
        let user = NewUser { email, cellphone, country_code };
        CreateUser { user, send_install_link_via_sms: true }
    }
}

impl Call for CreateUser {
    const ROUTE: Route = Route::post("create_user", "/protected/{format}/users/new");
    const INVALID: &'static str = "60027";
    const OLDER: Shape = Shape::Bare;
    const REPLY_OBJECT: Option<&'static str> = Some("user");
    type Reply = UserCreated;

    fn user_of(reply: &UserCreated) -> Option<UserId> {
        Some(reply.id)
    }
}

/// The user was enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserCreated {
    /// The id to store and to pass to the other calls.
    pub id: UserId,
    /// The service's message.
    pub message: Option<String>,
}

impl UserCreated {
    /// A reply without a message.
    pub fn new(id: UserId) -> UserCreated {
        UserCreated { id, message: None }
    }
}
