//! `seconder jobs`.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::output::table::{is_read_by_people, print_json, table, utc_of_millis};
use crate::admin::output::{print, print_to_reader};
use clap::{Args, Subcommand};
use seconder::Result;
use seconder::engine::operator::{
    CancelJob, CountJobs, ListJobs, Operation, ReplayJob, RunJobs, ShowJob,
};
use seconder::engine::{JobEntry, JobKind, JobState, JobStatus};
use seconder::model::UserId;
use seconder_server::PublicUrl;

/// The number of jobs that are read at once.
const PAGE: u32 = 500;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print jobs, route by route.
    ///
    /// Those that wait come before those that failed and those that were sent, and of each route the latest due
    /// first. It is a table on a terminal. A program gets a line of words for each, with more of it, and with
    /// times in Unix seconds.
    List(List),
    /// Count the jobs of each route and kind.
    ///
    /// It says how many wait, are being attempted (leased), and were sent or failed in the last 24 hours; for
    /// how long the oldest has waited; and within which time half and 99 % of those that were sent were. It is a
    /// table on a terminal, and a line of words for each pair otherwise. Of each queue, 10 000 jobs are counted
    /// at most: with a +, there are more. Of what was sent, those count whose provider gave them an id.
    Status {
        #[command(flatten)]
        database: Database,
        /// Print each route and kind as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print everything about a job that is stored, but for what it carries.
    Show(One),
    /// Have jobs attempted at once: those that wait, and those that failed.
    ///
    /// A callback that failed gets the attempts and the time of a new one. A message can be sent only while its
    /// code is valid; after that, the user has to request a new one. `seconder serve` attempts them within
    /// seconds, and `seconder jobs run` when it is run.
    Replay(Several),
    /// Remove jobs that wait or are being attempted.
    ///
    /// An attempt that was begun goes on. The messages count for no limit, and the audit has a row for each.
    Cancel(Several),
    /// Make the attempts that are due, without `seconder serve`.
    ///
    /// Cron can run it. Messages go where `seconder serve` sends them. It prints how many messages and callbacks
    /// were sent, wait for another attempt, and failed for good, if there were any; that some failed is no
    /// error.
    Run {
        #[command(flatten)]
        database: Database,
        /// Time after which no attempt begins, in seconds.
        #[arg(long, value_name = "SECONDS", default_value = "60",
              value_parser = clap::value_parser!(u64).range(1..=86_400))]
        budget: u64,
        /// URL at which providers reach `seconder serve`, as its option of this name.
        #[arg(long, value_name = "URL")]
        public_url: Option<PublicUrl>,
        /// Print the numbers as a JSON object, also if there was nothing to do.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    database: Database,
    /// Only jobs in this state: waiting, leased (being attempted), failed or sent.
    #[arg(long, value_name = "STATE")]
    state: Option<JobState>,
    /// Only jobs of this kind: sms, calls, welcome (install messages to new users), callback or push.
    #[arg(long, value_name = "KIND")]
    kind: Option<JobKind>,
    /// Only jobs of this route, such as spool; the callbacks of application 1 have the route callbacks:1.
    #[arg(long, value_name = "ROUTE")]
    route: Option<String>,
    /// Only jobs about this user, by id: the latest first.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// The most jobs to print.
    #[arg(long, value_name = "COUNT", default_value = "100")]
    limit: usize,
    /// Print each job as a JSON object, in which times are in milliseconds.
    #[arg(long, help_heading = COMMON)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct One {
    #[command(flatten)]
    database: Database,
    /// Print it as a JSON object, in which times are in milliseconds.
    #[arg(long, help_heading = COMMON)]
    json: bool,
    /// Id of the job: 16 hexadecimal digits.
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Args)]
pub(crate) struct Several {
    #[command(flatten)]
    database: Database,
    /// Print each of them as a JSON object, in which times are in milliseconds.
    #[arg(long, help_heading = COMMON)]
    json: bool,
    /// Ids of jobs: 16 hexadecimal digits each. After an error, those that follow are left alone.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::List(options) => list(options),
        Command::Status { database, json } => status(&database, json),
        Command::Show(options) => show(&options),
        Command::Replay(options) => manage(&options, |id| ReplayJob { id }),
        Command::Cancel(options) => manage(&options, |id| CancelJob { id }),
        Command::Run { database, budget, public_url, json } => {
            run_due(&database, budget, public_url, json)
        }
    }
}

