//! The monotonic time by which the engine judges waits and lives, which never goes back.
//!
//! A clock that is set back would lift waits, revive codes, browsers and approval requests that have
//! expired, and empty the counts of limits. So every call has two times ([`Now`]): the time that the
//! clock shows, for people, statistics and the steps of authenticator apps; and a steady time, in which
//! everything is stored that is compared later. The steady time is the time that the clock shows, plus
//! the sum of all steps by which it was set back: it continues from where it was, at the rate of the
//! clock. So no wait and no life becomes longer than it should be, however wrong the clock was in
//! between: one that was a year ahead for a moment, and was put right, lets everything expire that would
//! have in that year, and nothing waits for a year.
//!
//! The progress of the steady time is a row of `sequences`, so that it holds after a restart and for
//! other processes: written along with the next change once it is `STORED_EVERY` behind, which takes no
//! commit of its own, and read when the clock has moved by `READ_EVERY` since it was read last. So a
//! restart can take back `STORED_EVERY` at most, and it takes other processes `READ_EVERY` to notice. The
//! clocks of several nodes may differ a little: the slower ones follow the fastest.
//!
//! Another row there says by how much the steady time was ahead of a clock at most, when a decision was
//! noted: while no process runs, the clock catches up with the steady time, so a later process cannot
//! know otherwise where decisions of a time by the clock are among those that are ordered by this one.

use crate::engine::model::clock::{Clock, Now, Time};
use crate::engine::operations::steady::Reached;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// A clock that is behind by less, in milliseconds, was read by a thread that was slower than others: the
/// time stands still then, because it would go too fast if each such thread moved it.
const SLOW: i64 = 1_000;
/// The time by which the stored time may be behind, in milliseconds.
const STORED_EVERY: i64 = 5_000;
/// The distance that the clock moves before the stored time is read again, in milliseconds.
const READ_EVERY: i64 = 1_000;

pub(in crate::engine) struct Steady {
    /// The difference by which the steady time is ahead of the clock.
    ahead: AtomicI64,
    /// The latest steady time that any call has seen.
    latest: AtomicI64,
    stored: AtomicI64,
    /// The largest difference by which the steady time was ahead of the clock, for any call; and the
    /// part of it that is known to be stored.
    most_ahead: AtomicI64,
    stored_ahead: AtomicI64,
    /// The time that the clock showed when the stored time was last read.
    read_at: AtomicI64,
}

impl Steady {
    pub(in crate::engine) fn new() -> Steady {
        let new = || AtomicI64::new(0);
        // The stored time is read at first, no matter what the clock shows.
        let read_at = AtomicI64::new(-READ_EVERY);
        let [ahead, latest, stored, most_ahead, stored_ahead] = std::array::from_fn(|_| new());
        Steady { ahead, latest, stored, most_ahead, stored_ahead, read_at }
    }

    pub(in crate::engine) fn now(&self, clock: &dyn Clock) -> Now {
        let mut again = false;
        loop {
            // Before the clock is read: if it is set back in between, this is not what belongs to it.
            let ahead = self.ahead.load(SeqCst);
            let shown = Time::of(clock);
            let steady = shown.0.saturating_add(ahead);
            let latest = self.latest.load(SeqCst);
            let back = latest.saturating_sub(steady);
            // A thread may also have been stopped for long after it read the clock.
            if back > SLOW && !std::mem::replace(&mut again, true) {
                continue;
            }
            let more = if back > SLOW { back } else { 0 };
            let same =
                self.ahead.compare_exchange(ahead, ahead.saturating_add(more), SeqCst, SeqCst);
            if same.is_ok() {
                let latest = self.latest.fetch_max(steady, SeqCst).max(steady);
                let now = Now { clock: shown, steady: Time(latest) };
                self.most_ahead.fetch_max(now.ahead(), SeqCst);
                return now;
            }
        }
    }

    /// Returns whether the stored time has to be read, by the one caller that gets this.
    pub(in crate::engine) fn must_read(&self, now: Now) -> bool {
        let read_at = self.read_at.load(SeqCst);
        now.clock.0.abs_diff(read_at) >= READ_EVERY.unsigned_abs()
            && self.read_at.compare_exchange(read_at, now.clock.0, SeqCst, SeqCst).is_ok()
    }

