//! Applications: which one is selected, its details and its usage (interface 4.7 and 4.9).

use super::clock::{self, Now, Random, Time};
use super::operations::applications::{self as stored, App, AppChange};
use super::operations::audit::Trail;
use super::store::{self, Store};
use super::{Engine, EngineSettings, Limits, PushHosts, Texts, limits};
use crate::calls::{self, AppDetails, AppStats, Application, MonthlyStatistic, Statistics};
use crate::model::{
    ApiKey, CallbackMethod, CallbackUrl, DisplayText, InstallLink, LogoUrl, OtpDomain,
};
use crate::otp::{Algorithm, Totp};
use crate::wire::{Generation, Names};
use crate::{Error, Handle, Result};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use time::Month;
use zeroize::Zeroizing;

const DEFAULT_NAME: &str = "Seconder";
/// The id of the application with which a database is created.
/// The application of those who give no key. It is never removed, or they would be given another one, or none.
pub(super) const FIRST: i64 = 1;

/// Rejects invalid settings before a database is created for them.
pub(super) fn check(settings: &EngineSettings) -> Result<AppChange> {
    if settings.token_length.is_some_and(|length| !(6..=10).contains(&length)) {
        return Err(Error::invalid_argument("token_length", "must be 6 to 10"));
    }
    if settings.offline_days.is_some_and(|days| u64::from(days) > calls::MOST_OFFLINE_DAYS) {
        return Err(Error::invalid_argument("offline_days", "must be 0 (none) to 7"));
    }
    if let Some(text) = &settings.limits {
        Limits::default().set(text)?;
    }
    settings.push_hosts.as_deref().unwrap_or_default().parse::<PushHosts>()?;
    check_codes(settings)?;
    Ok(AppChange {
        token_length: settings.token_length,
        name: settings.application_name.as_deref().map(name).transpose()?,
        callback_url: settings.callback_url.as_deref().map(unless_empty).transpose()?,
        replies: settings.replies,
        callback_method: settings.callback_method,
        callback_ca_file: settings.callback_ca_file.as_deref().map(absolute).transpose()?,
        callback_private: settings.callback_private,
        install_link: settings.install_link.as_deref().map(unless_empty).transpose()?,
        offline_days: settings.offline_days,
        limits: settings.limits.clone(),
        texts: settings.texts.as_deref().map(str::parse).transpose()?,
        otp_domain: settings.otp_domain.as_deref().map(unless_empty).transpose()?,
        plan: settings.plan.as_deref().map(plan).transpose()?,
        white_label: settings.white_label,
        sms_enabled: settings.sms_enabled,
        force_codes: settings.force_codes,
        logo: settings.logo.as_deref().map(unless_empty).transpose()?,
        authenticator_digits: settings.authenticator_digits,
        authenticator_period: settings.authenticator_period,
    })
}

/// Rejects codes that no authenticator app shows.
fn check_codes(settings: &EngineSettings) -> Result<()> {
    let digits = settings.authenticator_digits.unwrap_or(limits::AUTHENTICATOR_DIGITS);
    let period = settings.authenticator_period.unwrap_or(limits::AUTHENTICATOR_PERIOD);
    let of_setting = |error| match error {
        Error::InvalidArgument { parameter, reason } => Error::InvalidArgument {
            parameter: format!("authenticator_{parameter}").into(),
            reason,
        },
        other => other,
    };
    Totp::new(&[0; limits::SECRET_LENGTH], Algorithm::Sha1, digits, period)
        .map_err(of_setting)
        .map(drop)
}

/// A setting that an empty text removes.
fn unless_empty<T: FromStr<Err = Error>>(text: &str) -> Result<Option<T>> {
    (!text.is_empty()).then(|| text.parse()).transpose()
}

/// The application that the settings select, created if the database has none yet.
pub(super) fn select(store: &Store, settings: &EngineSettings, now: Now) -> Result<App> {
    let change = check(settings)?;
    let trail = trail(settings, now)?;
    if store.look(stored::all)?.is_empty() {
        let names = settings.names.clone().unwrap_or_default();
        let first = new(&*settings.random, settings.api_key.as_ref(), names, &change)?;
        let trail = trail.clone();
        store.run(move |view| stored::add_first(view, &first, &trail))?;
    }
    let app = match &settings.api_key {
        Some(key) => of_key(store, key, now.steady)?.ok_or_else(unknown_key)?,
        None => sole_or_first(store.look(stored::all)?)?,
    };
    if let Some(names) = settings.names.as_ref().filter(|names| **names != app.names) {
        let reason = format!(
            "differ from those of the database. Given: {names}. Stored: {}. Leave the names out to \
             use the stored ones; for other names, create another database",
            app.names
        );
        return Err(Error::invalid_argument("names", reason));
    }
    if change == AppChange::default() {
        return Ok(app);
    }
    let trail = Trail { app: app.app_id, ..trail }.next();
    store.run(move |view| stored::configure(view, &change, &trail))?;
    let id = app.app_id;
    store.look(move |view| stored::of_id(view, id))?.ok_or_else(unknown_key)
}

