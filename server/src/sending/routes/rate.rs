//! Limits the messages per second of a route.

use std::time::{Duration, Instant};

/// Lets so many through in each second, and as many at once.
#[derive(Debug)]
pub(super) struct Rate {
    /// The limit; `None` if there is no limit.
    per_second: Option<u32>,
    /// The time at which the next message may go, if the ones before had been spread evenly.
    next: Option<Instant>,
}

impl Rate {
    /// Returns a limit; 0 is no limit.
    pub(super) fn new(per_second: u32) -> Rate {
        Rate { per_second: Some(per_second).filter(|rate| *rate > 0), next: None }
    }

    /// Takes the place of one message, or returns how long it has to wait.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        let Some(per_second) = self.per_second else { return Ok(()) };
        let second = Duration::from_secs(1);
        let next = self.next.unwrap_or(now).max(now);
        // As many places as a second has can be taken in advance.
        let ahead = next - now;
        let each = second / per_second;
        if ahead + each > second {
            return Err(ahead + each - second);
        }
        self.next = Some(next + each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pass_in_a_second_as_are_allowed() {
        let (mut rate, start) = (Rate::new(3), Instant::now());
        let passed = |rate: &mut Rate, at| (0..10).filter(|_| rate.admit(at).is_ok()).count();
        assert_eq!(passed(&mut rate, start), 3);
        assert!(rate.admit(start).unwrap_err() <= Duration::from_secs(1));
        assert_eq!(passed(&mut rate, start + Duration::from_millis(400)), 1);
        assert_eq!(passed(&mut rate, start + Duration::from_secs(10)), 3);
        assert_eq!(passed(&mut Rate::new(0), start), 10);
    }
}
