//! Operations on the routes by which a server sends messages.

use super::declaration::{Nothing, operation};
use crate::engine::core::Engine;
use crate::engine::handlers::routes::StoredRoute;
use crate::model::Secret;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

operation! {
    /// Returns the routes of the database, in the order of their names. Their settings may hold
    /// credentials.
    ListRoutes = "route.list" -> Routes {}
}

/// The routes of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Routes {
    /// The routes, without removed ones.
    pub routes: Vec<StoredRoute>,
}

impl ListRoutes {
    fn run(&self, engine: &Engine) -> Result<Routes> {
        let mut routes = engine.routes()?;
        routes.retain(|route| route.settings.is_some() || route.unreadable.is_some());
        Ok(Routes { routes })
    }
}

operation! {
    /// Adds a route, or replaces its settings. Running servers notice within seconds. They read the
    /// settings: this stores what it is given.
    SetRoute = "route.set" -> Nothing {
        /// The name of the route: 1 to 32 lower-case letters, digits and hyphens.
        name: String,
        /// Its settings, a JSON object as text.
        settings: Secret,
    }
}

impl SetRoute {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        check_object(&self.settings)?;
        engine.set_route(&self.name, &self.settings)?;
        Ok(Nothing {})
    }
}

/// Checks that the settings are a JSON object: anything else is a mistake in their form.
pub(super) fn check_object(settings: &Secret) -> Result<()> {
    let is_object = serde_json::from_str::<serde::de::IgnoredAny>(settings.expose()).is_ok()
        && settings.expose().trim_start().starts_with('{');
    match is_object {
        true => Ok(()),
        false => Err(Error::invalid_argument("settings", "must be a JSON object as text")),
    }
}

operation! {
    /// Removes a route. Messages that wait for it take another one.
    RemoveRoute = "route.remove" -> Nothing {
        /// The name of the route.
        name: String,
    }
}

impl RemoveRoute {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        match engine.remove_route(&self.name)? {
            true => Ok(Nothing {}),
            false => Err(Error::invalid_argument("name", "is not that of a route")),
        }
    }
}
