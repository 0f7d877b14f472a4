//! `GET /protected/{format}/call/{svc_id}`

use super::{Call, CodeRequested, Route};
use crate::model::{Action, DisplayText, UserId};
use crate::wire::older::Shape;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Sends a code by voice call (interface 4.3).
///
/// # Errors
/// [`Error::RateLimited`](crate::Error::RateLimited) if the user was called for this action a
/// moment ago, or sent too many codes; an SMS a moment ago does not matter, and the call says the
/// same code. [`Error::Rejected`](crate::Error::Rejected) if there is no such user, or if codes
/// cannot be sent by voice call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCall {
    /// The user to call.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// Makes the code valid only for this action, which must also be passed to [`super::Verify`].
    pub action: Option<Action>,
    /// The description of the action in the voice call.
    pub action_message: Option<DisplayText>,
    /// The language of the voice call, such as `de`. A service that lacks it uses its own. Default:
    /// as configured with the service.
    pub locale: Option<String>,
    /// Calls the user even if the user has an app. Default: as configured with the service, no at
    /// first.
    pub force: Option<bool>,
    /// The IP address from which the request originates, which a service may limit.
    pub user_ip: Option<IpAddr>,
}

impl RequestCall {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> RequestCall {
        RequestCall {
            user_id,
            action: None,
            action_message: None,
            locale: None,
            force: None,
            user_ip: None,
        }
    }
}

impl Call for RequestCall {
    const ROUTE: Route = Route::get("request_call", "/protected/{format}/call/{svc_id}");
    const OLDER: Shape = Shape::MessageAsFlag;
    const MUST_SAY_SUCCESS: bool = true;
    const FOR_LOGIN: bool = true;
    const WAITS_FOR_OTHERS: bool = true;
    type Reply = CodeRequested;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}
