//! Stops asking a gateway that fails again and again, so that messages take another route at once, and
//! asks it again after a while.

use std::time::{Duration, Instant};

/// The number of failures in a row after which it opens.
const FAILURES: u32 = 5;
/// The time for which an open one sends nothing.
const OPEN: Duration = Duration::from_secs(30);
/// The time that others wait for the attempt that decides.
const TRIAL: Duration = Duration::from_secs(1);

/// A circuit breaker.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// The time until which nothing is sent.
    until: Option<Instant>,
    /// Set while the one attempt is made that decides whether it closes.
    on_trial: bool,
}

/// The state of a breaker, which decides about messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It passes all messages on.
    Closed,
    /// It passes no message on.
    Open,
    /// It passes one message on, which decides.
    HalfOpen,
}

impl State {
    /// Returns the line that says that it is so from now on, with its level.
    pub(super) fn line(self, of: &str) -> String {
        let level = if self == State::Open { "error" } else { "info" };
        format!("{level}: {of}: the circuit breaker is {}", self.name())
    }

    /// Its name, as commands show it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half-open",
        }
    }
}

impl Breaker {
    pub(super) fn state(&self, now: Instant) -> State {
        match self.until {
            None => State::Closed,
            Some(until) if now < until => State::Open,
            Some(_) => State::HalfOpen,
        }
    }

    /// Ends the time in which nothing is sent.
    #[cfg(test)]
    pub(super) fn end_wait(&mut self) {
        self.until = self.until.map(|_| Instant::now());
    }

    /// Passes a message on, or returns how long it has to wait.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.until {
            None => Ok(()),
            Some(until) if now < until => Err(until - now),
            // It ends soon, and may close the breaker.
            Some(_) if self.on_trial => Err(TRIAL),
            Some(_) => {
                self.on_trial = true;
                Ok(())
            }
        }
    }

    /// Gives the one attempt back that decides, if it is not made after all: the next one is it.
    pub(super) fn give_back(&mut self) {
        self.on_trial = false;
    }

    /// Notes how an attempt ended that was passed on. Returns the new state, if it is another one.
    pub(super) fn note(&mut self, good: bool, now: Instant) -> Option<State> {
        // An attempt that began before it opened says nothing of the present.
        if self.until.is_some() && !std::mem::take(&mut self.on_trial) {
            return None;
        }
        if good {
            let was_open = self.until.is_some();
            *self = Breaker::default();
            return was_open.then_some(State::Closed);
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures < FAILURES {
            return None;
        }
        let was_open = self.until.replace(now + OPEN).is_some();
        (!was_open).then_some(State::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_after_a_successful_trial() {
        let (mut breaker, start) = (Breaker::default(), Instant::now());
        for _ in 0..4 {
            assert_eq!(breaker.note(false, start), None);
        }
        breaker.note(true, start);
        for _ in 0..4 {
            assert_eq!((breaker.admit(start), breaker.note(false, start)), (Ok(()), None));
        }
        assert_eq!(breaker.note(false, start), Some(State::Open));
        assert_eq!(breaker.admit(start + OPEN / 2), Err(OPEN / 2));
        let later = start + OPEN;
        assert_eq!(breaker.state(later), State::HalfOpen);
        assert_eq!(breaker.admit(later), Ok(()));
        assert!(breaker.admit(later).is_err(), "one trial at a time");
        assert_eq!(breaker.note(false, later), None, "it is open as before");
        assert_eq!(breaker.state(later), State::Open);
        let again = later + OPEN;
        assert_eq!(
            (breaker.admit(again), breaker.note(true, again)),
            (Ok(()), Some(State::Closed))
        );
        assert_eq!((breaker.admit(again), breaker.state(again)), (Ok(()), State::Closed));
    }
}
