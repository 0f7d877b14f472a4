//! The routes of messages that a server sends by gateways: the engine stores their settings, sealed, and
//! does not read them.

use crate::engine::core::Engine;
use crate::engine::delivery::{HOST, SPOOL};
use crate::engine::operations::jobs::{DEAD, FAILED, SENT};
use crate::engine::operations::routes as stored;
use crate::model::Secret;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The maximum length of a route's name.
const LONGEST_NAME: usize = 32;

/// A route by which messages are sent, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredRoute {
    /// Its name: 1 to 32 lower-case letters, digits and hyphens.
    pub name: String,
    /// Its settings, which may hold credentials. `None` for a route that was removed: messages that
    /// waited for it may still be there.
    pub settings: Option<Secret>,
    /// The reason why the settings cannot be read, if they cannot: the row is damaged, or the keyring
    /// lacks its key. In that case there are no settings, although the route was not removed.
    pub unreadable: Option<String>,
}

impl Engine {
    /// Returns the routes of the database, in the order of their names. One whose settings cannot be read
    /// says so, and is no reason for others not to be used.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read.
    pub fn routes(&self) -> Result<Vec<StoredRoute>> {
        let mut rows = self.look(stored::all)?;
        rows.retain(|row| row.name != LOOKUP);
        let route = |row: crate::engine::store::Route| {
            let (settings, unreadable) = match row.settings.get() {
                _ if row.removed => (None, None),
                Ok(settings) => (Some(Secret::new(settings.as_str())), None),
                Err(error) => (None, Some(error.to_string())),
            };
            StoredRoute { name: row.name, settings, unreadable }
        };
        Ok(rows.into_iter().map(route).collect())
    }

    /// Adds a route, or replaces its settings. Running servers notice within seconds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that is not 1 to 32 lower-case letters, digits and
    /// hyphens, or that has a meaning of its own; [`Error::Storage`] if the database cannot be written.
    pub fn set_route(&self, name: &str, settings: &Secret) -> Result<()> {
        check_name(name)?;
        let trail = self.trail_of_database("set_route")?;
        let (name, settings) = (name.to_owned(), settings.expose().into());
        self.run(move |view| stored::set(view, &name, &settings, &trail))
    }

    /// Removes a route. Messages that wait for it take another one. Returns whether there was one.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written.
    pub fn remove_route(&self, name: &str) -> Result<bool> {
        let trail = self.trail_of_database("remove_route")?;
        let name = name.to_owned();
        self.run(move |view| stored::remove(view, &name, &trail))
    }
}

impl Engine {
    /// Returns the settings of the provider with which a server looks numbers up, if it has one. They
    /// may hold credentials.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read, or the keyring lacks a key.
    pub fn lookup_settings(&self) -> Result<Option<Secret>> {
        let row = self.look(|view| stored::find(view, LOOKUP))?.filter(|row| !row.removed);
        row.map(|row| Ok(Secret::new(row.settings.get()?.as_str()))).transpose()
    }

    /// Sets them. Running servers notice within seconds.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written.
    pub fn set_lookup(&self, settings: &Secret) -> Result<()> {
        let trail = self.trail_of_database("set_lookup")?;
        let settings = settings.expose().into();
        self.run(move |view| stored::set(view, LOOKUP, &settings, &trail))
    }

    /// Removes them: numbers are no longer looked up. Returns whether there were any.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written.
    pub fn remove_lookup(&self) -> Result<bool> {
        let trail = self.trail_of_database("remove_lookup")?;
        self.run(move |view| stored::remove(view, LOOKUP, &trail))
    }
}

/// The row with the provider of look-ups. No route has such a name.
const LOOKUP: &str = "@lookup";
/// Names of queues that are no routes.
const RESERVED: [&str; 5] = [HOST, SPOOL, SENT, FAILED, DEAD];

fn check_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let reason = match name {
        "" => "must not be empty",
        name if name.len() > LONGEST_NAME => "must have at most 32 characters",
        name if !name.chars().all(allowed) => "must consist of a to z, 0 to 9 and -",
        name if RESERVED.contains(&name) => "must not be host, spool, sent, failed or dead",
        _ => return Ok(()),
    };
    Err(Error::invalid_argument("name", reason))
}
