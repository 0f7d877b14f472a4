//! The requests of each API key, counted in the memory of each node: a count that all nodes share would cost each
//! request a write.

use super::reached::Reached;
use crate::engine::model::clock::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const SECOND: i64 = 1_000_000_000;
const MILLISECOND: i64 = 1_000_000;

/// For each application, when all requests that were made would be due at the rate, in nanoseconds; and the limits that
/// were reached.
#[derive(Default)]
pub(in crate::engine) struct Rates {
    due: Mutex<BTreeMap<i64, i64>>,
    pub(in crate::engine) reached: Reached,
}

impl Rates {
    /// Counts a request, or returns how long to wait before the next.
    pub(in crate::engine) fn take(
        &self,
        app: i64,
        rate: u32,
        burst: u32,
        now: Time,
    ) -> Result<(), Duration> {
        if rate == 0 {
            return Ok(());
        }
        let now = now.0.saturating_mul(MILLISECOND);
        let each = SECOND / i64::from(rate);
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let due = due.entry(app).or_insert(now);
        let next = (*due).max(now).saturating_add(each);
        let early = next - now - each.saturating_mul(burst.into());
        if early > 0 {
            return Err(Duration::from_nanos(early.unsigned_abs()));
        }
        *due = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let rates = Rates::default();
        let take = |at| rates.take(1, 100, 200, Time(at));
        for _ in 0..200 {
            assert_eq!(take(1_000), Ok(()));
        }
        assert_eq!(take(1_000), Err(Duration::from_millis(10)));
        assert_eq!(rates.take(2, 100, 200, Time(1_000)), Ok(()), "another application");
        assert_eq!(take(1_009), Err(Duration::from_millis(1)));
        assert_eq!(take(1_010), Ok(()));
        assert_eq!(take(1_010), Err(Duration::from_millis(10)));
        assert_eq!(
            (0..100).map(|_| take(2_010)).collect::<Result<Vec<_>, _>>().map(|all| all.len()),
            Ok(100)
        );
        assert!(take(2_010).is_err());
        assert_eq!(rates.take(1, 0, 1, Time(2_010)), Ok(()), "no limit");
    }
}
