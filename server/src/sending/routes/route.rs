//! One route: its settings, its gateway, and the state of its attempts.

use super::breaker::Breaker;
use super::rate::Rate;
use super::settings::RouteSettings;
use seconder::engine::Lane;
use seconder::model::Secret;
use seconder_gateways::Gateway;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time that an attempt takes in addition to the gateway's own limit.
const SLACK: Duration = Duration::from_secs(5);

/// Takes a line for the operator.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A route.
pub(super) struct Route {
    pub(super) name: String,
    /// The settings as they are stored, to notice that they were changed. `None` for a route that was removed.
    pub(super) stored: Option<Secret>,
    /// The reason why they cannot be read. Another process may have the key.
    pub(super) unreadable: Option<String>,
    /// The errors of one that cannot be used; empty for one that was removed: messages that wait for it take another
    /// one.
    pub(super) open: std::result::Result<OpenRoute, Vec<String>>,
}

/// A route whose settings are complete.
pub(super) struct OpenRoute {
    pub(super) settings: RouteSettings,
    pub(super) gateway: Box<dyn Gateway>,
    pub(super) breaker: Mutex<Breaker>,
    pub(super) rate: Mutex<Rate>,
}

impl Route {
    /// Returns whether it stays as it is until it is set again.
    pub(super) fn is_settled(&self) -> bool {
        self.open.is_ok() || self.is_removed()
    }

    pub(super) fn lane(&self) -> Lane {
        let longest_attempt =
            self.open.as_ref().map_or(SLACK, |open| open.settings.timeout + SLACK);
        Lane { name: self.name.clone(), longest_attempt }
    }

    pub(super) fn is_removed(&self) -> bool {
        self.stored.is_none() && self.unreadable.is_none()
    }

    /// Returns its errors, with its name.
    pub(super) fn problems(&self) -> Vec<String> {
        let problems = self.open.as_ref().err().into_iter().flatten();
        problems.map(|problem| format!("{}: {problem}", self.name)).collect()
    }
}

impl Drop for OpenRoute {
    /// Runs once the last attempt by it has ended: an attempt that is cut off may have sent its message.
    fn drop(&mut self) {
        self.gateway.stop();
    }
}

pub(super) fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data in the lock is complete at all times.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the digits of a number that a log may show.
pub fn last_two(number: &str) -> &str {
    number.get(number.len().saturating_sub(2)..).unwrap_or_default()
}
