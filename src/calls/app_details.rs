//! `GET /protected/{format}/app/details`

use super::{Call, Route};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Requests the service's record of the application (interface 4.7).
///
/// # Errors
/// [`Error::Unauthorized`](crate::Error::Unauthorized) if the service does not accept the API key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppDetails {
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl Call for AppDetails {
    const ROUTE: Route = Route::get("app_details", "/protected/{format}/app/details");
    const REPEATABLE: bool = true;
    const REPLY_OBJECT: Option<&'static str> = Some("app");
    type Reply = Application;
}

/// The service's record of an application (interface 2.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Application {
    /// The application's number.
    pub app_id: Option<u64>,
    /// The name shown to users in messages.
    #[serde(default)]
    pub name: String,
    /// The application's plan with the service.
    pub plan: Option<String>,
    /// True if codes can be sent by SMS.
    #[serde(default)]
    pub sms_enabled: bool,
    /// True if codes can be sent by voice call.
    #[serde(default)]
    pub phone_calls_enabled: bool,
    /// True if approval requests can be sent. On the wire, the name of this field begins with the
    /// first part of the paths of approval requests (see [`crate::wire::Names::push_path`]).
    #[cfg_attr(false, c = "Returns whether approval requests can be sent.")]
    #[cfg_attr(false, python = "True if approval requests can be sent.")]
    #[serde(default)]
    pub push_enabled: bool,
    /// True if the application's own app is used.
    #[serde(default)]
    pub white_label: bool,
    /// The service's message.
    pub message: Option<String>,
}
