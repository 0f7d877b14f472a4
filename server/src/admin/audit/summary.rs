//! `seconder audit --by`: how many decisions there are of each kind, the most frequent first.

use super::PAGE;
use crate::admin::output::table::{is_read_by_people, table};
use crate::admin::output::{print, print_to_reader};
use clap::ValueEnum;
use seconder::engine::operator::ListAudit;
use seconder::engine::{AuditEntry, AuditFilter};
use seconder::{Result, Service};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most groups that are counted apart: an attack makes up numbers without end.
const MOST_GROUPS: usize = 100_000;
/// The group of those beyond.
const OTHERS: &str = "others";

/// The part of a decision by which they are counted.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    /// The calling code of the number.
    Country,
    /// The address of the user.
    Address,
    /// The masked number.
    Number,
    /// The call.
    Call,
}

impl By {
    fn group(self, entry: &AuditEntry) -> Option<&str> {
        match self {
            By::Country => entry.number.as_deref().and_then(|number| number.split('-').next()),
            By::Address => entry.user_ip.as_deref(),
            By::Number => entry.number.as_deref(),
            By::Call => Some(&entry.call),
        }
    }

    fn heading(self) -> &'static str {
        match self {
            By::Country => "COUNTRY",
            By::Address => "ADDRESS",
            By::Number => "NUMBER",
            By::Call => "CALL",
        }
    }
}

/// Prints the groups with the most decisions, and their number. Decisions without the part are left out.
pub(super) fn run(
    service: &Service,
    filter: &AuditFilter,
    by: By,
    (limit, json): (usize, bool),
) -> Result<()> {
    let mut groups = BTreeMap::<String, u64>::new();
    let mut after = None;
    loop {
        let page = service.operate(&ListAudit::of(filter, after, PAGE))?;
        for entry in &page.entries {
            let Some(group) = by.group(entry) else { continue };
            let is_apart = groups.len() < MOST_GROUPS || groups.contains_key(group);
            let group = if is_apart { group } else { OTHERS };
            *groups.entry(group.to_owned()).or_default() += u64::from(entry.times);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    groups.truncate(limit);
    if !json && is_read_by_people() {
        let rows: Vec<_> =
            groups.into_iter().map(|(group, times)| vec![group, times.to_string()]).collect();
        return print(&table(&[by.heading(), "TIMES"], &rows));
    }
    for (group, times) in groups {
        let name = by.heading().to_ascii_lowercase();
        let line = match json {
            true => serde_json::json!({ name: group, "times": times }).to_string(),
            false => format!("{times} {group}"),
        };
        if !print_to_reader(&line)? {
            break;
        }
    }
    Ok(())
}
