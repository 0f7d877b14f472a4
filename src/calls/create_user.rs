//! `POST /protected/{format}/users/new`

use super::{Call, Route, is_false, yes};
use crate::model::{CountryCode, Email, PhoneNumber, UserId};
use crate::wire::older::Shape;
use crate::wire::{Reply, loose};
use crate::{Error, Result, codes};
use serde::{Deserialize, Serialize};

/// Enrols a user, or adds an e-mail address to the user who already has this cellphone (interface
/// 4.1).
///
/// The person who typed the number need not have it. Verify it first, with
/// [`StartPhoneVerification`](super::StartPhoneVerification) and
/// [`CheckPhoneVerification`](super::CheckPhoneVerification), and set `new_only`. Otherwise the
/// second factor of the user who has the number becomes the one of the person who typed it.
///
/// # Errors
/// [`Error::Rejected`] if the service rejects a value, which
/// [`Rejection::fields`](crate::Rejection::fields) names; with `new_only`, that is `cellphone` if a
/// user has the number already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateUser {
    /// The user to enrol.
    pub user: NewUser,
    /// Sends a new user a text message with a link to the app. Its outcome is
    /// [`UserCreated::install_message`]. Default: true.
    #[serde(default = "yes")]
    pub send_install_link_via_sms: bool,
    /// Rejects a number that a user has already, and then changes nothing. If a service does not say
    /// whether the user is new, the call fails with [`Error::InvalidResponse`], though the service may
    /// have enrolled the user. Default: false, which returns that user.
    #[cfg_attr(false, c(choice))]
    #[serde(default, skip_serializing_if = "is_false")]
    pub new_only: bool,
}

/// The user to enrol (interface 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUser {
    /// One of the user's e-mail addresses.
    pub email: Email,
    /// The phone number, which identifies the user. Two calls with the same number return the same
    /// user.
    pub cellphone: PhoneNumber,
    /// The calling code of the number.
    pub country_code: CountryCode,
}

impl CreateUser {
    /// The call with its defaults.
    pub fn new(email: Email, cellphone: PhoneNumber, country_code: CountryCode) -> CreateUser {
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

    fn user_of(reply: &UserCreated) -> Option<UserId> {
        Some(reply.user_id)
    }

    /// A service that does not know `new_only` ignores it, so that the user may be another person.
    fn read_own(&self, reply: Reply) -> Result<UserCreated> {
        let user = Self::read(reply)?;
        match user.created {
            _ if !self.new_only => Ok(user),
            Some(true) => Ok(user),
            Some(false) => Err(Error::invalid_response(
                "the service ignores `new_only`: a user with this phone number was there before",
            )),
            None => Err(Error::invalid_response(
                "the service does not say whether the user is new, as `new_only` requires",
            )),
        }
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
