//! `seconder audit`.

mod summary;

use crate::admin::database::Database;
use crate::admin::input::{COMMON, moment};
use crate::admin::output::table::{aligned, is_read_by_people, table, utc_of_millis};
use crate::admin::output::{print, print_to_reader};
use clap::Args;
use clap::builder::PossibleValuesParser;
use seconder::engine::operator::ListAudit;
use seconder::engine::{AUDIT_VERDICTS, AuditEntry, AuditFilter};
use seconder::model::UserId;
use seconder::{Result, Service};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread::sleep;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    database: Database,
    /// Only what concerns this user, by id. Users who were deleted are known too.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// Only from this time on: 2026-11-24, today or yesterday, alone (the first moment) or with a time as in
    /// 'today 09:30', and in UTC unless a zone follows as in 'today 09:30 +01:00'; 2h (ago; s, m, h or d); or Unix
    /// seconds.
    #[arg(long, value_name = "TIME", value_parser = moment::read)]
    since: Option<u64>,
    /// Only before this time, given in the same ways.
    #[arg(long, value_name = "TIME", value_parser = moment::read)]
    until: Option<u64>,
    /// Only decisions of this kind, such as wrong for codes, not_delivered for messages or configured for the
    /// application. Repeat it, or use commas, for several.
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(AUDIT_VERDICTS)
    )]
    verdict: Vec<String>,
    /// Only those of this call, such as verify or request_sms.
    #[arg(long, value_name = "CALL")]
    call: Option<String>,
    /// Only those of calls that had this address of the user.
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<IpAddr>,
    /// Only what the operator of this name did, or the user of the machine by commands.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Print how many decisions there are for each country, address, number or call, the most frequent first. Those
    /// of the last 24 hours, unless --since says otherwise.
    #[arg(long, value_enum, conflicts_with = "follow")]
    by: Option<summary::By>,
    /// The most decisions to print, or lines with --by.
    #[arg(long, value_name = "COUNT", default_value = "100")]
    limit: usize,
    /// Print each decision as a JSON object.
    #[arg(long, help_heading = COMMON)]
    json: bool,
    /// Print the earliest first, and go on with those that follow until Ctrl-C. On a terminal, the columns
    /// have fixed widths.
    #[arg(long, conflicts_with = "until")]
    follow: bool,
}

/// The number of decisions that are read at once.
const PAGE: u32 = 500;

