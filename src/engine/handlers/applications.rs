//! Applications: choice of an application, its details and its usage (interface 4.7 and 4.9).

use crate::calls::{self, AppDetails, AppStats, Application, MonthlyStatistic, Statistics};
use crate::engine::app_settings::App;
use crate::engine::app_settings::{AppSettings, ApplicationSettings};
use crate::engine::core::{By, Engine, Shared};
use crate::engine::handlers::settings::EngineSettings;
use crate::engine::model::clock::{self, Now, Random, Time};
use crate::engine::operations::applications as stored;
use crate::engine::operations::audit::Trail;
use crate::engine::operations::statistics;
use crate::engine::store::{self, Store};
use crate::model::ApiKey;
use crate::wire::{Generation, Names};
use crate::{Error, Handle, Result};
use std::sync::Arc;
use time::Month;
use zeroize::Zeroizing;

/// The id of the application with which a database is created. It is also the application of callers that give no key,
/// and is never removed, or they would be given another one, or none.
pub(in crate::engine) const FIRST: i64 = 1;

/// Rejects invalid settings before a database is created for them.
pub(in crate::engine) fn check(settings: &AppSettings) -> Result<()> {
    ApplicationSettings::new(Names::default()).change(settings)
}

/// Returns the application that the settings select, created if the database has none yet.
pub(in crate::engine) fn select(store: &Store, settings: &EngineSettings, now: Now) -> Result<App> {
    let change = settings.app.clone();
    settings.check_application()?;
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
    if let Some(names) = settings.names.as_ref().filter(|names| **names != app.settings.names) {
        let reason = format!(
            "differ from those of the database. Given: {names}. Stored: {}. Leave the names out to \
             use the stored ones; for other names, create another database",
            app.settings.names
        );
        return Err(Error::invalid_argument("names", reason));
    }
    if change == AppSettings::default() {
        return Ok(app);
    }
    let trail = Trail { app: app.app_id, ..trail }.next();
    store.run(move |view| stored::configure(view, &change, &trail))?;
    let id = app.app_id;
    store.look(move |view| stored::of_id(view, id))?.ok_or_else(unknown_key)
}

/// Returns the audit trail of opening an application.
fn trail(settings: &EngineSettings, now: Now) -> Result<Trail> {
    let mut nonce = [0; 8];
    settings.random.fill(&mut nonce)?;
    let nonce = i64::from_le_bytes(nonce) & i64::MAX;
    let author = settings.author();
    Ok(Trail { app: 0, call: "open", nonce, user_ip: None, author, now, refused: None })
}

/// Returns the application with this API key.
pub(in crate::engine) fn of_key(store: &Store, api_key: &ApiKey, now: Time) -> Result<Option<App>> {
    let api_key = api_key.clone();
    store.look(move |view| stored::of_key(view, &api_key, now))
}

pub(in crate::engine) fn unknown_key() -> Error {
    calls::unauthorized("no application has it")
}

/// Returns the error of an application that was removed while it is in use.
pub(in crate::engine) fn removed() -> Error {
    calls::unauthorized("the application was removed")
}

/// Makes a new application, whose key is generated unless one is given.
pub(in crate::engine) fn new(
    random: &dyn Random,
    api_key: Option<&ApiKey>,
    names: Names,
    given: &AppSettings,
) -> Result<App> {
    let api_key = match api_key {
        Some(key) => key.clone(),
        None => ApiKey::try_from(clock::secret(random)?)?,
    };
    let mut secret = Zeroizing::new([0; 32]);
    random.fill(&mut *secret)?;
    let mut settings = ApplicationSettings::new(names);
    settings.change(given)?;
    Ok(App { app_id: 0, api_key, earlier: None, secret, settings })
}

/// Returns the application of callers that give no key: the only one, or [`FIRST`]. A caller that opened a
/// database with only one is not given another because applications were added.
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

impl Engine {
    /// Returns the application's API key. Clients of `seconder serve` send it, and callbacks are signed with it; while
    /// the key before it is valid too, they are signed with that one. A key that another process has replaced is
    /// returned for up to 2 s, and for as long as the database cannot be read.
    pub fn api_key(&self) -> ApiKey {
        self.current().as_ref().unwrap_or(self).app.api_key.clone()
    }

