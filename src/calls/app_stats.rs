//! `GET /protected/{format}/app/stats`

use super::{Call, Route};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Asks how much the application used, month by month (interface 4.9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppStats {
    /// The address that asks.
    pub user_ip: Option<IpAddr>,
}

impl Call for AppStats {
    const ROUTE: Route = Route::get("app_stats", "/protected/{format}/app/stats");
    const REPEATABLE: bool = true;
    type Reply = Statistics;
}

/// What the application used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The application's number.
    pub app_id: Option<u64>,
    /// How many months follow.
    pub count: Option<u64>,
    /// What happened, in the service's words.
    pub message: Option<String>,
    /// The months, the oldest first.
    #[serde(default)]
    pub stats: Vec<MonthlyStatistic>,
    /// How many users the application has now.
    pub total_users: Option<u64>,
}

/// What the application used in one month, in UTC (interface 2.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MonthlyStatistic {
    /// The English name of the month.
    pub month: String,
    /// The year.
    pub year: u64,
    /// How many calls the application made.
    pub api_calls_count: Option<u64>,
    /// How many codes and approvals let somebody in.
    pub auths_count: Option<u64>,
    /// How many voice calls were made.
    pub calls_count: Option<u64>,
    /// How many SMS were sent.
    #[serde(default)]
    pub sms_count: u64,
    /// How many users were enrolled.
    #[serde(default)]
    pub users_count: u64,
}
