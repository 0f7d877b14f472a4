//! How often calls of this process have reached each limit, used a code of each route, and made more requests than
//! `key_rate` allows.

use crate::engine::model::clock::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time between two reports of an application that is over its rate.
const APART: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(in crate::engine) struct Reached(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    by_limit: BTreeMap<&'static str, u64>,
    /// Codes that were used, by the route that has sent them.
    used: BTreeMap<String, u64>,
    /// For each application over its rate: the time of the last report, and the requests refused since then.
    rates: BTreeMap<i64, (Time, u32)>,
}

impl Reached {
    pub(in crate::engine) fn count(&self, limit: &'static str) {
        *self.lock().by_limit.entry(limit).or_default() += 1;
    }

    /// Counts a request over the rate. Returns how many are to be reported, if the last report was not a moment ago.
    pub(in crate::engine) fn over_rate(&self, app: i64, now: Time) -> Option<u32> {
        let mut counts = self.lock();
        let (reported_at, refused) =
            counts.rates.entry(app).or_insert_with(|| (now.minus(APART), 0));
        *refused = refused.saturating_add(1);
        if reported_at.plus(APART) > now {
            return None;
        }
        *reported_at = now;
        Some(std::mem::take(refused))
    }

    /// Returns how often each limit was reached.
    pub(in crate::engine) fn by_limit(&self) -> BTreeMap<&'static str, u64> {
        self.lock().by_limit.clone()
    }

    /// Counts a code that was used, by the route that has sent it.
    pub(in crate::engine) fn count_used(&self, route: &str) {
        *self.lock().used.entry(route.to_owned()).or_default() += 1;
    }

    /// Returns how many codes were used, by the route that has sent them.
    pub(in crate::engine) fn used(&self) -> BTreeMap<String, u64> {
        self.lock().used.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
