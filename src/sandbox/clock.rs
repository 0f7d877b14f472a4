//! The time of a sandbox, which a test moves on.

use crate::engine::Clock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of a sandbox. Clones are the same.
#[derive(Clone)]
pub(super) struct SandboxClock(Arc<Mutex<State>>);

enum State {
    /// It passes as the clock of the machine does, so far ahead of it, or behind.
    Running { ahead: Duration, behind: Duration },
    /// It passes by requests alone.
    Still(Duration),
}

impl SandboxClock {
    /// Returns a clock that shows this time, or the time of the machine.
    pub(super) fn new(now: Option<Duration>, still: bool) -> SandboxClock {
        let machine = machine();
        let now = now.unwrap_or(machine);
        let state = match still {
            true => State::Still(now),
            false => State::Running {
                ahead: now.saturating_sub(machine),
                behind: machine.saturating_sub(now),
            },
        };
        SandboxClock(Arc::new(Mutex::new(state)))
    }

    pub(super) fn is_still(&self) -> bool {
        matches!(*self.state(), State::Still(_))
    }

    /// Moves the time on, and returns it.
    pub(super) fn advance(&self, by: Duration) -> Duration {
        let mut state = self.state();
        state.advance(by);
        state.now()
    }

    /// Moves the time on, unless it has come so far already, and returns it.
    pub(super) fn advance_until(&self, end: Duration) -> Duration {
        let mut state = self.state();
        let by = end.saturating_sub(state.now());
        state.advance(by);
        // For a time that stands still, this is exactly the requested one.
        state.now()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn now(&self) -> Duration {
        match self {
            State::Still(now) => *now,
            State::Running { ahead, behind } => (machine() + *ahead).saturating_sub(*behind),
        }
    }

    fn advance(&mut self, by: Duration) {
        match self {
            State::Still(now) => *now += by,
            State::Running { ahead, .. } => *ahead += by,
        }
    }
}

impl Clock for SandboxClock {
    fn now(&self) -> Duration {
        self.state().now()
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the time of a sandbox begins with that of the machine"
)]
fn machine() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_passes_by_requests_and_by_itself_unless_it_stands_still() {
        let second = Duration::from_secs(1);
        let still = SandboxClock::new(Some(100 * second), true);
        assert_eq!(still.advance(5 * second), 105 * second);
        assert_eq!(still.advance_until(103 * second), 105 * second);
        assert_eq!(still.advance_until(109 * second), 109 * second);
        let running = SandboxClock::new(Some(100 * second), false);
        let before = running.advance(50 * second);
        assert!((150 * second..machine()).contains(&before));
        while running.now() == before {
            std::hint::spin_loop();
        }
    }
}
