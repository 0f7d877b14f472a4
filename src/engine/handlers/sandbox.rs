//! The sandbox (interface 8): an engine in memory for the tests of applications, which accepts every
//! token or a configured one, has no waits and caps, and can be emptied.

use super::verify::accepted;
use crate::calls::Verification;
use crate::engine::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::{Caps, Limits};
use crate::engine::model::rejections;
use crate::engine::operations::{user, users};
use crate::engine::store::Store;
use crate::model::{Token, UserId};
use crate::{Error, Result};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const OPTIONS: &str = "must be sandbox:, or sandbox:? with accept=TOKEN or accept=right and with \
                       clear_every=SECONDS (1 to 31536000), joined by &";
/// The code that the verification of every phone number accepts.
pub(in crate::engine) const PHONE_CODE: &str = "0000";
/// The longest time after which a sandbox is emptied, in seconds: a year.
const LONGEST: u64 = 31_536_000;

/// An engine in memory.
pub(in crate::engine) struct Sandbox {
    accepts: Accepts,
    schedule: Option<Schedule>,
}

/// The tokens that are right.
enum Accepts {
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
    fn clear_if_due(&self, store: &Store, now: Time) {
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

impl Engine {
    /// Empties a sandbox: removes every user, code, device, approval request and activity, and the
    /// statistics. The application keeps its key, and the ids of users are not given again.
    ///
    /// A sandbox can also empty itself, as `sandbox:?clear_every=86400` does every day.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if this is not a sandbox: a database is never emptied.
    pub fn clear_sandbox(&self) -> Result<()> {
        match &self.shared.sandbox {
            Some(_) => self.run(users::clear),
            None => Err(Error::invalid_argument(
                "url",
                "names a database, which is not emptied: this needs a sandbox: URL",
            )),
        }
    }

    pub(in crate::engine) fn clear_sandbox_if_due(&self, now: Time) {
        if let Some(sandbox) = &self.shared.sandbox {
            sandbox.clear_if_due(&self.shared.store, now);
        }
    }

    /// Returns whether this is a sandbox that accepts tokens without looking for codes.
    pub(in crate::engine) fn is_lenient(&self) -> bool {
        let sandbox = self.shared.sandbox.as_ref();
        sandbox.is_some_and(|sandbox| !matches!(sandbox.accepts, Accepts::Right))
    }

    pub(in crate::engine) fn caps(&self) -> Caps {
        if self.is_lenient() { Caps::NONE } else { Caps::of(&self.app.settings.limits) }
    }

    /// Returns the limits of messages; `None` in a sandbox that has none.
    pub(in crate::engine) fn limits(&self) -> Option<Limits> {
        (!self.is_lenient()).then(|| self.app.settings.limits.clone())
    }

    /// Checks a token as a sandbox does; `None` if this is a real engine. A right token confirms
    /// the user, if there is such a user, and is counted. `token` is `None` for a text that cannot
    /// be one, which a sandbox that accepts every token accepts too.
    pub(in crate::engine) fn verify_in_sandbox(
        &self,
        token: Option<&Token>,
        user_id: UserId,
        now: Now,
    ) -> Result<Option<Verification>> {
        match self.sandbox_accepts(token) {
            None => return Ok(None),
            Some(false) => return Ok(Some(Verification::wrong(false))),
            Some(true) => {}
        }
        let app = self.app.app_id;
        let user = self.look(move |view| user(view, app, user_id))?;
        if let Some(barred) = user.and_then(|user| user.bar()) {
            return rejections::barred(barred, now);
        }
        // The audit has no row of it: nothing was decided, and tests of applications may run for long.
        let enrolled_at = self.run(move |view| users::confirm(view, app, user_id, now))?;
        Ok(Some(accepted("sms", enrolled_at.unwrap_or(now.clock))))
    }

    /// Returns whether a sandbox accepts a token, without looking for codes; `None` if this is a real engine.
    pub(in crate::engine) fn sandbox_accepts(&self, token: Option<&Token>) -> Option<bool> {
        match self.shared.sandbox.as_ref().map(|sandbox| &sandbox.accepts)? {
            Accepts::Right => None,
            Accepts::Every => Some(true),
            Accepts::Only(right) => Some(Some(right) == token),
        }
    }
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