/// What the audit says of the opening.
fn trail(settings: &EngineSettings, now: Now) -> Result<Trail> {
    let mut nonce = [0; 8];
    settings.random.fill(&mut nonce)?;
    let nonce = i64::from_le_bytes(nonce) & i64::MAX;
    Ok(Trail { app: 0, call: "open", nonce, user_ip: None, operator: None, now, refused: None })
}

/// The application with this API key.
pub(super) fn of_key(store: &Store, api_key: &ApiKey, now: Time) -> Result<Option<App>> {
    let api_key = api_key.clone();
    store.look(move |view| stored::of_key(view, &api_key, now))
}

pub(super) fn unknown_key() -> Error {
    calls::unauthorized("no application has it")
}

/// The error of an application that somebody has removed while it is in use.
pub(super) fn removed() -> Error {
    calls::unauthorized("the application was removed")
}

/// A new application, whose key is generated unless one is given.
pub(super) fn new(
    random: &dyn Random,
    api_key: Option<&ApiKey>,
    names: Names,
    change: &AppChange,
) -> Result<App> {
    let api_key = match api_key {
        Some(key) => key.clone(),
        None => ApiKey::try_from(clock::secret(random)?)?,
    };
    let mut secret = Zeroizing::new([0; 32]);
    random.fill(&mut *secret)?;
    Ok(App {
        app_id: 0,
        name: change.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        plan: change.plan.clone().unwrap_or_else(|| "embedded".to_owned()),
        sms_enabled: change.sms_enabled.unwrap_or(true),
        white_label: change.white_label.unwrap_or(false),
        api_key,
        earlier: None,
        secret,
        callback_url: change.callback_url.clone().flatten(),
        token_length: change.token_length.unwrap_or(limits::TOKEN_LENGTH),
        replies: change.replies.unwrap_or_default(),
        names,
        callback_method: change.callback_method.unwrap_or_default(),
        callback_ca_file: change.callback_ca_file.clone().flatten(),
        callback_private: change.callback_private.unwrap_or_default(),
        install_link: change.install_link.clone().flatten(),
        offline_days: change.offline_days.unwrap_or(0),
        limits: {
            let mut limits = Limits::default();
            limits.set(change.limits.as_deref().unwrap_or_default())?;
            limits
        },
        texts: change.texts.clone().unwrap_or_default(),
        otp_domain: change.otp_domain.clone().flatten(),
        force_codes: change.force_codes.unwrap_or(false),
        logo: change.logo.clone().flatten(),
        authenticator_digits: change.authenticator_digits.unwrap_or(limits::AUTHENTICATOR_DIGITS),
        authenticator_period: change.authenticator_period.unwrap_or(limits::AUTHENTICATOR_PERIOD),
    })
}

/// The path from the root, because the processes that post callbacks may run in several folders.
fn absolute(file: &Path) -> Result<Option<String>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let bad = |reason: &str| {
        Error::invalid_argument("callback_ca_file", format!("{} {reason}", file.display()))
    };
    let path = std::path::absolute(file).map_err(|_| bad("is not a path"))?;
    path.into_os_string().into_string().map(Some).map_err(|_| bad("must be UTF-8"))
}

/// The application of those who give no key: the only one, or [`FIRST`]. Whoever opened a database that had
/// only one is not given another because applications were added.
fn sole_or_first(mut apps: Vec<App>) -> Result<App> {
    if apps.len() > 1 {
        apps.retain(|app| app.app_id == FIRST);
    }
    apps.pop().ok_or_else(|| {
        let reason = "is required: the database has several applications, and the first one is \
                      missing";
        Error::invalid_argument("api_key", reason)
    })
}

fn name(name: &str) -> Result<String> {
    let text: DisplayText = name.parse().map_err(|_| bad_name())?;
    match text.as_str().len() <= 64 && !text.as_str().contains([':', '\n', '\t']) {
        true => Ok(name.to_owned()),
        false => Err(bad_name()),
    }
}

fn plan(plan: &str) -> Result<String> {
    let text = plan.parse::<DisplayText>().ok();
    match text.filter(|text| text.as_str().len() <= 64 && !text.as_str().contains(['\n', '\t'])) {
        Some(text) => Ok(text.as_str().to_owned()),
        None => Err(Error::invalid_argument(
            "plan",
            "must be 1 to 64 bytes without tabs and line feeds",
        )),
    }
}

fn bad_name() -> Error {
    Error::invalid_argument(
        "application_name",
        "must be 1 to 64 bytes without colons, tabs and line feeds",
    )
}

