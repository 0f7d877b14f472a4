//! Sets of HTTP statuses, as an operator writes them: `200-299, 304`.

use std::ops::RangeInclusive;

/// A set of statuses.
pub(super) struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Reads statuses from 100 to 599, and ranges of them.
    pub(super) fn read(text: &str) -> Option<Statuses> {
        let status = |text: &str| {
            let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|status| digits && (100..=599).contains(status))
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (status(first.trim())?, status(last.trim())?);
            (first <= last).then_some(first..=last)
        };
        text.split(',').map(|part| range(part.trim())).collect::<Option<_>>().map(Statuses)
    }

    pub(super) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_listed_with_ranges() {
        let statuses = Statuses::read("200-204, 304 ,409").unwrap();
        for (status, wanted) in
            [(199, false), (200, true), (204, true), (205, false), (304, true), (409, true)]
        {
            assert_eq!(statuses.contains(status), wanted, "{status}");
        }
        for bad in ["", "2xx", "200-", "299-200", "99", "600", "200;201", "200,", "+20", "0200"] {
            assert!(Statuses::read(bad).is_none(), "{bad}");
        }
    }
}