    /// Returns the names used in callbacks, and by a server in front of this engine.
    pub fn names(&self) -> &Names {
        &self.app.settings.names
    }

    /// Returns the generation of the bodies that a server in front of this engine replies with.
    pub(crate) fn replies(&self) -> Generation {
        self.app.settings.replies
    }

    /// Returns the same engine, for the application with this API key, or with this one before it. The
    /// application is looked up again after 2 s, and a key that no application has after 10 s.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] if no application has the key, [`Error::Storage`] if the database cannot be read.
    pub fn authenticate(&self, api_key: &ApiKey) -> Result<Engine> {
        let Shared { store, strangers, steady, known, clock, .. } = &*self.shared;
        let (by, now) = (By::key(api_key), steady.now(&**clock).steady);
        if let Some(app) = known.find(by, now) {
            return Ok(self.of(app));
        }
        if strangers.has(api_key, now) {
            return Err(unknown_key());
        }
        match of_key(store, api_key, now)? {
            Some(app) => {
                let app = Arc::new(app);
                known.add(by, &app, now);
                Ok(self.of(app))
            }
            None => {
                strangers.add(api_key, now);
                Err(unknown_key())
            }
        }
    }

    /// Returns whether an application had this API key when all keys were last read. An unknown key has them read again
    /// if that was 2 s ago.
    pub(crate) fn had_key(&self, api_key: &ApiKey) -> bool {
        let Shared { store, key_hashes, steady, clock, .. } = &*self.shared;
        let (hash, now) = (stored::hash(api_key), steady.now(&**clock).steady);
        key_hashes.has(&hash, now, || store.look(stored::key_hashes))
    }

    /// Returns whether an application has this API key, as far as the keys in memory show it. It waits for nothing.
    pub(crate) fn keeps_key(&self, api_key: &ApiKey) -> bool {
        self.shared.key_hashes.contains(&stored::hash(api_key))
    }

    /// Returns the same engine, with its application as it is stored now, or was 2 s ago.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] if the application was removed, [`Error::Storage`] if the database cannot be read.
    pub(crate) fn current(&self) -> Result<Engine> {
        let app = self.application(self.app.app_id)?.ok_or_else(removed)?;
        Ok(self.of(app))
    }

    /// Returns the application with this id, if there is one.
    pub(in crate::engine) fn application(&self, id: i64) -> Result<Option<Arc<App>>> {
        let Shared { known, steady, clock, .. } = &*self.shared;
        let (by, now) = (By::Id(id), steady.now(&**clock).steady);
        if let Some(app) = known.find(by, now) {
            return Ok(Some(app));
        }
        let app = self.look(move |view| stored::of_id(view, id))?.map(Arc::new);
        if let Some(app) = &app {
            known.add(by, app, now);
        }
        Ok(app)
    }

    /// Has requests that follow find the settings that are stored now. Another program may have changed them,
    /// which they would find a few seconds later without this.
    pub fn read_settings_again(&self) {
        self.shared.forget_applications();
    }

    /// Returns the settings of the application.
    pub fn application_settings(&self) -> ApplicationSettings {
        self.app.settings.clone()
    }
}

impl Handle<AppDetails> for Engine {
    fn handle(&self, _call: &AppDetails) -> Result<Application> {
        self.begin();
        Ok(Application {
            app_id: u64::try_from(self.app.app_id).ok(),
            name: self.app.settings.name.clone(),
            plan: Some(self.app.settings.plan.clone()),
            sms_enabled: self.app.settings.sms_enabled,
            phone_calls_enabled: true,
            push_enabled: true,
            white_label: self.app.settings.white_label,
            message: Some("Application information.".into()),
        })
    }
}

impl Handle<AppStats> for Engine {
    fn handle(&self, _call: &AppStats) -> Result<Statistics> {
        let last = self.begin().clock.month();
        let app = self.app.app_id;
        let (counted, total_users) =
            self.run(move |view| statistics::statistics(view, app, last - 11))?;
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
