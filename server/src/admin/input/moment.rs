//! The time of this machine, and parsing of typed times.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime, Time, UtcOffset, format_description};

/// Returns the time of this machine.
#[allow(clippy::disallowed_methods, reason = "commands show times to those who see this clock")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Parses a time in Unix seconds: given so, as a day with or without a time and a zone, or as the time that
/// has passed since.
///
/// # Errors
/// The accepted forms, for anything else.
pub(crate) fn read(text: &str) -> Result<u64, String> {
    let now = now().duration_since(UNIX_EPOCH).unwrap_or_default();
    read_at(text, now).ok_or_else(|| {
        "expected 2026-11-24T09:30:00Z, 2026-11-24, today, 'yesterday 09:30 +01:00', 2h (s, m, h or d), or Unix \
         seconds"
            .to_owned()
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
    let at = OffsetDateTime::parse(text, &Rfc3339).ok().or_else(|| day(text, now))?;
    u64::try_from(at.unix_timestamp()).ok()
}

/// Parses a day, its first moment or another one, in UTC or in a zone: `yesterday 09:30 +01:00`.
fn day(text: &str, now: Duration) -> Option<OffsetDateTime> {
    let (text, zone) = match text.strip_suffix("UTC").or_else(|| text.strip_suffix('Z')) {
        Some(rest) => (rest, UtcOffset::UTC),
        None => zoned(text).unwrap_or((text, UtcOffset::UTC)),
    };
    let (day, clock) = match text.trim_end().split_once([' ', 'T']) {
        Some((day, clock)) => (day, clock.trim_start()),
        None => (text.trim_end(), "00:00"),
    };
    let today = || {
        let now = OffsetDateTime::from_unix_timestamp(i64::try_from(now.as_secs()).ok()?).ok()?;
        Some(now.to_offset(zone).date())
    };
    let date = match day {
        "today" => today()?,
        "yesterday" => today()?.previous_day()?,
        date => Date::parse(date, &description("[year]-[month]-[day]")?).ok()?,
    };
    let formats = ["[hour]:[minute]", "[hour]:[minute]:[second]"].into_iter();
    let mut read = formats.filter_map(|format| Time::parse(clock, &description(format)?).ok());
    Some(date.with_time(read.next()?).assume_offset(zone))
}

/// Splits a text that ends with a zone, such as `+01:00` or `-0500`, not in a date.
fn zoned(text: &str) -> Option<(&str, UtcOffset)> {
    let sign = text.rfind(['+', '-']).filter(|at| text[..*at].contains([' ', ':', 'y', '+']))?;
    let (rest, zone) = text.split_at(sign);
    let formats = [
        "[offset_hour sign:mandatory]:[offset_minute]",
        "[offset_hour sign:mandatory][offset_minute]",
        "[offset_hour sign:mandatory]",
    ];
    let mut read =
        formats.into_iter().filter_map(|format| UtcOffset::parse(zone, &description(format)?).ok());
    Some((rest, read.next()?))
}

fn description(text: &'static str) -> Option<Vec<BorrowedFormatItem<'static>>> {
    format_description::parse_borrowed::<2>(text).ok()
}

/// Seconds of a time such as `24h`.
pub(crate) fn seconds(text: &str) -> std::result::Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.as_bytes()[text.len() - 1]),
        None => (text, b's'),
    };
    let times = match unit {
        b'm' => 60,
        b'h' => 60 * 60,
        b'd' => 24 * 60 * 60,
        _ => 1,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = number.parse::<u64>().ok().filter(|_| is_number);
    let seconds = seconds.and_then(|number| number.checked_mul(times));
    seconds.ok_or_else(|| "must be a number and s, m, h or d, such as 24h".to_owned())
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
            ("2026-11-24 09:30", 1_795_512_600),
            ("2026-11-24T09:30:00", 1_795_512_600),
            ("2026-11-24 09:30 UTC", 1_795_512_600),
            ("2026-11-24 10:30:00 +01:00", 1_795_512_600),
            ("2026-11-24 04:30-0500", 1_795_512_600),
            ("2026-11-24 +01", 1_795_474_800),
            // Now it is 08:00 UTC.
            ("today", 1_799_971_200),
            ("yesterday", 1_799_884_800),
            ("yesterday 09:30", 1_799_919_000),
            ("yesterday 09:30 +01:00", 1_799_915_400),
            ("today+01:00", 1_799_967_600),
            ("today -09:00", 1_799_917_200),
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
            "2026-11-24T9:30",
            "2026-11-24 25:00",
            "today +27:00",
            "today 09:30 CET",
            "tomorrow",
            "2026-11-24-25",
            "1960-01-01",
            "99999999999999999999d",
        ] {
            assert_eq!(read_at(text, now), None, "{text}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        for (text, expected) in
            [("0", 0), ("90s", 90), ("30m", 1800), ("24h", 86_400), ("7d", 604_800)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for wrong in ["", "h", "1w", "-1h", "+1h", "1.5h", "99999999999999999999d"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
