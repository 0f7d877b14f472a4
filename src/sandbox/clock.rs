//! The time of a sandbox, which a test moves on.

use crate::Result;
use crate::engine::{Clock, system_time as machine};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time of a sandbox. Clones are the same.
#[derive(Clone)]
pub struct SandboxClock(Arc<Inner>);

struct Inner {
    /// The process that made it.
    process: u32,
    state: Mutex<State>,
    /// The earliest first; of several at one time, in the order in which they were planned.
    planned: Mutex<Vec<(Duration, Action)>>,
}

/// An action of a test at a later time.
type Action = Box<dyn FnOnce() -> Result<()> + Send>;

enum State {
    /// It passes as the clock of the machine does, so far ahead of it, or behind.
    Running { ahead: Duration, behind: Duration },
    /// It passes by requests alone.
    Still(Duration),
}

impl SandboxClock {
    /// Returns a clock that shows this time, or the time of the machine.
    pub fn new(now: Option<Duration>, still: bool) -> SandboxClock {
        let machine = machine();
        let now = now.unwrap_or(machine);
        let state = match still {
            true => State::Still(now),
            false => State::Running {
                ahead: now.saturating_sub(machine),
                behind: machine.saturating_sub(now),
            },
        };
        let (process, planned) = (std::process::id(), Mutex::default());
        SandboxClock(Arc::new(Inner { process, state: Mutex::new(state), planned }))
    }

    /// Returns whether this process made it: a thread of its parent may have held a lock at the fork.
    pub(super) fn is_own(&self) -> bool {
        self.0.process == std::process::id()
    }

    pub(super) fn is_still(&self) -> bool {
        matches!(*self.state(), State::Still(_))
    }

    /// Carries out an action once the time has come, by [`SandboxClock::pass_until`].
    pub fn plan(&self, at: Duration, action: impl FnOnce() -> Result<()> + Send + 'static) {
        let mut planned = self.planned();
        let place = planned.partition_point(|(other, _)| *other <= at);
        planned.insert(place, (at, Box::new(action)));
    }

    /// Returns the first time until then for which an action is planned.
    pub fn planned_until(&self, end: Duration) -> Option<Duration> {
        self.planned().first().map(|(at, _)| *at).filter(|at| *at <= end)
    }

    /// Moves the time on, unless it has come so far already, with all that is planned until then. Waits of several
    /// threads thus overlap.
    ///
    /// # Errors
    /// The first error of an action. The time then stays at the action.
    pub fn pass_until(&self, end: Duration) -> Result<()> {
        loop {
            let mut planned = self.planned();
            let is_due = planned.first().is_some_and(|(at, _)| *at <= end);
            let due = is_due.then(|| planned.remove(0));
            let mut state = self.state();
            let until = due.as_ref().map_or(end, |(at, _)| *at);
            let by = until.saturating_sub(state.now());
            state.advance(by);
            drop((state, planned));
            match due {
                // Without the locks, because it may pass time itself.
                Some((_, action)) => action()?,
                None => return Ok(()),
            }
        }
    }

    fn planned(&self) -> MutexGuard<'_, Vec<(Duration, Action)>> {
        self.0.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Calls of a forked child fail, and need the time for nothing.
    fn now(&self) -> Duration {
        if self.is_own() { self.state().now() } else { machine() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_passes_by_requests_and_by_itself_unless_it_stands_still() {
        let second = Duration::from_secs(1);
        let still = SandboxClock::new(Some(100 * second), true);
        for (end, now) in [(105, 105), (103, 105), (109, 109)] {
            still.pass_until(end * second).unwrap();
            assert_eq!(still.now(), now * second);
        }
        let running = SandboxClock::new(Some(100 * second), false);
        running.pass_until(150 * second).unwrap();
        let before = running.now();
        assert!((150 * second..machine()).contains(&before));
        while running.now() == before {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn actions_are_carried_out_in_order_at_their_times() {
        let second = Duration::from_secs(1);
        let clock = SandboxClock::new(Some(Duration::ZERO), true);
        let (sender, done) = std::sync::mpsc::channel();
        for (at, name) in [(60, "minute"), (5, "first"), (5, "second"), (3600, "never")] {
            let (own, sender) = (clock.clone(), sender.clone());
            clock.plan(at * second, move || {
                if name == "first" {
                    let (inner, sender) = (own.clone(), sender.clone());
                    own.plan(10 * second, move || {
                        sender.send(("nested", inner.now())).unwrap();
                        Ok(())
                    });
                }
                sender.send((name, own.now())).unwrap();
                Ok(())
            });
        }
        clock.pass_until(60 * second).unwrap();
        let done: Vec<_> = done.try_iter().map(|(name, at)| (name, at.as_secs())).collect();
        assert_eq!(done, [("first", 5), ("second", 5), ("nested", 10), ("minute", 60)]);
        clock.plan(61 * second, || Err(crate::Error::invalid_argument("a", "b")));
        clock.pass_until(62 * second).unwrap_err();
        assert_eq!(clock.now(), 61 * second);
    }
}
