//! Opening the service that a configuration names.

use super::{Config, Place, Problem};
use seconder::{Error, Result, Service, Settings};
use std::time::Duration;

impl Config {
    /// Opens the service. Nothing is sent.
    ///
    /// # Errors
    /// As [`Settings::open`].
    pub fn open(&self) -> Result<Service> {
        self.settings().open()
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::new(&self.url).timeout(self.timeout);
        if self.url.starts_with("unix:") {
            // A user may leave a question open, and many sessions of `su` as well, so that root's
            // places on the socket would be taken. A new connection costs next to nothing there.
            settings = settings.max_idle(Duration::ZERO);
        }
        if let Some(uid) = self.service_user {
            settings = settings.service_uid(uid);
        }
        if let Some(key) = &self.api_key {
            settings = settings.api_key(key.expose());
        }
        if let Some(file) = &self.ca_file {
            settings = settings.ca_file(file);
        }
        for pin in &self.pins {
            settings = settings.pin(pin);
        }
        if let Some(proxy) = &self.proxy {
            settings = settings.proxy(proxy.expose());
        }
        for server in &self.name_servers {
            settings = settings.name_server(server);
        }
        if let Some(names) = &self.names {
            settings = settings.names(names.clone());
        }
        settings
    }
}

/// Returns the errors that the library finds in the values, at the places where they were written.
/// It reports one error at a time, so each setting is tried by itself.
pub(super) fn check(config: &Config, place: &dyn Fn(&str) -> Option<Place>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if config.open().is_ok() {
        return problems;
    }
    let base = || Settings::new("https://localhost").api_key("key");
    let url = Settings::new(&config.url);
    let mut tries = match config.url.starts_with("unix:") {
        true => vec![("url", url)],
        false => vec![("url", url.api_key("key"))],
    };
    if let Some(key) = &config.api_key {
        tries.push(("api_key_file", Settings::new("https://localhost").api_key(key.expose())));
    }
    if let Some(file) = &config.ca_file {
        tries.push(("ca_file", base().ca_file(file)));
    }
    tries.extend(config.pins.iter().map(|pin| ("pin", base().pin(pin))));
    tries.extend(config.proxy.iter().map(|proxy| ("proxy", base().proxy(proxy.expose()))));
    tries.extend(config.name_servers.iter().map(|one| ("name_server", base().name_server(one))));
    for (key, settings) in tries {
        if let Err(error) = settings.open() {
            problems.push(problem(key, &error, place));
        }
    }
    if problems.is_empty()
        && let Err(error) = config.open()
    {
        problems.push(problem("url", &error, place));
    }
    problems
}

fn problem(key: &str, error: &Error, place: &dyn Fn(&str) -> Option<Place>) -> Problem {
    let place = place(key).unwrap_or_else(Place::arguments);
    place.problem(match error {
        Error::InvalidArgument { reason, .. } => format!("{key} {reason}"),
        other => format!("{key}: {other}"),
    })
}
