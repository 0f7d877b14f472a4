//! The one deadline of a call.

use crate::{Error, Result};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(3600);

/// When a call must have ended, on the monotonic clock.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// So long from now. What no call can wait for is refused.
    pub(super) fn after(timeout: Duration) -> Result<Deadline> {
        if timeout.is_zero() || timeout > LONGEST {
            return Err(Error::invalid_argument(
                "timeout",
                "must be more than 0 and at most an hour",
            ));
        }
        Ok(Deadline(Instant::now() + timeout))
    }

    /// So long from now, as a part of another.
    pub(super) fn within(time: Duration) -> Deadline {
        Deadline(Instant::now() + time.min(LONGEST))
    }

    /// This, or so long from now if that is sooner.
    pub(super) fn sooner(self, time: Duration) -> Deadline {
        Deadline(self.0.min(Deadline::within(time).0))
    }

    pub(super) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Waits, if time is left afterwards; otherwise does not and says so.
    pub(super) fn wait(self, time: Duration) -> bool {
        let fits = time < self.left();
        if fits {
            std::thread::sleep(time);
        }
        fits
    }
}