/// The settings of an application, which are stored with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplicationSettings {
    /// The name in messages and authenticator apps.
    pub name: String,
    /// The names used in callbacks, and by a server in front of the engine.
    pub names: Names,
    /// The generation of the bodies that such a server replies with.
    pub replies: Generation,
    /// Where callbacks are sent.
    pub callback_url: Option<CallbackUrl>,
    /// How they are sent.
    pub callback_method: CallbackMethod,
    /// The PEM file with the authorities that are trusted then, instead of the system's.
    pub callback_ca_file: Option<PathBuf>,
    /// Whether they may go to addresses that are not of the public Internet.
    pub callback_private: bool,
    /// The number of digits of codes by SMS and voice.
    pub token_length: u8,
    /// The link in the install message, which new users receive if there is one.
    pub install_link: Option<InstallLink>,
    /// For how many days machines may check codes without the service; 0 if they may not.
    pub offline_days: u8,
    /// Its limits.
    pub limits: Limits,
    /// Its own texts of messages.
    pub texts: Texts,
    /// The domain for which browsers read codes in its messages.
    pub otp_domain: Option<OtpDomain>,
    /// What was booked, as the details of the application say it.
    pub plan: String,
    /// Whether they say that it has an app of its own.
    pub white_label: bool,
    /// Whether it sends SMS.
    pub sms_enabled: bool,
    /// Whether users who have an app are sent codes too, unless a call says otherwise.
    pub force_codes: bool,
    /// The picture of approval requests that have none of their own.
    pub logo: Option<LogoUrl>,
    /// The number of digits of the codes of authenticator apps that are enrolled from now on.
    pub authenticator_digits: u8,
    /// How long they show a code, in seconds.
    pub authenticator_period: u64,
}

impl Engine {
    /// Has requests that follow find the settings that are stored now. Another program may have changed them,
    /// which they would find a few seconds later without this.
    pub fn read_settings_again(&self) {
        self.shared.forget_applications();
    }

    /// The settings of the application.
    pub fn application_settings(&self) -> ApplicationSettings {
        let app = &self.app;
        ApplicationSettings {
            name: app.name.clone(),
            names: app.names.clone(),
            replies: app.replies,
            callback_url: app.callback_url.clone(),
            callback_method: app.callback_method,
            callback_ca_file: app.callback_ca_file.as_ref().map(PathBuf::from),
            callback_private: app.callback_private,
            token_length: app.token_length,
            install_link: app.install_link.clone(),
            offline_days: app.offline_days,
            limits: app.limits.clone(),
            texts: app.texts.clone(),
            otp_domain: app.otp_domain.clone(),
            plan: app.plan.clone(),
            white_label: app.white_label,
            sms_enabled: app.sms_enabled,
            force_codes: app.force_codes,
            logo: app.logo.clone(),
            authenticator_digits: app.authenticator_digits,
            authenticator_period: app.authenticator_period,
        }
    }
}

impl Handle<AppDetails> for Engine {
    fn handle(&self, _call: &AppDetails) -> Result<Application> {
        self.begin();
        Ok(Application {
            app_id: u64::try_from(self.app.app_id).ok(),
            name: self.app.name.clone(),
            plan: Some(self.app.plan.clone()),
            sms_enabled: self.app.sms_enabled,
            phone_calls_enabled: true,
            push_enabled: true,
            white_label: self.app.white_label,
            message: Some("Application information.".into()),
        })
    }
}

impl Handle<AppStats> for Engine {
    fn handle(&self, _call: &AppStats) -> Result<Statistics> {
        let last = self.begin().clock.month();
        let app = self.app.app_id;
        let (counted, total_users) =
            self.run(move |view| stored::statistics(view, app, last - 11))?;
        let of = |month| counted.iter().find(|counted| counted.month == month).cloned();
        let months = (last - 11..=last)
            .map(|month| of(month).unwrap_or_else(|| store::Statistics::none(app, month)));
        Ok(Statistics {
            app_id: u64::try_from(self.app.app_id).ok(),
            count: Some(12),
            message: Some("Monthly statistics.".into()),
            stats: months.map(statistic).collect(),
            total_users: Some(total_users),
        })
    }
}

fn statistic(counted: store::Statistics) -> MonthlyStatistic {
    let number = |count: i64| u64::try_from(count).unwrap_or(0);
    let month = u8::try_from(counted.month.rem_euclid(12) + 1).unwrap_or(1);
    MonthlyStatistic {
        month: Month::try_from(month).unwrap_or(Month::January).to_string(),
        year: u64::try_from(counted.month.div_euclid(12)).unwrap_or(0),
        api_calls_count: Some(number(counted.api_calls)),
        auths_count: Some(number(counted.auths)),
        calls_count: Some(number(counted.calls)),
        sms_count: number(counted.sms),
        users_count: number(counted.users),
    }
}
