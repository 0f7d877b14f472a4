//! The one deadline of a call.

use crate::interrupt::{self, INTERVAL};
use crate::{Error, Result};
use std::time::{Duration, Instant};

/// The maximum timeout of a call. It also keeps additions to an `Instant` from overflowing.
const LONGEST: Duration = Duration::from_secs(3600);

/// The time by which a call must end, on the monotonic clock.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline after this time from now. Zero and timeouts over an hour are rejected.
    pub(super) fn after(timeout: Duration) -> Result<Deadline> {
        if timeout.is_zero() || timeout > LONGEST {
            return Err(Error::invalid_argument(
                "timeout",
                "must be more than 0 and at most an hour",
            ));
        }
        Ok(Deadline(Instant::now() + timeout))
    }

    /// Returns the deadline after this time from now, for a part of a call.
    pub(super) fn within(time: Duration) -> Deadline {
        Deadline(Instant::now() + time.min(LONGEST))
    }

    /// Returns this deadline, or the one after this time from now if that is sooner.
    #[cfg(feature = "https")]
    pub(super) fn sooner(self, time: Duration) -> Deadline {
        Deadline(self.0.min(Deadline::within(time).0))
    }

    pub(super) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Waits and returns true if the deadline is after the wait; otherwise returns false at once.
    /// The wait ends early when the call is to end.
    pub(super) fn wait(self, time: Duration) -> bool {
        let fits = time < self.left();
        let end = Deadline::within(time);
        while fits && !end.left().is_zero() && !interrupt::interrupted() {
            std::thread::sleep(end.left().min(INTERVAL));
        }
        fits
    }
}
