//! `POST /protected/{format}/users/new`

use super::{Call, Route, is_false, yes};
use crate::model::{CountryCode, Email, PhoneNumber, UserId};
use crate::wire::older::Shape;
use crate::wire::{Reply, loose};
use crate::{Error, Result, codes};
use serde::{Deserialize, Serialize};

/// Enrols a user, or adds an e-mail address to the user who already has this cellphone (interface
/// 4.1). Without a number, enrols a user by the e-mail address, or returns the user without a number
/// who has it: for an application that has authenticator apps only.
///
/// The person who typed the number or the address need not have it. Verify the number first, with
/// [`StartPhoneVerification`](super::StartPhoneVerification) and
/// [`CheckPhoneVerification`](super::CheckPhoneVerification), or the address by an e-mail, and set
/// `new_only`. Otherwise the second factor of the user who has it becomes the one of the person who
/// typed it.
///
/// # Errors
/// [`Error::Rejected`] if the service rejects a value, which
/// [`Rejection::fields`](crate::Rejection::fields) names; with `new_only`, that is `cellphone` if a
/// user has the number already, and without a number `email` if a user without one has the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateUser {
    /// The user to enrol.
    pub user: NewUser,
    /// Sends a new user a text message with a link to the app. Its outcome is
    /// [`UserCreated::install_message`]. Default: true.
    #[serde(default = "yes")]
    pub send_install_link_via_sms: bool,
    /// Rejects a number that a user has already, or, in a call without a number, the address of a user
    /// without one. Nothing is changed then. If a service does not say whether the user is new, the call
    /// fails with [`Error::InvalidResponse`], though the service may have enrolled the user. Default:
    /// false, which returns that user.
    #[cfg_attr(false, c(choice))]
    #[serde(default, skip_serializing_if = "is_false")]
    pub new_only: bool,
}

/// The user to enrol (interface 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "OnTheWire")]
pub struct NewUser {
    /// One of the user's e-mail addresses. It identifies a user without a phone number.
    pub email: Email,
    /// The phone number, which identifies the user. Two calls with the same number return the same
    /// user. A user without one is sent no codes.
    #[cfg_attr(false, c(argument))]
    #[cfg_attr(false, python(positional))]
    pub cellphone: Option<PhoneNumber>,
    /// The calling code of the number.
    #[cfg_attr(false, c(argument))]
    #[cfg_attr(false, python(positional))]
    pub country_code: Option<CountryCode>,
}

/// A user as it is sent. A service that knows no users without a number rejects one, and a service of
/// Seconder takes a missing number for a mistake unless the request has `without_phone`.
#[derive(Serialize)]
struct OnTheWire {
    email: Email,
    #[serde(skip_serializing_if = "Option::is_none")]
    cellphone: Option<PhoneNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country_code: Option<CountryCode>,
    #[serde(skip_serializing_if = "is_false")]
    without_phone: bool,
}

impl From<NewUser> for OnTheWire {
    fn from(NewUser { email, cellphone, country_code }: NewUser) -> OnTheWire {
        let without_phone = cellphone.is_none() && country_code.is_none();
        OnTheWire { email, cellphone, country_code, without_phone }
    }
}

impl CreateUser {
    /// The call with its defaults.
    pub fn new(email: Email, cellphone: PhoneNumber, country_code: CountryCode) -> CreateUser {
        CreateUser::of(email, Some(cellphone), Some(country_code))
    }

    /// The call for a user without a phone number, with its defaults.
    pub fn without_phone(email: Email) -> CreateUser {
        CreateUser::of(email, None, None)
    }

    fn of(
        email: Email,
        cellphone: Option<PhoneNumber>,
        country_code: Option<CountryCode>,
    ) -> CreateUser {
        let user = NewUser { email, cellphone, country_code };
        CreateUser { user, send_install_link_via_sms: true, new_only: false }
    }
}

impl Call for CreateUser {
    const ROUTE: Route = Route::post("create_user", "/protected/{format}/users/new");
    const INVALID: &'static str = codes::INVALID_USER;
    const OLDER: Shape = Shape::Bare;
    const REPLY_OBJECT: Option<&'static str> = Some("user");
    const BESIDE: &'static [&'static str] = &["message", "install_message"];
    const WAITS_FOR_OTHERS: bool = true;
    type Reply = UserCreated;

    /// Half a number is a mistake, and must not make a user without one.
    fn check(&self) -> Result<()> {
        let required = |name| Err(Error::invalid_argument(name, "is required"));
        match (&self.user.cellphone, self.user.country_code) {
            (Some(_), None) => required("country_code"),
            (None, Some(_)) => required("cellphone"),
            _ => Ok(()),
        }
    }

    fn user_of(reply: &UserCreated) -> Option<UserId> {
        Some(reply.user_id)
    }

    /// A service that does not know `new_only` ignores it, so that the user may be another person. One
    /// that does not know users without a number may have taken the user for somebody else, too.
    fn read_own(&self, reply: Reply) -> Result<UserCreated> {
        let user = Self::read(reply)?;
        let problem = match user.created {
            Some(true) => return Ok(user),
            Some(false) if !self.new_only => return Ok(user),
            Some(false) => "ignores `new_only`: the user was there before",
            None if self.new_only => "does not say whether the user is new, as `new_only` requires",
            None if self.user.cellphone.is_none() => {
                "does not say whether the user is new, so it may know no users without a phone number"
            }
            None => return Ok(user),
        };
        Err(Error::invalid_response(format!("the service {problem}")))
    }
}

/// An enrolled user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserCreated {
    /// The id to store and to pass to the other calls.
    #[serde(rename = "id")]
    pub user_id: UserId,
    /// True if the call enrolled the user. False for a user who was there before, who may be
    /// another person than the one who typed the number. `None` if the service does not say: only a
    /// service of Seconder does.
    #[serde(default, deserialize_with = "loose::if_it_fits")]
    pub created: Option<bool>,
    /// The service's message.
    pub message: Option<String>,
    /// The outcome of the text message with a link to the app. `None` if the service does not say:
    /// only a service of Seconder does.
    #[serde(default, deserialize_with = "loose::if_it_fits")]
    pub install_message: Option<InstallMessage>,
}

/// The outcome of the text message with a link to the app (interface 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallMessage {
    /// It was sent.
    Sent,
    /// It could not be sent yet, and is attempted again.
    Queued,
    /// It is not sent, because the application has no link to an app, or SMS is not enabled for it.
    NotConfigured,
    /// It is not sent, because the call does not request it, or the user was there before.
    NotRequested,
    /// It could not be sent.
    Failed,
}

impl InstallMessage {
    /// The value's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            InstallMessage::Sent => "sent",
            InstallMessage::Queued => "queued",
            InstallMessage::NotConfigured => "not_configured",
            InstallMessage::NotRequested => "not_requested",
            InstallMessage::Failed => "failed",
        }
    }
}

impl UserCreated {
    /// A reply that says no more than the id.
    pub fn new(user_id: UserId) -> UserCreated {
        UserCreated { user_id, created: None, message: None, install_message: None }
    }
}
