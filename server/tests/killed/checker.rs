//! Compares what clients were promised with what providers received, and with what the database says.

use crate::clients::{Apps, Kind, Requested, is_sent};
use crate::provider::{DIES, Provider, Received};
use seconder::engine::{AuditEntry, AuditFilter, Engine, JobEntry, JobFilter, JobState};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// How long after a code died an attempt that was begun before can arrive: a job is not looked at again
/// for 1 s between the lease and the attempt, which then takes 2 s at most, and the provider may be slow
/// to read on a busy machine. Attempts follow each other at longer intervals than that.
const UNDER_WAY: Duration = Duration::from_secs(5);
/// For how long codes are valid here.
pub(crate) const CODE_LIFE: Duration = Duration::from_secs(60);

/// What happened.
#[derive(Default)]
pub(crate) struct Figures {
    requested: usize,
    promised: usize,
    /// Of those promised: how many a provider has read without rejecting them.
    sent: usize,
    /// Of those sent: how many came more than once, each of them counted as ambiguous.
    repeated: usize,
    /// How many attempts a provider has read and not confirmed.
    unconfirmed: usize,
    /// How many attempts a provider has rejected.
    rejected: usize,
    /// Attempts that the database counts as ambiguous.
    ambiguous: u32,
    /// Codes that were used while messages could follow.
    used: usize,
    /// Of those promised: how many wait, or have failed for good.
    waiting: usize,
    failed: usize,
    /// Codes of apps that clients have used, each more than once, and how many a client knows to be accepted.
    apps: Apps,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { requested, promised, sent, repeated, unconfirmed, .. } = self;
        let Figures { rejected, ambiguous, used, waiting, failed, apps, .. } = self;
        write!(
            f,
            "requested={requested} promised={promised} sent={sent} repeated={repeated} \
             unconfirmed={unconfirmed} rejected={rejected} ambiguous={ambiguous} used={used} \
             waiting={waiting} failed={failed} apps={} accepted={}",
            apps.used, apps.accepted
        )
    }
}

impl Figures {
    /// Whether what is checked has happened at all.
    pub(crate) fn show_something(&self) -> bool {
        let Figures { promised, unconfirmed, rejected, ambiguous, used, apps, .. } = self;
        let counts = [*unconfirmed, *rejected, *used, apps.accepted];
        *promised > 10 && counts.iter().all(|n| *n > 0) && *ambiguous > 0
    }
}