fn list(options: List) -> Result<()> {
    let service = options.database.existing()?;
    let List { state, kind, route, user: user_id, .. } = options;
    let mut page_of = ListJobs { state, kind, route, user_id, ..ListJobs::default() };
    let mut left = options.limit;
    let mut shown = Shown::new(options.json);
    while left > 0 {
        page_of.most = Some(u32::try_from(left).unwrap_or(PAGE).min(PAGE));
        let page = service.operate(&page_of)?;
        for entry in &page.entries {
            if !shown.add(entry)? {
                return Ok(());
            }
        }
        left = left.saturating_sub(page.entries.len());
        page_of.after = page.next;
        if page_of.after.is_none() {
            break;
        }
    }
    shown.end()
}

fn status(database: &Database, json: bool) -> Result<()> {
    let service = database.existing()?;
    let statuses = service.operate(&CountJobs {})?.counts;
    if json {
        let document = |status| serde_json::to_string(status).unwrap_or_default();
        return statuses.iter().try_for_each(|status| print(&document(status)));
    }
    if is_read_by_people() {
        let headings =
            ["ROUTE", "KIND", "WAITING", "LEASED", "FAILED", "SENT", "OLDEST", "HALF", "99 %"];
        return print(&table(&headings, &statuses.iter().map(status_row).collect::<Vec<_>>()));
    }
    statuses.iter().try_for_each(|status| print(&status_line(status)))
}

fn show(options: &One) -> Result<()> {
    let service = options.database.existing()?;
    let entry = service.operate(&ShowJob { id: options.id.clone() })?;
    if options.json {
        return print(&document(&entry));
    }
    for (name, value) in fields(&entry) {
        print(&format!("{name} {value}"))?;
    }
    Ok(())
}

/// Replays or cancels jobs, and prints each.
fn manage<O: Operation<Reply = JobEntry>>(
    options: &Several,
    manage: impl Fn(String) -> O,
) -> Result<()> {
    let (service, _attached) = options.database.existing_to_send(None)?;
    let mut shown = Shown::new(options.json);
    let mut one = |id: &String| shown.add(&service.operate(&manage(id.clone()))?).map(drop);
    let managed = options.ids.iter().try_for_each(&mut one);
    shown.end()?;
    managed
}

fn run_due(
    database: &Database,
    budget: u64,
    public_url: Option<PublicUrl>,
    json: bool,
) -> Result<()> {
    let (service, _attached) = database.existing_to_send(public_url)?;
    let run = service.operate(&RunJobs { budget: Some(budget) })?;
    if json {
        return print_json(serde_json::to_string(&run));
    }
    // A run without jobs prints nothing, so that cron sends no mail.
    if run.sent + run.waiting + run.failed > 0 || run.more {
        let more = if run.more { " more=yes" } else { "" };
        let (sent, waiting, failed) = (run.sent, run.waiting, run.failed);
        print(&format!("sent={sent} waiting={waiting} failed={failed}{more}"))?;
    }
    Ok(())
}

/// Jobs as they are shown. The rows of a table are kept until its widths are known.
struct Shown {
    json: bool,
    rows: Option<Vec<Vec<String>>>,
}

impl Shown {
    fn new(json: bool) -> Shown {
        Shown { json, rows: (!json && is_read_by_people()).then(Vec::new) }
    }

    /// Returns whether more are wanted.
    fn add(&mut self, entry: &JobEntry) -> Result<bool> {
        match &mut self.rows {
            Some(rows) => rows.push(row(entry)),
            None => {
                return print_to_reader(&if self.json { document(entry) } else { line(entry) });
            }
        }
        Ok(true)
    }

