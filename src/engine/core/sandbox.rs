//! The state of a sandbox (interface 8): an engine in memory for the tests of applications, which accepts every
//! token or a configured one, and can empty itself.

use crate::engine::model::clock::Time;
use crate::engine::operations::users;
use crate::engine::store::Store;
use crate::model::Token;
use crate::{Error, Result};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const OPTIONS: &str = "must be sandbox:, or sandbox:? with accept=TOKEN or accept=right and with \
                       clear_every=SECONDS (1 to 31536000), joined by &";
/// The longest time after which a sandbox is emptied, in seconds: a year.
const LONGEST: u64 = 31_536_000;

/// An engine in memory.
pub(in crate::engine) struct Sandbox {
    pub(in crate::engine) accepts: Accepts,
    schedule: Option<Schedule>,
}

/// The tokens that are right.
pub(in crate::engine) enum Accepts {
    /// Every token, for every user.
    Every,
    /// This token, for every user.
    Only(Token),
    /// Right tokens only, with the limits of a real engine.
    Right,
}

/// The schedule by which the sandbox is emptied.
struct Schedule {
    every: Duration,
    next: Mutex<Time>,
    /// The process that opened the sandbox.
    process: u32,
}

impl Sandbox {
    /// Parses the options that follow `sandbox:` in the URL.
    pub(in crate::engine) fn parse(options: &str, now: Time) -> Result<Sandbox> {
        let invalid = || Error::invalid_argument("url", OPTIONS);
        let (mut accepts, mut schedule) = (None, None);
        let options = match options {
            "" => None,
            some => Some(some.strip_prefix('?').ok_or_else(invalid)?),
        };
        for option in options.into_iter().flat_map(|options| options.split('&')) {
            match option.split_once('=') {
                Some(("accept", "right")) if accepts.is_none() => accepts = Some(Accepts::Right),
                Some(("accept", token)) if accepts.is_none() => {
                    let token = token.parse().map_err(|_| invalid())?;
                    accepts = Some(Accepts::Only(token));
                }
                Some(("clear_every", seconds)) if schedule.is_none() => {
                    let every = seconds_of(seconds).ok_or_else(invalid)?;
                    let (next, process) = (Mutex::new(now.plus(every)), std::process::id());
                    schedule = Some(Schedule { every, next, process });
                }
                _ => return Err(invalid()),
            }
        }
        Ok(Sandbox { accepts: accepts.unwrap_or(Accepts::Every), schedule })
    }

    /// Empties the sandbox if it is time to.
    pub(super) fn clear_if_due(&self, store: &Store, now: Time) {
        let Some(Schedule { every, next, process }) = &self.schedule else { return };
        // In a forked child, another thread's lock would never be released. Its database is
        // rejected.
        if std::process::id() != *process {
            return;
        }
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let every = Time(0).plus(*every).0;
        // A clock that was set back must not put off the next time.
        *next = Time(next.0.min(now.0 + every));
        // If the store fails, so does the call that begins now, and the next one tries again.
        if *next <= now && store.run(users::clear).is_ok() {
            *next = Time(now.0 + every - (now.0 - next.0) % every);
        }
    }
}

fn seconds_of(text: &str) -> Option<Duration> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = digits.then(|| text.parse().ok())??;
    (1..=LONGEST).contains(&seconds).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(options: &str, at: i64) -> Option<i64> {
        let sandbox = Sandbox::parse(options, Time(0)).unwrap();
        let store = Store::new(crate::engine::store::Memory::new());
        sandbox.clear_if_due(&store, Time(at));
        sandbox.schedule.map(|schedule| schedule.next.into_inner().unwrap().0)
    }

    #[test]
    fn the_schedule_counts_from_the_opening() {
        assert_eq!(due("?clear_every=10", 9_999), Some(10_000));
        assert_eq!(due("?clear_every=10", 10_000), Some(20_000));
        assert_eq!(due("?accept=right&clear_every=10", 10_500), Some(20_000));
        assert_eq!(due("?clear_every=10&accept=123456", 45_000), Some(50_000));
        assert_eq!(due("?clear_every=31536000", 1_000), Some(31_536_000_000));
        assert_eq!(due("", 1_000), None);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_put_off_the_schedule() {
        let sandbox = Sandbox::parse("?clear_every=10", Time(1_000_000)).unwrap();
        let store = Store::new(crate::engine::store::Memory::new());
        sandbox.clear_if_due(&store, Time(5_000));
        assert_eq!(sandbox.schedule.unwrap().next.into_inner().unwrap(), Time(15_000));
    }
}
