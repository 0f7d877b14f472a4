//! `GET /protected/{format}/users/{user_id}/status`

use super::{Call, Factors, Route};
use crate::model::UserId;
use crate::wire::loose;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Requests the service's record of a user (interface 4.8).
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStatus {
    /// The user whose record is returned.
    pub user_id: UserId,
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl UserStatus {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> UserStatus {
        UserStatus { user_id, user_ip: None }
    }
}

impl Call for UserStatus {
    const ROUTE: Route = Route::get("user_status", "/protected/{format}/users/{user_id}/status");
    const REPEATABLE: bool = true;
    const REPLY_OBJECT: Option<&'static str> = Some("status");
    const FOR_LOGIN: bool = true;
    const FOR_OWN_ACCOUNT: bool = true;
    type Reply = UserStatusReply;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}

/// The service's record of a user (interface 2.2).
#[cfg_attr(false, python(name = "UserStatus"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserStatusReply {
    /// The user's id.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// True if the user has used a valid code.
    #[serde(default)]
    pub confirmed: bool,
    /// True if the user has registered an app.
    #[serde(default)]
    pub registered: bool,
    /// The calling code of the user's number.
    pub country_code: Option<u64>,
    /// The user's number, masked: `XXX-XXX-0123`.
    pub phone_number: Option<String>,
    /// The types of device that generate or receive codes: `android`, `android_tablet`, `ios`,
    /// `svc_chrome`, `sms`.
    #[serde(default)]
    pub devices: Vec<String>,
    /// True if the user has a hardware token.
    #[serde(default)]
    pub has_hard_token: bool,
    /// True if the user's account is disabled.
    #[serde(default)]
    pub account_disabled: bool,
    /// The factors that protect the account. `None` if the service does not say: only a service of
    /// Seconder does.
    #[serde(default, deserialize_with = "loose::if_it_fits")]
    pub factors: Option<Factors>,
    /// When the user was created, in Unix seconds. `None` if the service does not say: only a service of Seconder
    /// does.
    #[cfg_attr(false, python(time))]
    #[serde(
        default,
        deserialize_with = "loose::if_it_fits",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<i64>,
    /// The service's message.
    pub message: Option<String>,
}

impl UserStatusReply {
    /// A record with only the user's id.
    pub fn new(user_id: UserId) -> UserStatusReply {
        UserStatusReply {
            user_id,
            confirmed: false,
            registered: false,
            country_code: None,
            phone_number: None,
            devices: Vec::new(),
            has_hard_token: false,
            account_disabled: false,
            factors: None,
            created_at: None,
            message: None,
        }
    }
}
