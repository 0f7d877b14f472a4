//! A memory of received callbacks, so that each is accepted once.

use crate::{Error, Result};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Remembers callbacks. An application with several processes implements this with storage that
/// they share, such as a table with a unique key; [`Memory`] serves a single process.
pub trait Replay: Send + Sync {
    /// Remembers the callback, and returns whether it is received for the first time. Both must be
    /// one atomic step, so that only one of two threads with the same callback gets `true`.
    ///
    /// # Errors
    /// Any error means that the answer is unknown; the callback is then rejected with that error.
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool>;
}

/// A callback whose signature was verified.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReplayEntry<'a> {
    /// The signature, which covers the whole callback, the nonce included: 44 characters of Base64.
    pub key: &'a str,
    /// The time, in Unix seconds.
    pub now: u64,
    /// The last second at which it is fresh, after which it can be forgotten. `None` if freshness
    /// is not checked, so that it must be remembered permanently.
    pub until: Option<u64>,
}

/// A memory of bounded size in this process.
///
/// A callback is forgotten when it is no longer fresh. From then on, every callback that was fresh
/// no longer than the forgotten one is rejected, so that setting the clock back does not allow a
/// replay. When the memory is full of fresh callbacks, new ones are rejected with
/// [`Error::RateLimited`] and the known ones are kept, because a forgotten one could be replayed.
/// It can be filled only with the API key, so a full memory means that `capacity` is too small for
/// the window.
pub struct Memory {
    capacity: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    until: HashMap<Box<str>, u64>,
    /// The same callbacks, in the order in which they will be forgotten.
    order: BTreeSet<(u64, Box<str>)>,
    /// The latest time until which a forgotten callback was fresh.
    forgotten: Option<u64>,
}

impl Memory {
    /// Creates a memory for this many callbacks within one freshness window; each takes about 200
    /// bytes.
    pub fn new(capacity: usize) -> Memory {
        Memory { capacity, known: Mutex::default() }
    }
}

impl Known {
    fn forget_before(&mut self, now: u64) {
        while self.order.first().is_some_and(|(until, _)| *until < now) {
            if let Some((until, key)) = self.order.pop_first() {
                self.until.remove(&key);
                self.forgotten = self.forgotten.max(Some(until));
            }
        }
    }
}

impl Replay for Memory {
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool> {
        let Some(until) = callback.until else {
            return Err(Error::invalid_argument(
                "replay",
                "requires freshness too: the memory is bounded",
            ));
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.forget_before(callback.now);
        // A forgotten callback may seem fresh again if the clock was set back, or if this thread
        // read it before another one did.
        if known.until.contains_key(callback.key) || known.forgotten >= Some(until) {
            return Ok(false);
        }
        if known.until.len() >= self.capacity {
            let first = known.order.first().map(|(until, _)| until.saturating_add(1));
            let wait = first.map(|free| Duration::from_secs(free.saturating_sub(callback.now)));
            let message = "The memory of received callbacks is full".to_owned();
            return Err(Error::RateLimited { message, retry_after: wait, code: None, limit: None });
        }
        known.until.insert(callback.key.into(), until);
        known.order.insert((until, callback.key.into()));
        Ok(true)
    }
}

impl<R: Replay + ?Sized> Replay for Arc<R> {
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool> {
        (**self).first_time(callback)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(key: &str, now: u64, until: u64) -> ReplayEntry<'_> {
        ReplayEntry { key, now, until: Some(until) }
    }

    #[test]
    fn each_callback_is_accepted_once() {
        let memory = Memory::new(10);
        assert!(memory.first_time(&seen("a", 100, 110)).unwrap());
        assert!(memory.first_time(&seen("b", 100, 110)).unwrap());
        assert!(!memory.first_time(&seen("a", 110, 110)).unwrap());
        assert!(!memory.first_time(&seen("b", 105, 110)).unwrap());
    }

    #[test]
    fn a_full_memory_rejects_callbacks_and_forgets_only_stale_ones() {
        let memory = Memory::new(2);
        assert!(memory.first_time(&seen("a", 100, 110)).unwrap());
        assert!(memory.first_time(&seen("b", 100, 120)).unwrap());
        let full = memory.first_time(&seen("c", 104, 114)).unwrap_err();
        let wait = Duration::from_secs(7);
        assert!(matches!(full, Error::RateLimited { retry_after: Some(time), .. } if time == wait));
        assert!(!memory.first_time(&seen("a", 110, 110)).unwrap(), "it is still known");
        assert!(memory.first_time(&seen("c", 111, 121)).unwrap());
        assert!(!memory.first_time(&seen("b", 111, 120)).unwrap());
    }

    #[test]
    fn setting_the_clock_back_does_not_allow_a_replay() {
        let memory = Memory::new(10);
        assert!(memory.first_time(&seen("a", 100, 110)).unwrap());
        assert!(memory.first_time(&seen("b", 111, 121)).unwrap());
        assert!(!memory.first_time(&seen("a", 110, 110)).unwrap());
        // A clock is far ahead for a moment; callbacks sent after that are accepted again.
        assert!(memory.first_time(&seen("c", u64::MAX, u64::MAX)).unwrap());
        for (key, until) in [("a", 110), ("b", 121)] {
            assert!(!memory.first_time(&seen(key, 112, until)).unwrap(), "{key}");
        }
        assert!(memory.first_time(&seen("d", 112, 122)).unwrap());
        assert!(!memory.first_time(&seen("c", u64::MAX, u64::MAX)).unwrap());
    }

    #[test]
    fn it_cannot_grow_without_bound() {
        let endless = ReplayEntry { key: "a", now: 100, until: None };
        assert!(matches!(Memory::new(2).first_time(&endless), Err(Error::InvalidArgument { .. })));
        assert!(Memory::new(0).first_time(&seen("a", 1, 2)).is_err());
    }

    #[test]
    fn of_many_threads_with_one_callback_one_accepts_it() {
        let memory = Memory::new(10);
        let first = std::thread::scope(|scope| {
            let ask = || memory.first_time(&seen("a", 100, 110)).unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().filter(|_| true).map(|t| t.join().unwrap()).filter(|f| *f).count()
        });
        assert_eq!(first, 1);
    }
}