pub(crate) fn run(options: &Audit) -> Result<()> {
    let service = options.database.existing()?;
    let filter = AuditFilter {
        user_id: options.user,
        since: options.since,
        until: options.until,
        verdict: (!options.verdict.is_empty()).then(|| options.verdict.join(",")),
        call: options.call.clone(),
        user_ip: options.ip,
        operator_name: options.operator.clone(),
    };
    if let Some(by) = options.by {
        let since = filter.since.or_else(|| moment::read("24h").ok());
        let filter = AuditFilter { since, ..filter };
        return summary::run(&service, &filter, by, (options.limit, options.json));
    }
    if options.follow {
        return follow(&service, &filter, options);
    }
    let as_table = !options.json && is_read_by_people();
    let (mut left, mut after, mut rows) = (options.limit, None, Vec::new());
    while left > 0 {
        let page = service.operate(&ListAudit::of(&filter, after, PAGE))?;
        for entry in page.entries.iter().take(left) {
            match as_table {
                true => rows.push(row(entry)),
                false => {
                    let text = if options.json { json(entry) } else { line(entry) };
                    if !print_to_reader(&text)? {
                        return Ok(());
                    }
                }
            }
        }
        left = left.saturating_sub(page.entries.len());
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if as_table { print(&table(&HEADINGS, &rows)) } else { Ok(()) }
}

/// The interval at which new decisions are looked for.
const PAUSE: Duration = Duration::from_secs(1);
/// The most milliseconds by which a decision of another process can appear later than others.
const LATE: i64 = 30_000;

/// The time of a decision, and the values that distinguish it from others of that time.
type Place = (i64, Option<u64>, i64);

/// Prints decisions as they are made.
fn follow(service: &Service, filter: &AuditFilter, options: &Audit) -> Result<()> {
    let (mut seen, mut filter) = (BTreeSet::new(), filter.clone());
    let mut from = newest(service)?;
    let mut latest = recent(service, &filter, &seen, options.limit)?;
    seen.extend(latest.iter().map(place));
    latest.truncate(options.limit);
    let as_table = !options.json && is_read_by_people();
    if as_table {
        print(&aligned(&HEADINGS.map(str::to_owned), &WIDTHS))?;
    }
    loop {
        for entry in latest.iter().rev() {
            let text = match (options.json, as_table) {
                (true, _) => json(entry),
                (false, true) => aligned(&row(entry), &WIDTHS),
                (false, false) => line(entry),
            };
            if !print_to_reader(&text)? {
                return Ok(());
            }
        }
        sleep(PAUSE);
        // If few decisions or none fit the filter, all would be read each time.
        filter.since = options.since.max(from);
        from = newest(service)?;
        latest = recent(service, &filter, &seen, 0)?;
        seen.extend(latest.iter().map(place));
        if let Some((newest, ..)) = seen.last().copied() {
            seen.retain(|(time, ..)| *time >= newest - LATE);
        }
    }
}

/// Returns the Unix time in seconds from which on decisions count as new, as far as a decision shows it.
fn newest(service: &Service) -> Result<Option<u64>> {
    let page = service.operate(&ListAudit::of(&AuditFilter::default(), None, 1))?;
    let newest = page.entries.first().map(|entry| (entry.time - LATE) / 1000);
    Ok(newest.and_then(|seconds| u64::try_from(seconds).ok()))
}

/// Returns the decisions that were not shown yet, the latest first: all of the last while, and so many in any case.
fn recent(
    service: &Service,
    filter: &AuditFilter,
    seen: &BTreeSet<Place>,
    least: usize,
) -> Result<Vec<AuditEntry>> {
    let (mut new, mut after) = (Vec::new(), None);
    let mut newest = seen.last().map(|(time, ..)| *time);
    loop {
        let page = service.operate(&ListAudit::of(filter, after, PAGE))?;
        for entry in page.entries {
            let newest = *newest.get_or_insert(entry.time);
            if entry.time < newest - LATE && new.len() >= least {
                return Ok(new);
            }
            if !seen.contains(&place(&entry)) {
                new.push(entry);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(new);
        }
    }
}

fn place(entry: &AuditEntry) -> Place {
    (entry.time, entry.user_id, entry.nonce)
}

fn json(entry: &AuditEntry) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}

const HEADINGS: [&str; 8] =
    ["TIME", "USER", "CALL", "VERDICT", "FACTOR", "NUMBER", "ADDRESS", "MORE"];
/// The widths while decisions are followed, before the widths of later ones are known.
const WIDTHS: [usize; 8] = [23, 7, 19, 13, 13, 16, 15, 0];

/// Returns a decision in a row of a table.
fn row(entry: &AuditEntry) -> Vec<String> {
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    let more = [
        entry.operator_name.as_ref().map(|name| format!("by {name}")),
        entry.over_limit.as_ref().map(|limit| format!("limit {limit}")),
        entry.reason.clone(),
        (entry.times > 1).then(|| format!("{} times", entry.times)),
    ];
    vec![
        utc_of_millis(entry.time),
        entry.user_id.map(|user| user.to_string()).unwrap_or_default(),
        entry.call.clone(),
        entry.verdict.clone(),
        or_empty(&entry.factor),
        or_empty(&entry.number),
        or_empty(&entry.user_ip),
        more.into_iter().flatten().collect::<Vec<_>>().join(", "),
    ]
}

/// Returns a decision in one line, of words that have no spaces.
fn line(entry: &AuditEntry) -> String {
    let mut line = format!("{}.{:03}", entry.time / 1000, entry.time.rem_euclid(1000));
    if let Some(user) = entry.user_id {
        line.push_str(&format!(" user={user}"));
    }
    line.push_str(&format!(" {} {}", entry.call, entry.verdict));
    let more = [
        ("factor", &entry.factor),
        ("limit", &entry.over_limit),
        ("number", &entry.number),
        ("user_ip", &entry.user_ip),
        ("operator", &entry.operator_name),
        ("reason", &entry.reason),
        ("request_id", &entry.request_id),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            line.push_str(&format!(" {name}={}", value.replace(' ', "_")));
        }
    }
    if entry.times > 1 {
        line.push_str(&format!(" times={}", entry.times));
    }
    line
}
