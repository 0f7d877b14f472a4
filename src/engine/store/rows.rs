//! New rows without any history, and the addition of counts.

use super::tables::{Statistics, User};
use crate::engine::model::clock::Time;

impl User {
    /// Returns a user of an application to whom nothing has happened yet. The number has the
    /// calling code apart: see `Phone::columns`.
    pub(in crate::engine) fn new(
        (app_id, user_id): (i64, u64),
        (country_code, cellphone): (u16, String),
        email: &str,
        created_at: Time,
    ) -> User {
        User {
            user_id,
            app_id,
            country_code,
            cellphone,
            email: email.to_owned(),
            login: None,
            confirmed: false,
            sms_used: false,
            snoozed_until: Time(0),
            last_authenticator: 0,
            created_at,
            locked_at: None,
            number_changed_at: None,
        }
    }
}

impl User {
    /// Returns the name of the account, to show: the e-mail address, or else the name on machines.
    pub(in crate::engine) fn account(&self) -> &str {
        match self.email.is_empty() {
            true => self.login.as_deref().unwrap_or_default(),
            false => &self.email,
        }
    }
}

impl Statistics {
    /// The month of the row with the number of users.
    pub(in crate::engine) const TOTALS: i64 = 0;

    /// Nothing counted in this month.
    pub(in crate::engine) fn none(app_id: i64, month: i64) -> Statistics {
        Statistics { app_id, month, shard: 0, api_calls: 0, auths: 0, calls: 0, sms: 0, users: 0 }
    }

    pub(in crate::engine) fn add(&mut self, other: &Statistics) {
        self.api_calls += other.api_calls;
        self.auths += other.auths;
        self.calls += other.calls;
        self.sms += other.sms;
        self.users += other.users;
    }
}
