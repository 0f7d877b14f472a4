//! The hashes of all applications' API keys, so that a server accepts a right key without a look-up.

use crate::Result;
use crate::engine::model::clock::Time;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The age of the hashes from which an unknown key has them read again. For this time, a key that another process has
/// added is taken for a wrong one.
const KEPT: Duration = Duration::from_secs(2);

/// The hashes, as they are stored.
pub(in crate::engine) struct KeyHashes(Mutex<Hashes>);

struct Hashes {
    all: BTreeSet<String>,
    /// The time at which they were last read; `None` if they have to be read again.
    read: Option<Time>,
}

impl KeyHashes {
    pub(in crate::engine) fn new(all: BTreeSet<String>, now: Time) -> KeyHashes {
        KeyHashes(Mutex::new(Hashes { all, read: Some(now) }))
    }

    /// Returns whether this hash is among them. If it is not, they are read again with `read`, unless that was done a
    /// moment ago. If they cannot be read, they stay as they were.
    pub(in crate::engine) fn has(
        &self,
        hash: &str,
        now: Time,
        read: impl FnOnce() -> Result<BTreeSet<String>>,
    ) -> bool {
        {
            let mut hashes = self.lock();
            if hashes.all.contains(hash) {
                return true;
            }
            if hashes.read.is_some_and(|at| now < at.plus(KEPT)) {
                return false;
            }
            // Set before they are read, so that one caller reads them however many arrive, and no right key
            // waits for the database.
            hashes.read = Some(now);
        }
        let Ok(all) = read() else { return false };
        let has = all.contains(hash);
        self.lock().all = all;
        has
    }

    /// Returns whether this one is among them, without reading them again.
    pub(in crate::engine) fn contains(&self, hash: &str) -> bool {
        self.lock().all.contains(hash)
    }

    /// Has them read again for the next key that is not among them: this process has changed some.
    pub(in crate::engine) fn forget(&self) {
        self.lock().read = None;
    }

    fn lock(&self) -> MutexGuard<'_, Hashes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::cell::Cell;

    #[test]
    fn unknown_keys_have_the_hashes_read_once_in_two_seconds_and_known_ones_never() {
        let reads = Cell::new(0);
        let stored = |names: &[&str]| {
            reads.set(reads.get() + 1);
            Ok(names.iter().map(|name| (*name).to_owned()).collect())
        };
        let hashes = KeyHashes::new(["a".to_owned()].into(), Time(1_000));
        assert!(hashes.has("a", Time(900_000), || stored(&[])));
        assert!(!hashes.has("b", Time(2_999), || stored(&["a", "b"])));
        assert_eq!(reads.get(), 0);
        assert!(hashes.has("b", Time(3_000), || stored(&["a", "b"])));
        assert!((0..100).all(|_| !hashes.has("c", Time(3_001), || stored(&["a", "b", "c"]))));
        assert_eq!(reads.get(), 1);
        hashes.forget();
        assert!(hashes.has("c", Time(3_001), || stored(&["b", "c"])));
        assert!(!hashes.has("a", Time(3_001), || stored(&["a"])), "it was removed");
        assert_eq!(reads.get(), 2);
        let broken = || Err(Error::storage("the disk is full"));
        assert!(!hashes.has("d", Time(9_000), broken) && hashes.has("c", Time(9_000), broken));
    }
}
