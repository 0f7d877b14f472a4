//! A memory of the callbacks that were received, so that each is believed once.

use crate::{Error, Result};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Remembers callbacks. An application of several processes gives one that they share, such as a
/// table with a unique key; [`Memory`] serves one process.
pub trait Replay: Send + Sync {
    /// Whether the callback is here for the first time; it is remembered then. Looking and
    /// remembering are one step, so that of two threads with one callback one gets `true`.
    ///
    /// # Errors
    /// Whatever keeps the memory from telling: the callback is then not believed.
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool>;
}

/// A callback whose signature held.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReplayEntry<'a> {
    /// Its signature, which covers all of it, the nonce included: 44 characters of Base64.
    pub key: &'a str,
    /// The time, in Unix seconds.
    pub now: u64,
    /// The last second at which it is fresh, and can be forgotten after; none when freshness was
    /// not asked for, so that it must be remembered for ever.
    pub until: Option<u64>,
}

/// A memory in this process, of a bounded size.
///
/// It forgets a callback when that is no longer fresh, and refuses from then on whatever is no longer
/// fresh by the same time, so that a clock that is set back lets nothing pass twice. When it is full of fresh ones it refuses new
/// ones with [`Error::RateLimited`] and forgets none: what it forgot could be replayed. Nobody without
/// the API key can fill it, so a full memory says that `capacity` is too small for the window.
pub struct Memory {
    capacity: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    until: HashMap<Box<str>, u64>,
    /// The same, the first to be forgotten first.
    order: BTreeSet<(u64, Box<str>)>,
    /// Until when the last of those was fresh that were forgotten.
    forgotten: Option<u64>,
}

impl Memory {
    /// A memory for so many callbacks within one window of freshness; each takes about 200 bytes.
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
                "needs freshness too: it cannot grow for ever",
            ));
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.forget_before(callback.now);
        // By a clock that was set back, or read before another thread's, what was forgotten is fresh.
        if known.until.contains_key(callback.key) || known.forgotten >= Some(until) {
            return Ok(false);
        }
        if known.until.len() >= self.capacity {
            let first = known.order.first().map(|(until, _)| until.saturating_add(1));
            let wait = first.map(|free| Duration::from_secs(free.saturating_sub(callback.now)));
            let message = "The memory of received callbacks is full".to_owned();
            return Err(Error::RateLimited { message, retry_after: wait });
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
    fn each_callback_is_here_for_the_first_time_once() {
        let memory = Memory::new(10);
        assert!(memory.first_time(&seen("a", 100, 110)).unwrap());
        assert!(memory.first_time(&seen("b", 100, 110)).unwrap());
        assert!(!memory.first_time(&seen("a", 110, 110)).unwrap());
        assert!(!memory.first_time(&seen("b", 105, 110)).unwrap());
    }

    #[test]
    fn a_full_memory_refuses_and_forgets_only_what_is_stale() {
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
    fn a_clock_that_is_set_back_lets_nothing_pass_twice() {
        let memory = Memory::new(10);
        assert!(memory.first_time(&seen("a", 100, 110)).unwrap());
        assert!(memory.first_time(&seen("b", 111, 121)).unwrap());
        assert!(!memory.first_time(&seen("a", 110, 110)).unwrap());
        // Another clock is far ahead for a moment, and what is sent after it is believed again.
        assert!(memory.first_time(&seen("c", u64::MAX, u64::MAX)).unwrap());
        for (key, until) in [("a", 110), ("b", 121)] {
            assert!(!memory.first_time(&seen(key, 112, until)).unwrap(), "{key}");
        }
        assert!(memory.first_time(&seen("d", 112, 122)).unwrap());
        assert!(!memory.first_time(&seen("c", u64::MAX, u64::MAX)).unwrap());
    }

    #[test]
    fn it_cannot_be_made_to_grow_for_ever() {
        let endless = ReplayEntry { key: "a", now: 100, until: None };
        assert!(matches!(Memory::new(2).first_time(&endless), Err(Error::InvalidArgument { .. })));
        assert!(Memory::new(0).first_time(&seen("a", 1, 2)).is_err());
    }

    #[test]
    fn of_many_threads_with_one_callback_one_is_first() {
        let memory = Memory::new(10);
        let first = std::thread::scope(|scope| {
            let ask = || memory.first_time(&seen("a", 100, 110)).unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().filter(|_| true).map(|t| t.join().unwrap()).filter(|f| *f).count()
        });
        assert_eq!(first, 1);
    }
}
