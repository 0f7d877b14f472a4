//! Sends messages of the program: by the routes of the database, or to a spool folder if the
//! database has no routes.

use super::Database;
use crate::{log, log_trouble};
use seconder::engine::Events;
use seconder::model::{CallbackUrl, UserId};
use seconder::{Result, Service, Settings};
use seconder_server::PublicUrl;
use seconder_server::routes::{Attached, Routes, Spooled};
use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Logs the events of the engine.
#[derive(Default)]
struct EventLog {
    /// The push services that took no message, and the time of the last warning.
    push_failed: Mutex<HashMap<String, Instant>>,
}

/// The time between two warnings about a push service, while messages to it fail.
const PUSH_APART: Duration = Duration::from_secs(60);

impl Events for EventLog {
    fn recovery_code_used(&self, user_id: UserId, left: usize) {
        log(&format!("user {user_id} was let in by a recovery code, and has {left} left"));
    }

    fn callback_failed(&self, url: &CallbackUrl, reason: &str) {
        log_trouble(&format!("the callback to {url} was not accepted: {reason}"));
    }

    fn warning(&self, text: &str) {
        log_trouble(text);
    }

    fn push_rejected(&self, reason: &str) {
        log_trouble(&format!("error: a push message was rejected, as others will be: {reason}"));
    }

    fn push_failed(&self, host: &str, reason: &str) {
        let mut failed = self.push_failed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        failed.retain(|_, at| now.saturating_duration_since(*at) < PUSH_APART);
        if !failed.contains_key(host) {
            failed.insert(host.to_owned(), now);
            log_trouble(&format!(
                "the push service {host} takes no message, so phones show no requests by themselves: {reason}"
            ));
        }
    }

    fn offline_logins_reported(&self, user_id: UserId, machine: Option<&str>, logins: usize) {
        // The name may have several lines.
        let machine = machine.map_or("without a name".to_owned(), |name| format!("{name:?}"));
        log(&format!(
            "user {user_id} was let in while the service was unreachable, by machine {machine} \
             (logins: {logins})"
        ));
    }
}

/// Logs that the callback of a request failed.
pub(crate) struct CallbackLog;

impl Events for CallbackLog {
    fn callback_failed(&self, url: &CallbackUrl, reason: &str) {
        log(&format!(
            "the callback to {url} was not accepted: {reason}. Unless it was rejected for good, `seconder \
             serve` or `seconder jobs run` posts it again; to see it: seconder jobs list --kind callback"
        ));
    }
}

/// Adds the delivery to the settings of a database. Its routes are loaded once it is open. A sandbox sends nothing, and
/// has no routes.
pub(crate) fn delivered(
    settings: Settings,
    database: &Database,
    public_url: Option<PublicUrl>,
) -> Result<(Settings, Option<Routes>)> {
    delivered_by(settings, database, public_url, false)
}

fn delivered_by(
    settings: Settings,
    database: &Database,
    public_url: Option<PublicUrl>,
    reports: bool,
) -> Result<(Settings, Option<Routes>)> {
    let beside = match database.path() {
        Some(path) => path,
        // The spool is in the folder of the process, because no folder is next to the database.
        None if database.is_on_server() => Path::new("seconder.db"),
        None => return Ok((settings, None)),
    };
    let spooled = Spooled::beside(beside, reports);
    let routes = Routes::new(spooled, Arc::new(log_trouble), public_url, settings.dialer()?);
    let settings = settings.sender(routes.clone()).lookup(routes.clone());
    Ok((settings.events(EventLog::default()), Some(routes)))
}

/// A service for a call that may cause a message. If it is on a database, the message leaves by the routes of it; the
/// state of one that was not sent is reported when this is dropped.
pub(crate) struct Calling {
    routes: Option<Routes>,
    _attached: Option<Attached>,
    service: Service,
}

impl Deref for Calling {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

impl From<Service> for Calling {
    /// Wraps a service that sends its messages itself.
    fn from(service: Service) -> Calling {
        Calling { routes: None, _attached: None, service }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if let Some(unsent) = self.routes.as_ref().and_then(Routes::unsent) {
            log(&unsent.to_string());
        }
    }
}

impl Database {
    /// Opens a database that must exist, for a call that may cause a message.
    pub(crate) fn existing_to_call(&self) -> Result<Calling> {
        if let Some(service) = self.operated(self.app)? {
            return Ok(service.into());
        }
        let (settings, routes) = delivered_by(self.existing_settings()?, self, None, true)?;
        let service = settings.open()?;
        let attached = match &routes {
            Some(routes) => {
                let engine = service.require_engine()?;
                routes.load_usable(engine)?;
                Some(routes.attach(engine))
            }
            None => None,
        };
        Ok(Calling { routes, _attached: attached, service })
    }

    /// Opens a database that must exist, to send its waiting messages as `seconder serve` does. As long as the second
    /// value is there, receipts that arrive meanwhile are stored.
    pub(crate) fn existing_to_send(
        &self,
        public_url: Option<PublicUrl>,
    ) -> Result<(Service, Option<Attached>)> {
        if let Some(service) = self.operated(self.app)? {
            // It sends its messages itself.
            return Ok((service, None));
        }
        let (settings, routes) = delivered(self.existing_settings()?, self, public_url)?;
        let service = settings.open()?;
        let Some(routes) = routes else { return Ok((service, None)) };
        let engine = service.require_engine()?;
        routes.load(engine)?;
        let attached = routes.attach(engine);
        Ok((service, Some(attached)))
    }
}
