//! `GET /protected/{format}/sms/{svc_id}` and `GET /protected/{format}/call/{svc_id}`

use super::{Call, Channel, Route, is_false};
use crate::model::{Action, DisplayText, UserId};
use crate::wire::{loose, older::Shape};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Sends a code by SMS (interface 4.2).
///
/// # Errors
/// [`Error::RateLimited`](crate::Error::RateLimited) if the user was sent an SMS for this action a
/// moment ago, or too many codes; [`Error::Rejected`](crate::Error::Rejected) if there is no such
/// user, or if codes cannot be sent by SMS.
pub type RequestSms = RequestCode<BySms>;

/// Sends a code by voice call (interface 4.3).
///
/// # Errors
/// [`Error::RateLimited`](crate::Error::RateLimited) if the user was called for this action a
/// moment ago, or sent too many codes; an SMS a moment ago does not matter, and the call says the
/// same code. [`Error::Rejected`](crate::Error::Rejected) if there is no such user, or if codes
/// cannot be sent by voice call.
pub type RequestCall = RequestCode<ByCall>;

/// Sends a code: [`RequestSms`] or [`RequestCall`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCode<By> {
    /// The user to whom the code is sent.
    #[serde(rename = "svc_id")]
    pub user_id: UserId,
    /// Makes the code valid only for this action, which must also be passed to [`super::Verify`].
    pub action: Option<Action>,
    /// The description of the action in the message.
    pub action_message: Option<DisplayText>,
    /// The language of the message, such as `de`. A service that lacks it uses its own. Default: as
    /// configured with the service.
    pub locale: Option<String>,
    /// Sends the code even if the user has an app. Default: as configured with the service, no at
    /// first.
    pub force: Option<bool>,
    /// The IP address from which the request originates, which a service may limit.
    pub user_ip: Option<IpAddr>,
    /// The channel. It is public so that other crates can update a call that [`RequestCode::new`] made.
    #[doc(hidden)]
    #[serde(skip)]
    pub by: By,
}

impl<By: CodeChannel> RequestCode<By> {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> RequestCode<By> {
        RequestCode {
            user_id,
            action: None,
            action_message: None,
            locale: None,
            force: None,
            user_ip: None,
            by: By::default(),
        }
    }
}

impl<By: CodeChannel> Call for RequestCode<By> {
    const ROUTE: Route = By::ROUTE;
    const OLDER: Shape = Shape::MessageAsFlag;
    const MUST_SAY_SUCCESS: bool = true;
    const FOR_LOGIN: bool = true;
    const WAITS_FOR_OTHERS: bool = true;
    type Reply = CodeRequested;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }
}

/// The way in which a [`RequestCode`] sends the code: [`BySms`] or [`ByCall`].
pub trait CodeChannel: Clone + Default + sealed::Sealed {
    /// The channel.
    const CHANNEL: Channel;
    /// Where the call goes.
    const ROUTE: Route;
}

/// Sends a code by SMS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BySms;

impl CodeChannel for BySms {
    const CHANNEL: Channel = Channel::Sms;
    const ROUTE: Route = Route::get("request_sms", "/protected/{format}/sms/{svc_id}");
}

/// Sends a code by voice call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByCall;

impl CodeChannel for ByCall {
    const CHANNEL: Channel = Channel::Call;
    const ROUTE: Route = Route::get("request_call", "/protected/{format}/call/{svc_id}");
}

mod sealed {
    /// Keeps [`CodeChannel`](super::CodeChannel) to the channels of the interface.
    pub trait Sealed {}

    impl Sealed for super::BySms {}
    impl Sealed for super::ByCall {}
}

/// A code that was sent, or was not needed.
#[cfg_attr(false, c(optional))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeRequested {
    /// The service's message.
    pub message: Option<String>,
    /// The number used, masked: `+1-XXX-XXX-XX23`.
    pub cellphone: Option<String>,
    /// True if nothing was sent because the user has an app and the code was not forced.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignored: bool,
    /// The user's latest device, if the request was ignored.
    pub device: Option<String>,
    /// After how many seconds another request for the same action by the same channel is accepted,
    /// even if the code is not used. `None` if nothing was sent, or if the service does not say:
    /// only a service of Seconder does.
    #[cfg_attr(false, c(known))]
    #[cfg_attr(false, cpp(seconds))]
    #[serde(default, deserialize_with = "loose::if_it_fits")]
    pub resend_after: Option<u64>,
}
