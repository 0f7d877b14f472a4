//! Applications that were looked up a moment ago, so that requests cost no look-up each, and what an
//! operator changes takes effect within seconds.

use super::clock::Time;
use super::operations::applications::{App, key_hash};
use crate::model::ApiKey;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For how long an application is not looked up again.
const KEPT: Duration = Duration::from_secs(2);
/// For how long it is known that there was one.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// How an application is looked up: by the hash of a key, or by its id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    Key([u8; 32]),
    Id(i64),
}

impl By {
    pub(super) fn key(key: &ApiKey) -> By {
        By::Key(key_hash(key))
    }
}

/// The applications, and when each was looked up. There are as many as applications have keys.
#[derive(Default)]
pub(super) struct Known(Mutex<BTreeMap<By, (Arc<App>, Time)>>);

impl Known {
    /// The application that was found so a moment ago.
    pub(super) fn find(&self, by: By, now: Time) -> Option<Arc<App>> {
        let known = self.lock();
        let (app, at) = known.get(&by)?;
        (now < at.plus(KEPT)).then(|| Arc::clone(app))
    }

    pub(super) fn add(&self, by: By, app: &Arc<App>, now: Time) {
        let mut known = self.lock();
        // Those of keys and applications that are no more.
        known.retain(|_, (_, at)| now < at.plus(REMEMBERED));
        known.insert(by, (Arc::clone(app), now));
    }

    /// Whether an application was found so within the last hour, which need not have stayed so.
    pub(super) fn had(&self, by: By, now: Time) -> bool {
        self.lock().get(&by).is_some_and(|(_, at)| now < at.plus(REMEMBERED))
    }

    /// Has every application looked up again: one was changed by this process.
    pub(super) fn forget(&self) {
        self.lock().values_mut().for_each(|(_, at)| *at = at.minus(KEPT));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<By, (Arc<App>, Time)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
