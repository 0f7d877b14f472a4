//! Negative cache of unknown API keys. A client that repeats one, such as one whose key was changed, costs
//! the database nothing.

use crate::engine::model::clock::Time;
use crate::engine::operations::applications::key_hash;
use crate::model::ApiKey;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time for which a key is not looked up again. An application that another process adds with
/// such a key has to wait as long on the nodes where it was tried.
const KEPT: Duration = Duration::from_secs(10);
/// The most that are kept: others are looked up each time.
const MOST: usize = 1024;

/// The hashes of such keys, and when each was looked up. A key that was mistyped is nearly one that an
/// application has, so only its hash is kept.
#[derive(Default)]
pub(in crate::engine) struct Strangers(Mutex<BTreeMap<[u8; 32], Time>>);

impl Strangers {
    /// Returns whether no application had the key a moment ago.
    pub(in crate::engine) fn has(&self, key: &ApiKey, now: Time) -> bool {
        self.lock().get(&key_hash(key)).is_some_and(|at| is_recent(*at, now))
    }

    pub(in crate::engine) fn add(&self, key: &ApiKey, now: Time) {
        let mut keys = self.lock();
        if keys.len() >= MOST {
            keys.retain(|_, at| is_recent(*at, now));
        }
        if keys.len() < MOST {
            keys.insert(key_hash(key), now);
        }
    }

    /// Has every key looked up again: an application was given one by this process.
    pub(in crate::engine) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], Time>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(at: Time, now: Time) -> bool {
    now < at.plus(KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_looked_up_again_for_a_while() {
        let (strangers, key): (_, ApiKey) = (Strangers::default(), "a-key".parse().unwrap());
        assert!(!strangers.has(&key, Time(1_000)));
        strangers.add(&key, Time(1_000));
        assert!(strangers.has(&key, Time(1_000)) && strangers.has(&key, Time(10_999)));
        assert!(!strangers.has(&key, Time(11_000)));
        assert!(!strangers.has(&"another-key".parse().unwrap(), Time(1_000)));
    }

    #[test]
    fn a_flood_of_keys_is_bounded_and_makes_room_for_later_ones() {
        let (strangers, key) =
            (Strangers::default(), |number| -> ApiKey { format!("key-{number}").parse().unwrap() });
        (0..2 * MOST).for_each(|number| strangers.add(&key(number), Time(1_000)));
        assert_eq!(strangers.lock().len(), MOST);
        strangers.add(&key(0), Time(20_000));
        assert_eq!(strangers.lock().len(), 1);
    }
}