    /// Follows a time that others have stored.
    pub(in crate::engine) fn follow(&self, stored: Time) {
        self.stored.fetch_max(stored.0, SeqCst);
        self.latest.fetch_max(stored.0, SeqCst);
    }

    /// Returns the progress to store with the next change, if any.
    pub(in crate::engine) fn to_store(&self) -> Option<Reached> {
        let (latest, ahead) = (self.latest.load(SeqCst), self.most_ahead.load(SeqCst));
        let behind = latest.saturating_sub(self.stored.load(SeqCst));
        let is_wider = ahead.saturating_sub(self.stored_ahead.load(SeqCst)) > SLOW;
        (behind >= STORED_EVERY || is_wider).then_some(Reached { latest: Time(latest), ahead })
    }

    pub(in crate::engine) fn was_stored(&self, reached: Reached) {
        self.stored.fetch_max(reached.latest.0, SeqCst);
        self.stored_ahead.fetch_max(reached.ahead, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Given(AtomicI64);

    impl Clock for Given {
        fn now(&self) -> Duration {
            Duration::from_millis(self.0.load(SeqCst).unsigned_abs())
        }
    }

    /// Returns the steady times while a clock shows these times.
    fn steady(of: &Steady, times: &[i64]) -> Vec<i64> {
        let clock = Given(AtomicI64::new(0));
        let now = |time: &i64| {
            clock.0.store(*time, SeqCst);
            let now = of.now(&clock);
            assert_eq!(now.clock.0, *time);
            now.steady.0
        };
        times.iter().map(now).collect()
    }

    const MINUTE: i64 = 60_000;
    const YEAR: i64 = 365 * 24 * 60 * MINUTE;

    #[test]
    fn a_thread_that_is_slower_than_others_moves_nothing() {
        let times = [YEAR, YEAR - 1, YEAR - SLOW, YEAR - 1, YEAR + 1];
        assert_eq!(steady(&Steady::new(), &times), [YEAR, YEAR, YEAR, YEAR, YEAR + 1]);
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let times = [2 * YEAR, YEAR, YEAR + MINUTE, MINUTE, 2 * MINUTE];
        let expected = [0, 0, 1, 1, 2].map(|minutes| 2 * YEAR + minutes * MINUTE);
        assert_eq!(steady(&Steady::new(), &times), expected);
    }

    #[test]
    fn a_clock_that_was_ahead_for_a_moment_makes_nothing_wait() {
        let times = [MINUTE, YEAR, 2 * MINUTE, 4 * MINUTE];
        let expected = [MINUTE, YEAR, YEAR, YEAR + 2 * MINUTE];
        assert_eq!(steady(&Steady::new(), &times), expected);
    }

    #[test]
    fn what_others_have_stored_is_followed() {
        let steady_time = Steady::new();
        steady_time.follow(Time(YEAR));
        assert_eq!(steady(&steady_time, &[MINUTE, 2 * MINUTE]), [YEAR, YEAR + MINUTE]);
        let reached = Reached { latest: Time(YEAR + MINUTE), ahead: YEAR - MINUTE };
        assert_eq!(steady_time.to_store(), Some(reached));
        steady_time.was_stored(reached);
        assert_eq!(steady_time.to_store(), None);
    }

    #[test]
    fn how_far_it_was_ahead_is_stored_at_once() {
        let steady_time = Steady::new();
        let _ = steady(&steady_time, &[YEAR]);
        steady_time.was_stored(Reached { latest: Time(YEAR), ahead: 0 });
        let _ = steady(&steady_time, &[YEAR - SLOW]);
        assert_eq!(steady_time.to_store(), None);
        let _ = steady(&steady_time, &[YEAR - MINUTE]);
        let reached = Reached { latest: Time(YEAR), ahead: MINUTE };
        assert_eq!(steady_time.to_store(), Some(reached));
    }

    #[test]
    fn the_stored_time_is_read_when_the_clock_has_moved_either_way() {
        let steady = Steady::new();
        let at = |clock| Now { clock: Time(clock), steady: Time(YEAR) };
        let reads = [0, 999, 1000, 1, 0, YEAR].map(|clock| steady.must_read(at(clock)));
        assert_eq!(reads, [true, false, true, false, true, true]);
    }
}
