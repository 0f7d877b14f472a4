//! The output of commands: tables for people, and JSON for programs.

use super::print;
use crate::admin::input::COMMON;
use clap::Args;
use seconder::Result;
use serde::Serialize;
use std::io::{IsTerminal, stdout};

/// Whether a command prints JSON instead of text.
#[derive(Args, Clone, Copy)]
pub(crate) struct Json {
    /// Print a JSON object.
    #[arg(long, help_heading = COMMON)]
    json: bool,
}

impl Json {
    /// Prints the result of a command, as an object or as text.
    pub(crate) fn print(self, object: &impl Serialize, text: &str) -> Result<()> {
        match self.json {
            true => print_json(serde_json::to_string(object)),
            false => print(text),
        }
    }
}

/// Formats a table: each column as wide as its widest value. A missing value stays empty.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let all = || std::iter::once(&headings).chain(rows);
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|value| value.chars().count()).max()
    };
    let widths: Vec<usize> = (0..headings.len()).map(|column| width(column).unwrap_or(0)).collect();
    all().map(|row| aligned(row, &widths)).collect::<Vec<_>>().join("\n")
}

/// Formats a row of a table whose columns have these widths. A wider value moves the columns after it. Text of others,
/// such as a provider's response, breaks no line and controls no terminal.
pub(crate) fn aligned(row: &[String], widths: &[usize]) -> String {
    let plain = row.iter().map(|value| value.replace(char::is_control, " "));
    let padded = plain.zip(widths).map(|(value, width)| format!("{value:width$}"));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// Returns whether a person reads the output, and not a program, which may filter it line by line.
pub(crate) fn is_read_by_people() -> bool {
    stdout().is_terminal()
}

/// Formats a name and a value in each line, without the values that are missing.
pub(crate) fn lines(values: &[(&str, Option<String>)]) -> String {
    let there: Vec<_> =
        values.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))).collect();
    let width = there.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&&str, &String)| format!("{name:width$}  {value}");
    there.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Prints a value that was written as JSON, in one line.
pub(crate) fn print_json(written: serde_json::Result<String>) -> Result<()> {
    print(&written.unwrap_or_default())
}

/// Formats a time: a date and a time of UTC.
pub(crate) fn utc(seconds: u64) -> String {
    let (minute, _) = utc_parts(seconds);
    format!("{minute} UTC")
}

/// Formats a time in Unix milliseconds, with its seconds; 0 stands for one before 1970.
pub(crate) fn utc_of_millis(millis: i64) -> String {
    let (minute, second) = utc_parts(u64::try_from(millis / 1000).unwrap_or_default());
    format!("{minute}:{second:02} UTC")
}

fn utc_parts(seconds: u64) -> (String, u64) {
    const DAY: u64 = 24 * 60 * 60;
    // Of years that begin in March, so that the day of a leap year is their last one.
    let days = seconds / DAY + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute) = (seconds % DAY / 3600, seconds % 3600 / 60);
    (format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}"), seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_value() {
        let row = |one: &str, two: &str| vec![one.to_owned(), two.to_owned()];
        let shown = table(&["ID", "NAME"], &[row("1", "Ä b"), row("1000", "")]);
        assert_eq!(shown, "ID    NAME\n1     Ä b\n1000");
        let shown = table(&["ID", "ERROR"], &[row("1", "\x1b[2Jno\nroute")]);
        assert_eq!(shown, "ID  ERROR\n1    [2Jno route");
        let shown = lines(&[("a", Some("1".into())), ("none", None), ("abc", Some("2".into()))]);
        assert_eq!(shown, "a    1\nabc  2");
    }

    #[test]
    fn times_are_shown_as_dates() {
        for (seconds, shown) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_700_006_400, "2023-11-15 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), shown);
        }
        assert_eq!(utc_of_millis(951_782_399_999), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc_of_millis(-1), "1970-01-01 00:00:00 UTC");
    }
}
