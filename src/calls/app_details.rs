//! `GET /protected/{format}/app/details`

use super::{Call, Route};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Asks what the service knows of the application (interface 4.7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppDetails {
    /// The address that asks.
    pub user_ip: Option<IpAddr>,
}

impl Call for AppDetails {
    const ROUTE: Route = Route::get("app_details", "/protected/{format}/app/details");
    const REPEATABLE: bool = true;
    const REPLY_OBJECT: Option<&'static str> = Some("app");
    type Reply = Application;
}

/// One application of the service (interface 2.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Application {
    /// The application's number.
    pub app_id: Option<u64>,
    /// The name that users see in messages.
    #[serde(default)]
    pub name: String,
    /// What was booked with the service.
    pub plan: Option<String>,
    /// Whether codes can be sent by SMS.
    #[serde(default)]
    pub sms_enabled: bool,
    /// Whether the application's own app is used.
    #[serde(default)]
    pub white_label: bool,
    /// What happened, in the service's words.
    pub message: Option<String>,
}
