//! `POST /protected/{format}/users/new`

use super::{Call, Route, yes};
use crate::model::{CountryCode, Email, PhoneNumber, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};

/// Enrols a user, or adds an e-mail to the user who has this cellphone already (interface 4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateUser {
    /// Who is enrolled.
    pub user: NewUser,
    /// Whether the user gets a first text message that tells where the app is. Default true; a
    /// service without such a message sends none.
    #[serde(default = "yes")]
    pub send_install_link_via_sms: bool,
}

/// Who is enrolled (interface 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUser {
    /// One of the user's e-mail addresses.
    pub email: Email,
    /// The key that matches users: two calls with the same number give the same user.
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
}

/// The user is enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserCreated {
    /// The id to keep and to give to the other calls.
    pub id: UserId,
    /// What happened, in the service's words.
    pub message: Option<String>,
}

impl UserCreated {
    /// An answer without words.
    pub fn new(id: UserId) -> UserCreated {
        UserCreated { id, message: None }
    }
}
