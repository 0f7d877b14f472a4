//! Applications: which one is selected, its details and its usage (interface 4.7 and 4.9).

use super::clock;
use super::store::{AppChange, AppRow, Counted, Store};
use super::{Engine, EngineSettings, limits};
use crate::calls::{AppDetails, AppStats, Application, MonthlyStatistic, Statistics};
use crate::model::{ApiKey, DisplayText};
use crate::otp::{Algorithm, Totp};
use crate::{Error, Handle, Result};
use time::Month;

const DEFAULT_NAME: &str = "Seconder";

/// Rejects invalid settings before a database is created for them.
pub(super) fn check(settings: &EngineSettings) -> Result<AppChange> {
    if settings.token_length.is_some_and(|length| !(6..=10).contains(&length)) {
        return Err(Error::invalid_argument("token_length", "must be 6 to 10"));
    }
    let (digits, period) = settings.authenticator;
    Totp::new(&[0; limits::SECRET_LENGTH], Algorithm::Sha1, digits, period)?;
    Ok(AppChange {
        token_length: settings.token_length,
        name: settings.application_name.as_deref().map(name).transpose()?,
        callback_url: settings.callback_url.as_deref().map(str::parse).transpose()?,
    })
}

/// The application that the settings select, created if the database has none yet.
pub(super) fn select(store: &dyn Store, settings: &EngineSettings) -> Result<AppRow> {
    let change = check(settings)?;
    if store.applications()?.is_empty() {
        store
            .add_first_application(first(settings, &change)?, clock::Time::of(&*settings.clock))?;
    }
    let app = match &settings.api_key {
        Some(key) => store.application_of_key(key)?.ok_or_else(unknown_key)?,
        None => sole(store.applications()?)?,
    };
    if change == AppChange::default() {
        return Ok(app);
    }
    store.configure_application(app.app_id, change)?;
    store.application_of_key(&app.api_key)?.ok_or_else(unknown_key)
}

pub(super) fn unknown_key() -> Error {
    Error::Unauthorized { message: "no application has it".into() }
}

fn first(settings: &EngineSettings, change: &AppChange) -> Result<AppRow> {
    let api_key = match &settings.api_key {
        Some(key) => key.clone(),
        None => ApiKey::try_from(clock::secret(&*settings.random)?)?,
    };
    Ok(AppRow {
        app_id: 0,
        name: change.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        plan: "embedded".into(),
        sms_enabled: true,
        white_label: false,
        api_key,
        callback_url: change.callback_url.clone(),
        token_length: change.token_length.unwrap_or(limits::TOKEN_LENGTH),
    })
}

fn sole(mut apps: Vec<AppRow>) -> Result<AppRow> {
    match (apps.pop(), apps.len()) {
        (Some(app), 0) => Ok(app),
        (_, others) => Err(Error::invalid_argument(
            "api_key",
            format!("is required: the database has {} applications", others + 1),
        )),
    }
}

fn name(name: &str) -> Result<String> {
    let text: DisplayText = name.parse().map_err(|_| bad_name())?;
    match text.as_str().len() <= 64 && !text.as_str().contains([':', '\n', '\t']) {
        true => Ok(name.to_owned()),
        false => Err(bad_name()),
    }
}

fn bad_name() -> Error {
    Error::invalid_argument(
        "application_name",
        "must be 1 to 64 bytes without colons, tabs and line feeds",
    )
}

impl Handle<AppDetails> for Engine {
    fn handle(&self, _call: &AppDetails) -> Result<Application> {
        self.begin();
        Ok(Application {
            app_id: u64::try_from(self.app.app_id).ok(),
            name: self.app.name.clone(),
            plan: Some(self.app.plan.clone()),
            sms_enabled: self.app.sms_enabled,
            // One setting allows or forbids every message to a phone.
            phone_calls_enabled: self.app.sms_enabled,
            push_enabled: true,
            white_label: self.app.white_label,
            message: Some("Application information.".into()),
        })
    }
}

impl Handle<AppStats> for Engine {
    fn handle(&self, _call: &AppStats) -> Result<Statistics> {
        let last = self.begin().month();
        let (counted, total_users) = self.store().statistics(self.app.app_id, last - 11)?;
        let of = |month| counted.iter().find(|counted| counted.month == month).copied();
        let months = (last - 11..=last)
            .map(|month| of(month).unwrap_or(Counted { month, ..Counted::default() }));
        Ok(Statistics {
            app_id: u64::try_from(self.app.app_id).ok(),
            count: Some(12),
            message: Some("Monthly statistics.".into()),
            stats: months.map(statistic).collect(),
            total_users: Some(total_users),
        })
    }
}

fn statistic(counted: Counted) -> MonthlyStatistic {
    let month = u8::try_from(counted.month.rem_euclid(12) + 1).unwrap_or(1);
    MonthlyStatistic {
        month: Month::try_from(month).unwrap_or(Month::January).to_string(),
        year: u64::try_from(counted.month.div_euclid(12)).unwrap_or(0),
        api_calls_count: Some(counted.api_calls),
        auths_count: Some(counted.auths),
        calls_count: Some(counted.calls),
        sms_count: counted.sms,
        users_count: counted.users,
    }
}
