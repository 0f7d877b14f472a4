//! `GET /protected/{format}/app/stats`

use super::{Call, Route};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Requests the application's usage, month by month (interface 4.9).
///
/// # Errors
/// [`Error::Unauthorized`](crate::Error::Unauthorized) if the service does not accept the API key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(false, python(group = "admin"))]
pub struct AppStats {
    /// The IP address from which the request originates.
    pub user_ip: Option<IpAddr>,
}

impl Call for AppStats {
    const ROUTE: Route = Route::get("app_stats", "/protected/{format}/app/stats");
    const REPEATABLE: bool = true;
    type Reply = Statistics;
}

/// The application's usage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The application's number.
    pub app_id: Option<u64>,
    /// The number of months, as the service counts them.
    pub count: Option<u64>,
    /// The service's message.
    pub message: Option<String>,
    /// The months, oldest first.
    #[serde(default)]
    pub stats: Vec<MonthlyStatistic>,
    /// The current number of the application's users.
    pub total_users: Option<u64>,
}

/// The application's usage in one month, in UTC (interface 2.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MonthlyStatistic {
    /// The English name of the month.
    pub month: String,
    /// The year.
    pub year: u64,
    /// The number of API calls by the application.
    pub api_calls_count: Option<u64>,
    /// The number of codes and approvals that let a user in.
    pub auths_count: Option<u64>,
    /// The number of voice calls made.
    pub calls_count: Option<u64>,
    /// The number of SMS sent.
    #[serde(default)]
    pub sms_count: u64,
    /// The number of users enrolled.
    #[serde(default)]
    pub users_count: u64,
}
