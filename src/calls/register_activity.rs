//! `POST /protected/{format}/users/{user_id}/register_activity`

use super::{Call, Done, Route, is_kept, is_small};
use crate::Result;
use crate::model::UserId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::net::IpAddr;

/// Reports a user's activity to the service, for fraud detection (interface 4.6).
///
/// # Errors
/// [`Error::Rejected`](crate::Error::Rejected) if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterActivity {
    /// The user whom the activity is about.
    pub user_id: UserId,
    /// The kind of activity.
    #[serde(rename = "type")]
    pub activity: ActivityType,
    /// Additional data about the activity.
    ///
    /// A remote service receives it in a form, as `data[name]=value`, `data[list][0]=value` and so
    /// on, which every service of the interface reads. There, numbers and flags become text; nulls,
    /// empty lists and empty objects are left out; an object whose names are 0, 1, 2 and so on may
    /// be read as a list; and a name that is empty or has brackets is an
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
    /// [`Settings::nested_as_json`](crate::Settings::nested_as_json) sends it unchanged.
    #[cfg_attr(
        false,
        c = "Additional data about the activity: a JSON object as text, at most 16 KiB. A remote \
             service receives it as [`Settings::nested_as_json`] describes."
    )]
    #[cfg_attr(
        false,
        python = "Additional data about the activity, as anything that JSON can hold, at most 16 \
                  KiB. A remote service receives numbers and flags in it as text, unless \
                  [`Settings::nested_as_json`] is set, which describes the rest."
    )]
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// The user's IP address during the activity.
    pub user_ip: Option<IpAddr>,
}

/// The activities that the interface defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityType {
    /// The user's password was reset.
    PasswordReset,
    /// The application banned the user.
    Banned,
    /// The application lifted the ban.
    Unbanned,
    /// A cookie was accepted in place of the second factor.
    CookieLogin,
}

impl RegisterActivity {
    /// The call with its defaults.
    pub fn new(user_id: UserId, activity: ActivityType) -> RegisterActivity {
        RegisterActivity { user_id, activity, data: Map::new(), user_ip: None }
    }
}

impl ActivityType {
    /// The activity's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            ActivityType::PasswordReset => "password_reset",
            ActivityType::Banned => "banned",
            ActivityType::Unbanned => "unbanned",
            ActivityType::CookieLogin => "cookie_login",
        }
    }
}

impl Call for RegisterActivity {
    const ROUTE: Route =
        Route::post("register_activity", "/protected/{format}/users/{user_id}/register_activity");
    const FREE_FORM: &'static [&'static str] = &["data"];
    const MUST_SAY_SUCCESS: bool = true;
    type Reply = Done;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        is_kept("data", &self.data)?;
        is_small("data", &self.data)
    }
}
