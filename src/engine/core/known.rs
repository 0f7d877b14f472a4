//! Cache of applications that were looked up a moment ago, so that not every request costs a
//! look-up, and changes by an operator take effect within seconds.

use crate::engine::app_settings::App;
use crate::engine::model::clock::Time;
use crate::engine::operations::applications::key_hash;
use crate::model::ApiKey;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time for which an application is not looked up again.
const KEPT: Duration = Duration::from_secs(2);

/// The key by which an application is looked up: the hash of an API key, or its id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum By {
    Key([u8; 32]),
    Id(i64),
}

impl By {
    pub(in crate::engine) fn key(key: &ApiKey) -> By {
        By::Key(key_hash(key))
    }
}

/// The applications that requests named lately, and when each was looked up.
#[derive(Default)]
pub(in crate::engine) struct Known(Mutex<BTreeMap<By, (Arc<App>, Time)>>);

impl Known {
    /// Returns the application that was found so a moment ago.
    pub(in crate::engine) fn find(&self, by: By, now: Time) -> Option<Arc<App>> {
        let known = self.lock();
        let (app, at) = known.get(&by)?;
        (now < at.plus(KEPT)).then(|| Arc::clone(app))
    }

    pub(in crate::engine) fn add(&self, by: By, app: &Arc<App>, now: Time) {
        let mut known = self.lock();
        known.retain(|_, (_, at)| now < at.plus(KEPT));
        known.insert(by, (Arc::clone(app), now));
    }

    /// Has every application looked up again: one was changed by this process.
    pub(in crate::engine) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<By, (Arc<App>, Time)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
