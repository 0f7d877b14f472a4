//! Operations on the applications of a database.

use super::declaration::{Nothing, Operation, operation};
use crate::engine::app_settings::App;
pub use crate::engine::app_settings::{AppRecord, AppSettings};
use crate::engine::core::Engine;
use crate::engine::handlers::applications::{self, FIRST, removed};
use crate::engine::model::limits::MOST_OVERLAP;
use crate::engine::operations::applications as stored;
use crate::engine::operations::applications::{Removed, Rotated};
use crate::engine::operations::audit::Trail;
use crate::engine::operations::statistics;
use crate::model::{ApiKey, Secret};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The number of users, or decisions of the audit, that are removed in one transaction.
const STEP: u32 = 64;

impl Engine {
    /// Returns the application with this id, or else the engine's own.
    fn stored_app(&self, id: Option<i64>) -> Result<App> {
        let own = id.unwrap_or(self.app.app_id);
        let found = self.look(move |view| stored::of_id(view, own))?;
        found.ok_or_else(|| if id.is_some() { no_such_app() } else { removed() })
    }

    fn record(&self, app: App) -> Result<AppRecord> {
        let (id, now) = (app.app_id, self.now());
        let (_, users) = self.run(move |view| statistics::statistics(view, id, i64::MAX))?;
        let earlier = app.earlier.as_ref().filter(|earlier| earlier.until > now.steady);
        Ok(AppRecord::new(&app, users, earlier.map(|earlier| now.shown(earlier.until).seconds())))
    }

    /// Returns the trail of an operation on an application.
    fn trail_on<O: Operation>(&self, app: i64) -> Result<Trail> {
        Ok(Trail { app, ..self.trail_of(O::NAME, self.now(), None)? })
    }
}

fn no_such_app() -> Error {
    Error::invalid_argument("app_id", "is not that of an application: app.list has them")
}

operation! {
    /// Returns the applications of the database, in the order in which they were added.
    ListApps = "app.list" -> Apps {}
}

/// The applications of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Apps {
    /// The applications.
    pub apps: Vec<AppRecord>,
}

impl ListApps {
    fn run(&self, engine: &Engine) -> Result<Apps> {
        let apps = engine.look(stored::all)?.into_iter().map(|app| engine.record(app));
        Ok(Apps { apps: apps.collect::<Result<_>>()? })
    }
}

operation! {
    /// Returns an application.
    #[derive(Default)]
    ShowApp = "app.show" -> AppRecord {
        /// Its id. Default: that of this service.
        app_id: Option<i64>,
    }
}

impl ShowApp {
    fn run(&self, engine: &Engine) -> Result<AppRecord> {
        engine.record(engine.stored_app(self.app_id)?)
    }
}

operation! {
    /// Adds an application to the database, with users and a key of its own. It has the names of the
    /// application of this service.
    #[derive(Default)]
    CreateApp = "app.create" -> AppKey {
        /// The name in messages and authenticator apps.
        name: String,
        /// Its API key, such as that of an application that moves here. Default: a new one.
        api_key: Option<Secret>,
        /// Its settings.
        settings: Option<AppSettings>,
    }
}

/// The API key of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AppKey {
    /// The application.
    pub app_id: i64,
    /// Its API key.
    pub api_key: Secret,
    /// The key before it, as long as that is valid too.
    pub earlier_key: Option<Secret>,
    /// The time until which that key is valid, in Unix seconds.
    pub earlier_key_until: Option<u64>,
}

impl CreateApp {
    fn run(&self, engine: &Engine) -> Result<AppKey> {
        let mut settings = self.settings.clone().unwrap_or_default();
        if settings.name.replace(self.name.clone()).is_some() {
            let reason = "must have no name: that is a parameter of its own";
            return Err(Error::invalid_argument("settings", reason));
        }
        applications::check(&settings).map_err(|error| name_of_parameter(error, "name"))?;
        let api_key = self.api_key.clone().map(ApiKey::try_from).transpose()?;
        let names = engine.names().clone();
        let new = applications::new(engine.random(), api_key.as_ref(), names, &settings)?;
        let trail = engine.trail_on::<CreateApp>(0)?;
        let api_key = Secret::new(new.api_key.expose());
        let app_id = engine.run(move |view| stored::add(view, &new, &trail))?;
        let app_id = app_id
            .ok_or_else(|| Error::invalid_argument("api_key", "is that of another application"))?;
        // The key may have been tried before.
        engine.shared.forget_applications();
        Ok(AppKey { app_id, api_key, earlier_key: None, earlier_key_until: None })
    }
}

/// Renames the parameter in an error: [`Settings`](crate::Settings) calls it `application_name`.
fn name_of_parameter(error: Error, name: &'static str) -> Error {
    match error {
        Error::InvalidArgument { parameter, reason } if parameter == "application_name" => {
            Error::invalid_argument(name, reason)
        }
        other => other,
    }
}

operation! {
    /// Changes settings of an application, and returns it. `seconder serve` applies them within seconds,
    /// and other programs when they open the database again.
    #[derive(Default)]
    SetApp = "app.set" -> AppRecord {
        /// Its id. Default: that of this service.
        app_id: Option<i64>,
        /// The settings to change.
        settings: AppSettings,
    }
}

impl SetApp {
    fn run(&self, engine: &Engine) -> Result<AppRecord> {
        let given = self.settings.clone();
        applications::check(&given).map_err(|error| name_of_parameter(error, "name"))?;
        let app_id = engine.stored_app(self.app_id)?.app_id;
        let trail = engine.trail_on::<SetApp>(app_id)?;
        engine.run(move |view| stored::configure(view, &given, &trail))?;
        engine.shared.forget_applications();
        engine.record(engine.stored_app(Some(app_id))?)
    }
}

