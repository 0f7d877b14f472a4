//! Time and randomness, which are passed to the engine so that tests can control them.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A source of time.
pub trait Clock: Send + Sync {
    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;
}

/// A source of unpredictable random bytes.
pub trait Random: Send + Sync {
    /// Fills the buffer.
    ///
    /// # Errors
    /// [`Error::Internal`] if the source fails; nothing is issued then.
    fn fill(&self, buffer: &mut [u8]) -> Result<()>;
}

/// The clock and the randomness of the system.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct System;

impl Clock for System {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the clock that is passed to everything else"
    )]
    fn now(&self) -> Duration {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}

/// Returns the time of the system since the Unix epoch, for uses that no test has to control.
pub(crate) fn system_time() -> Duration {
    System.now()
}

impl Random for System {
    fn fill(&self, buffer: &mut [u8]) -> Result<()> {
        getrandom::fill(buffer).map_err(|_| Error::Internal {
            message: "the system's source of randomness failed".into(),
        })
    }
}

/// A point in time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(in crate::engine) struct Time(pub(in crate::engine) i64);

/// The time at which a call is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Now {
    /// The time that the clock shows: for people, statistics and the steps of authenticator apps.
    pub(in crate::engine) clock: Time,
    /// The time that never goes back, for everything that is stored and compared later.
    pub(in crate::engine) steady: Time,
}

impl Now {
    /// Returns the difference by which the steady time is ahead of the clock, in milliseconds.
    pub(in crate::engine) fn ahead(self) -> i64 {
        self.steady.0.saturating_sub(self.clock.0)
    }

    /// Returns the time that the clock shows at a steady time.
    pub(in crate::engine) fn shown(self, steady: Time) -> Time {
        Time(steady.0.saturating_sub(self.ahead()))
    }
}

impl Time {
    pub(in crate::engine) fn of(clock: &dyn Clock) -> Time {
        Time(i64::try_from(clock.now().as_millis()).unwrap_or(i64::MAX))
    }

    pub(in crate::engine) fn seconds(self) -> u64 {
        u64::try_from(self.0 / 1000).unwrap_or(0)
    }

    pub(in crate::engine) fn plus(self, time: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    pub(in crate::engine) fn minus(self, time: Duration) -> Time {
        Time(self.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time from `now` until this time, or `None` if it has passed.
    pub(in crate::engine) fn after(self, now: Time) -> Option<Duration> {
        let wait = u64::try_from(self.0.saturating_sub(now.0)).ok()?;
        (wait > 0).then(|| Duration::from_millis(wait))
    }

    /// Returns the time in RFC 3339, to the second.
    pub(in crate::engine) fn rfc3339(self) -> String {
        self.date().format(&Rfc3339).unwrap_or_default()
    }

    /// Returns the time as messages show it: `2017-11-25 23:21:39 UTC`.
    pub(in crate::engine) fn utc(self) -> String {
        self.rfc3339().replace('T', " ").replace('Z', " UTC")
    }

    /// Returns the month as an ascending number: the year times twelve plus the month, counted from
    /// 0.
    pub(in crate::engine) fn month(self) -> i64 {
        let date = self.date();
        i64::from(date.year()) * 12 + i64::from(u8::from(date.month())) - 1
    }

    fn date(self) -> OffsetDateTime {
        let seconds = i64::try_from(self.seconds()).unwrap_or(0);
        OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

/// Draws a number with this many decimal digits, all equally likely.
pub(in crate::engine) fn digits(random: &dyn Random, count: u8) -> Result<String> {
    let mut code = String::new();
    while code.len() < count.into() {
        let mut byte = [0];
        random.fill(&mut byte)?;
        // 250 is the largest multiple of ten in a byte. Using the bytes from there on would favour
        // some digits.
        if byte[0] < 250 {
            code.push(char::from(b'0' + byte[0] % 10));
        }
    }
    Ok(code)
}

/// Draws an unpredictable id: a UUID of version 4.
pub(in crate::engine) fn uuid(random: &dyn Random) -> Result<String> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

/// Draws a secret of 32 bytes, in Base64 with the URL alphabet.
pub(in crate::engine) fn secret(random: &dyn Random) -> Result<crate::model::Secret> {
    use base64::Engine as _;
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    random.fill(&mut *bytes)?;
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(*bytes);
    Ok(crate::model::Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};

    struct Counting(AtomicU8);
    impl Random for Counting {
        fn fill(&self, buffer: &mut [u8]) -> Result<()> {
            buffer.iter_mut().for_each(|byte| *byte = self.0.fetch_add(1, Ordering::Relaxed));
            Ok(())
        }
    }

    #[test]
    fn all_digits_are_equally_likely() {
        let random = Counting(AtomicU8::new(0));
        let all: String = (0..25).map(|_| digits(&random, 10).unwrap()).collect();
        for digit in '0'..='9' {
            assert_eq!(all.matches(digit).count(), 25, "{digit}");
        }
        // The next six bytes are 250 to 255, which are skipped.
        assert_eq!(digits(&random, 6).unwrap(), "012345");
    }

    #[test]
    fn months_and_times() {
        let time = Time(1_486_688_992_999);
        assert_eq!(time.rfc3339(), "2017-02-10T01:09:52Z");
        assert_eq!(time.month(), 2017 * 12 + 1);
        assert_eq!(time.after(Time(1_486_688_992_000)), Some(Duration::from_millis(999)));
        assert_eq!(time.after(time), None);
    }
}