    fn end(self) -> Result<()> {
        const HEADINGS: [&str; 9] =
            ["ID", "KIND", "STATE", "ROUTE", "USER", "CREATED", "DUE", "ATTEMPTS", "LAST ERROR"];
        self.rows.map_or(Ok(()), |rows| print(&table(&HEADINGS, &rows)))
    }
}

fn row(entry: &JobEntry) -> Vec<String> {
    vec![
        entry.id.clone(),
        entry.kind.name().to_owned(),
        entry.state.name().to_owned(),
        entry.route.clone(),
        entry.user_id.map(|user| user.to_string()).unwrap_or_default(),
        utc_of_millis(entry.created),
        entry.due.map(utc_of_millis).unwrap_or_default(),
        entry.attempts.to_string(),
        entry.last_error.clone().unwrap_or_default(),
    ]
}

fn document(entry: &JobEntry) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}

/// Returns a job in one line, of words that have no spaces.
fn line(entry: &JobEntry) -> String {
    let words = fields(entry).into_iter().map(|(name, value)| match name {
        "id" | "kind" | "state" => value,
        name => format!("{name}={}", value.replace(char::is_whitespace, "_")),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the known facts of a job, in order.
fn fields(entry: &JobEntry) -> Vec<(&'static str, String)> {
    let optional = |name, value: Option<String>| value.map(|value| (name, value));
    let time = |time: i64| format!("{}.{:03}", time.div_euclid(1000), time.rem_euclid(1000));
    let first = [
        ("id", entry.id.clone()),
        ("kind", entry.kind.name().to_owned()),
        ("state", entry.state.name().to_owned()),
        ("route", entry.route.clone()),
    ];
    let more = [
        Some(("app", entry.app_id.to_string())),
        optional("user", entry.user_id.map(|user| user.to_string())),
        optional("number", entry.number.clone()),
        optional("url", entry.url.clone()),
        Some(("created", time(entry.created))),
        optional("due", entry.due.map(time)),
        Some(("deadline", time(entry.deadline))),
        optional("ended", entry.ended.map(time)),
        Some(("attempts", entry.attempts.to_string())),
        optional("ambiguous", Some(entry.ambiguous.to_string()).filter(|_| entry.ambiguous > 0)),
        optional("provider_id", entry.provider_id.clone()),
        optional("receipt", entry.receipt.clone()),
        optional("receipt_at", entry.receipt_at.map(time)),
        optional("last_error", entry.last_error.clone()),
    ];
    first.into_iter().chain(more.into_iter().flatten()).collect()
}

fn status_row(status: &JobStatus) -> Vec<String> {
    let more = if status.at_least { "+" } else { "" };
    let counts = [status.waiting, status.leased, status.failed, status.sent];
    let times = [status.oldest, status.latency_p50, status.latency_p99];
    let names = [status.route.clone(), status.kind.to_string()].into_iter();
    let cells = names.chain(counts.iter().map(|count| format!("{count}{more}")));
    cells.chain(times.iter().map(|time| time.map(seconds).unwrap_or_default())).collect()
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}s", millis / 1000, millis % 1000)
}

fn status_line(status: &JobStatus) -> String {
    let more = if status.at_least { "+" } else { "" };
    let counts = [
        ("waiting", status.waiting),
        ("leased", status.leased),
        ("failed", status.failed),
        ("sent", status.sent),
    ];
    let times =
        [("oldest", status.oldest), ("p50", status.latency_p50), ("p99", status.latency_p99)];
    let counts = counts.iter().map(|(name, count)| format!("{name}={count}{more}"));
    let times = times.iter().filter_map(|(name, time)| Some((name, (*time)?)));
    let times = times.map(|(name, time)| format!("{name}={}", seconds(time)));
    let words: Vec<_> = counts.chain(times).collect();
    format!("{} {} {}", status.route, status.kind, words.join(" "))
}