operation! {
    /// Returns the API key of an application.
    #[derive(Default)]
    ShowAppKey = "app.key" -> AppKey {
        /// Its id. Default: that of this service.
        app_id: Option<i64>,
    }
}

impl ShowAppKey {
    fn run(&self, engine: &Engine) -> Result<AppKey> {
        Ok(key(engine.stored_app(self.app_id)?, engine))
    }
}

fn key(app: App, engine: &Engine) -> AppKey {
    let now = engine.now();
    let earlier = app.earlier.filter(|earlier| earlier.until > now.steady);
    AppKey {
        app_id: app.app_id,
        api_key: Secret::new(app.api_key.expose()),
        earlier_key_until: earlier.as_ref().map(|earlier| now.shown(earlier.until).seconds()),
        earlier_key: earlier.map(|earlier| Secret::new(earlier.key.expose())),
    }
}

operation! {
    /// Gives an application a new API key, and returns it. The one before it stays valid for a while; until
    /// then, callbacks are signed with that one.
    #[derive(Default)]
    RotateAppKey = "app.rotate_key" -> AppKey {
        /// Its id. Default: that of this service.
        app_id: Option<i64>,
        /// For how many seconds the key before it stays valid, up to 30 days. Default: a day. With 0, it
        /// ends at once, and so does any earlier one.
        overlap: Option<u64>,
    }
}

impl RotateAppKey {
    fn run(&self, engine: &Engine) -> Result<AppKey> {
        const DAY: u64 = 24 * 60 * 60;
        let overlap = Duration::from_secs(self.overlap.unwrap_or(DAY));
        if overlap > MOST_OVERLAP {
            return Err(Error::invalid_argument("overlap", "must be at most 2592000: 30 days"));
        }
        let app_id = engine.stored_app(self.app_id)?.app_id;
        let trail = engine.trail_on::<RotateAppKey>(app_id)?;
        let new = ApiKey::try_from(crate::engine::model::clock::secret(engine.random())?)?;
        let now = trail.now;
        let until = (!overlap.is_zero()).then(|| now.steady.plus(overlap));
        let rotated = engine.run(move |view| stored::rotate(view, &new, until, &trail))?;
        engine.shared.forget_applications();
        match rotated {
            Rotated::Done => Ok(key(engine.stored_app(Some(app_id))?, engine)),
            Rotated::NoApplication => Err(no_such_app()),
            Rotated::HasEarlier(end) => {
                let reason = format!(
                    "must be 0, which ends both keys at once, because the key before the current one \
                     is valid until {}: otherwise wait, or end that one (app.end_overlap)",
                    now.shown(end).rfc3339()
                );
                Err(Error::invalid_argument("overlap", reason))
            }
        }
    }
}

operation! {
    /// Ends the key before the current one, once nobody uses it any more.
    #[derive(Default)]
    EndOverlap = "app.end_overlap" -> Nothing {
        /// Its id. Default: that of this service.
        app_id: Option<i64>,
    }
}

impl EndOverlap {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let trail = engine.trail_on::<EndOverlap>(self.app_id.unwrap_or(engine.app.app_id))?;
        let ended = engine.run(move |view| stored::end_earlier(view, &trail))?;
        engine.shared.forget_applications();
        match ended {
            Some(true) => Ok(Nothing {}),
            Some(false) => {
                Err(Error::invalid_argument("app_id", "is that of an application with one key"))
            }
            None => Err(no_such_app()),
        }
    }
}

operation! {
    /// Removes an application. Its keys are of no use any more, and the audit of the application of this
    /// service has a row for it. An id is not given again.
    DeleteApp = "app.delete" -> Nothing {
        /// Its id.
        app_id: i64,
        /// Removes its users with it, and all that is known of them. Default: no, and an application that
        /// has users is not removed.
        #[serde(default)]
        users: bool,
    }
}

impl DeleteApp {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let app = self.app_id;
        if app == engine.app.app_id {
            let reason = "is that of this service: remove it with that of another application";
            return Err(Error::invalid_argument("app_id", reason));
        }
        if app == FIRST {
            let reason =
                "is that of the first application, which those have who give no key: it stays";
            return Err(Error::invalid_argument("app_id", reason));
        }
        let mut can = engine.look(move |view| stored::can_be_removed(view, app))?;
        loop {
            match can {
                Removed::HasUsers if self.users => {
                    while engine.run(move |view| stored::remove_users(view, app, STEP))? {}
                }
                other => refused(other)?,
            }
            let trail = engine.trail_on::<DeleteApp>(engine.app.app_id)?;
            can = engine.run(move |view| stored::remove(view, app, &trail))?;
            // A user may have been enrolled meanwhile.
            if can != Removed::HasUsers {
                break;
            }
        }
        engine.shared.forget_applications();
        refused(can)?;
        // Last, because an application that stays keeps its audit.
        while engine.run(move |view| stored::remove_audit(view, app, STEP))? {}
        Ok(Nothing {})
    }
}

fn refused(why: Removed) -> Result<()> {
    match why {
        Removed::Done => Ok(()),
        Removed::NoApplication => Err(no_such_app()),
        Removed::HasUsers => {
            let reason = "must be set for an application that has users: they are removed with it";
            Err(Error::invalid_argument("users", reason))
        }
    }
}