/// All jobs, by their ids.
pub(crate) fn jobs(engine: &Engine) -> BTreeMap<String, JobEntry> {
    let (mut all, mut after) = (BTreeMap::new(), None::<String>);
    loop {
        let page = engine.jobs(&JobFilter::default(), after.as_deref(), 1000).unwrap();
        all.extend(page.entries.into_iter().map(|job| (job.id.clone(), job)));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// The users to whom something is still to be sent.
pub(crate) fn open(jobs: &BTreeMap<String, JobEntry>) -> BTreeSet<u64> {
    let open = [JobState::Waiting, JobState::Leased];
    let jobs = jobs.values().filter(|job| open.contains(&job.state));
    jobs.filter_map(|job| job.user_id).collect()
}

/// What the audit says was not delivered, and of how many attempts at messages of which no job is left it
/// is not known whether they sent them, to its end.
fn noted(engine: &Engine) -> Vec<AuditEntry> {
    let filter = AuditFilter::default();
    let (mut all, mut after) = (Vec::new(), None::<String>);
    let is_noted = |entry: &AuditEntry| ["not_delivered", "maybe_sent"].contains(&&*entry.verdict);
    loop {
        let page = engine.audit(&filter, after.as_deref(), 1000).unwrap();
        all.extend(page.entries.into_iter().filter(is_noted));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// What was received for each number.
fn received(providers: &[Provider]) -> BTreeMap<String, Vec<Received>> {
    let mut all: BTreeMap<String, Vec<Received>> = BTreeMap::new();
    for received in providers.iter().flat_map(Provider::log) {
        let number = received.body["to"].as_str().unwrap().to_owned();
        all.entry(number).or_default().push(received);
    }
    all
}

fn different(received: &[Received], key: &str) -> usize {
    received.iter().map(|one| one.body[key].as_str().unwrap()).collect::<BTreeSet<_>>().len()
}

/// Panics with the faults, if there are any.
pub(crate) fn check(
    requests: &[Requested],
    apps: Apps,
    providers: &[Provider],
    engine: &Engine,
) -> Figures {
    // First the logs: the database counts an ambiguous attempt before it allows the next one.
    let received = received(providers);
    let jobs = jobs(engine);
    let (void, undelivered): (Vec<_>, Vec<_>) =
        noted(engine).into_iter().partition(|entry| entry.verdict == "maybe_sent");
    let failed: BTreeSet<u64> = undelivered.iter().filter_map(|entry| entry.user_id).collect();
    let waiting = open(&jobs);
    // A user has one message.
    let kept = jobs.values().map(|job| (job.user_id, job.ambiguous));
    let mut ambiguous: BTreeMap<u64, u32> = BTreeMap::new();
    for (user, times) in kept.chain(void.iter().map(|entry| (entry.user_id, entry.times))) {
        *ambiguous.entry(user.unwrap_or_default()).or_default() += times;
    }
    let mut figures = Figures { requested: requests.len(), apps, ..Figures::default() };
    figures.ambiguous = ambiguous.values().sum();
    let mut faults = Vec::new();
    for request in requests {
        let user = request.user.id.get();
        let known = (waiting.contains(&user), failed.contains(&user));
        let none = Vec::new();
        let received = received.get(&request.user.number).unwrap_or(&none);
        let counted = ambiguous.get(&user).copied().unwrap_or_default() as usize;
        let found = check_one(request, received, counted, known, &mut figures);
        faults.extend(found.map(|fault| format!("{}: {fault}", request.user.number)));
    }
    assert!(faults.is_empty(), "{figures}\n{}", faults.join("\n"));
    figures
}

/// Returns what is wrong with the messages to a number. `counted` says how many attempts the database counts
/// as ambiguous, and `known` whether it knows that one message waits, and that one failed.
fn check_one(
    request: &Requested,
    received: &[Received],
    counted: usize,
    known: (bool, bool),
    figures: &mut Figures,
) -> Option<String> {
    let sent = received.iter().filter(|received| is_sent(received)).count();
    figures.unconfirmed += received.iter().filter(|received| received.status == DIES).count();
    figures.rejected += received.len() - sent;
    figures.used += usize::from(request.used.is_some());
    if different(received, "id") > 1 || different(received, "code") > 1 {
        return Some(format!("several messages for one request: {}", received.len()));
    }
    if request.promised {
        figures.promised += 1;
        figures.sent += usize::from(sent > 0);
        figures.waiting += usize::from(known.0);
        figures.failed += usize::from(known.1);
        let is_rejected = Kind::of(&request.user.number) == Kind::Rejected;
        if sent == 0 && !(is_rejected && (known.0 || known.1)) {
            return Some(format!("it was promised and not sent; waits, failed: {known:?}"));
        }
        if is_rejected && sent > 0 {
            return Some("the provider is not one that rejects".to_owned());
        }
    }
    if sent > 1 {
        figures.repeated += usize::from(request.promised);
        if counted + 1 < sent {
            return Some(format!("sent {sent} times, and {counted} counted as ambiguous"));
        }
    }
    let ends = request.used.into_iter().chain([request.ended + CODE_LIFE]);
    let end = ends.min().unwrap() + UNDER_WAY;
    let late = received.iter().filter(|received| received.at > end).count();
    (late > 0).then(|| format!("attempted {late} times after its code died"))
}
