//! The time of this machine, and parsing of typed times.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime, format_description};

/// Returns the time of this machine.
#[allow(clippy::disallowed_methods, reason = "commands show times to those who see this clock")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Parses a time in Unix seconds: given so, as a date with or without a time, or as the time that
/// has passed since.
///
/// # Errors
/// The accepted forms, for anything else.
pub(crate) fn read(text: &str) -> Result<u64, String> {
    let now = now().duration_since(UNIX_EPOCH).unwrap_or_default();
    read_at(text, now).ok_or_else(|| {
        "expected 2026-11-24T09:30:00Z, 2026-11-24, 2h (s, m, h or d), or Unix seconds".to_owned()
    })
}

fn read_at(text: &str, now: Duration) -> Option<u64> {
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];
    let ago = units.iter().find_map(|(unit, seconds)| {
        let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
        count.checked_mul(*seconds)
    });
    if let Some(ago) = ago {
        return Some(now.as_secs().saturating_sub(ago));
    }
    let day = format_description::parse_borrowed::<2>("[year]-[month]-[day]").ok()?;
    let at = match Date::parse(text, &day) {
        Ok(date) => date.midnight().assume_utc(),
        Err(_) => OffsetDateTime::parse(text, &Rfc3339).ok()?,
    };
    u64::try_from(at.unix_timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_seconds_or_how_long_ago() {
        let now = Duration::from_secs(1_800_000_000);
        for (text, seconds) in [
            ("1790000000", 1_790_000_000),
            ("2026-11-24T09:30:00Z", 1_795_512_600),
            ("2026-11-24T10:30:00+01:00", 1_795_512_600),
            ("2026-11-24", 1_795_478_400),
            ("90s", 1_799_999_910),
            ("2h", 1_799_992_800),
            ("1d", 1_799_913_600),
            ("99999999d", 0),
        ] {
            assert_eq!(read_at(text, now), Some(seconds), "{text}");
        }
        for text in [
            "",
            "h",
            "2 h",
            "-1h",
            "2w",
            "2026-13-01",
            "2026-11-24T09:30:00",
            "1960-01-01",
            "99999999999999999999d",
        ] {
            assert_eq!(read_at(text, now), None, "{text}");
        }
    }
}
