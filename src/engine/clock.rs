//! Time and randomness, which are given to the engine.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The time since the Unix epoch.
    fn now(&self) -> Duration;
}

/// Gives random bytes that nobody can guess.
pub trait Random: Send + Sync {
    /// Fills the buffer.
    ///
    /// # Errors
    /// [`Error::Internal`] when the source fails; nothing is issued then.
    fn fill(&self, buffer: &mut [u8]) -> Result<()>;
}

/// The clock and the randomness of the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct System;

impl Clock for System {
    #[allow(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    fn now(&self) -> Duration {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}

impl Random for System {
    fn fill(&self, buffer: &mut [u8]) -> Result<()> {
        getrandom::fill(buffer).map_err(|_| Error::Internal {
            message: "the system's source of randomness fails".into(),
        })
    }
}

/// A point in time, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Time(pub(super) i64);

impl Time {
    pub(super) fn of(clock: &dyn Clock) -> Time {
        Time(i64::try_from(clock.now().as_millis()).unwrap_or(i64::MAX))
    }

    pub(super) fn seconds(self) -> u64 {
        u64::try_from(self.0 / 1000).unwrap_or(0)
    }

    pub(super) fn plus(self, time: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is from `now` until this time; none when that is past.
    pub(super) fn after(self, now: Time) -> Option<Duration> {
        let wait = u64::try_from(self.0.saturating_sub(now.0)).ok()?;
        (wait > 0).then(|| Duration::from_millis(wait))
    }

    /// The time in RFC 3339, to the second.
    pub(super) fn rfc3339(self) -> String {
        self.date().format(&Rfc3339).unwrap_or_default()
    }

    /// The month as a number that ascends: the year times twelve and the month from 0.
    pub(super) fn month(self) -> i64 {
        let date = self.date();
        i64::from(date.year()) * 12 + i64::from(u8::from(date.month())) - 1
    }

    fn date(self) -> OffsetDateTime {
        let seconds = i64::try_from(self.seconds()).unwrap_or(0);
        OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

/// A number of so many decimal digits, each as likely as any other.
pub(super) fn digits(random: &dyn Random, count: u8) -> Result<String> {
    let mut code = String::new();
    while code.len() < count.into() {
        let mut byte = [0];
        random.fill(&mut byte)?;
        // 250 is the largest multiple of ten in a byte; what is above would favour some digits.
        if byte[0] < 250 {
            code.push(char::from(b'0' + byte[0] % 10));
        }
    }
    Ok(code)
}

/// A name that nobody can guess, as a UUID of version 4.
pub(super) fn uuid(random: &dyn Random) -> Result<String> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

/// A secret of 32 bytes, in Base64 of the URL alphabet.
pub(super) fn secret(random: &dyn Random) -> Result<crate::model::Secret> {
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
    fn every_digit_is_as_likely_as_any_other() {
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
