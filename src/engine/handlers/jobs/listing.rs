//! Reading the jobs of a database, page by page.

use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::{JobKind, JobState, shown_id};
use crate::engine::operations::jobs as stored;
use crate::engine::operations::jobs::{DEAD, FAILED, SENT, What};
use crate::engine::store::Job;
use crate::model::UserId;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

/// The most jobs that one page is made of; a filter may leave few of them.
const MOST_READ: u32 = 1000;
/// Comes after every name of a lane.
const AFTER_ALL: &str = "\u{10ffff}";

/// Selects the jobs to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Jobs in this state; `None` for all.
    pub state: Option<JobState>,
    /// Jobs of this kind.
    pub kind: Option<JobKind>,
    /// Jobs of this route.
    pub route: Option<String>,
    /// Jobs about this user, the latest first.
    pub user_id: Option<UserId>,
}

/// A message or a callback that the engine has to send, or has sent. It has neither the code nor the
/// text, and of a number only the last digits. The times are in milliseconds since the Unix epoch, by the
/// clock of the process that reads them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobEntry {
    /// Identifies it, also for the gateway and for the receiver of a callback: 16 hexadecimal digits.
    pub id: String,
    /// The kind of message or callback.
    pub kind: JobKind,
    /// The state of the job.
    pub state: JobState,
    /// The route by which it goes next, or by which it was attempted last if it is over. Callbacks have
    /// one for each application.
    pub route: String,
    /// The application.
    pub app_id: i64,
    /// The user. `None` for a number that belongs to no user.
    pub user_id: Option<u64>,
    /// The number, masked; `None` for a callback.
    pub number: Option<String>,
    /// The URL of a callback, without its query; `None` for a message, and if it cannot be read.
    pub url: Option<String>,
    /// The time at which it was caused, or replayed.
    pub created: i64,
    /// The time at which it can be attempted, or, for a leased job, leased again; `None` once it is
    /// over.
    pub due: Option<i64>,
    /// The time after which it is of no use: no attempt begins after that.
    pub deadline: i64,
    /// The time at which it was sent or failed; `None` before that.
    pub ended: Option<i64>,
    /// The number of attempts made.
    pub attempts: u32,
    /// The number of attempts that may have sent it, although nothing confirmed that.
    pub ambiguous: u32,
    /// The id that the provider gave it.
    pub provider_id: Option<String>,
    /// The latest report of the provider, as [`Delivery`](crate::engine::Delivery) shows it:
    /// `pending`, `delivered`, or `failed: ` and the reason.
    pub receipt: Option<String>,
    /// The time of that report.
    pub receipt_at: Option<i64>,
    /// The error of the latest attempt that failed, without code and number.
    pub last_error: Option<String>,
}

/// Some jobs: those about one user, the latest first; or route by route, waiting jobs before failed and sent ones, and
/// for each route the latest due first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobPage {
    /// The jobs. There may be none although more follow.
    pub entries: Vec<JobEntry>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
}

impl Engine {
    /// Reads the jobs that the engine has to send, and the ones that it has sent, for all applications of
    /// the database. Failed jobs are kept for 30 days. Sent jobs are kept for 3 days if the provider gave
    /// them an id, and otherwise not at all. Each page reads a limited number of rows, so it may hold less
    /// than `most`, also nothing, although more follow. A job that changes meanwhile may be on two pages,
    /// or on none.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for `after` that no page has returned, and `most` that is not 1 to 1000;
    /// [`Error::Storage`] if the database cannot be read.
    pub fn jobs(&self, filter: &JobFilter, after: Option<&str>, most: u32) -> Result<JobPage> {
        if !(1..=MOST_READ).contains(&most) {
            return Err(Error::invalid_argument("most", "must be 1 to 1000"));
        }
        if let Some(user_id) = filter.user_id {
            return self.jobs_of_user(user_id, filter, after, most);
        }
        let after = after.map(Place::from_str).transpose()?;
        let now = self.now();
        let mut page = JobPage::default();
        let mut read = 0;
        for lane in self.used_lanes()?.into_iter().filter(|lane| filter.may_be_in(lane)) {
            let place = match &after {
                Some(after) if rank(&lane) < rank(&after.lane) => continue,
                Some(after) if lane == after.lane => after.clone(),
                _ => Place::beginning(&lane),
            };
            let mut next = place.clone();
            let mut to_skip = place.seen;
            let mut is_full = false;
            self.walk(&lane, Time(place.due), &mut |job| {
                if job.due_at.0 == place.due && to_skip > 0 {
                    to_skip -= 1;
                    return true;
                }
                next.pass(&job);
                read += 1;
                let entry = entry(&job, now);
                if filter.fits(&entry) {
                    page.entries.push(entry);
                }
                is_full = read == MOST_READ || page.entries.len() == most as usize;
                !is_full
            })?;
            if is_full {
                page.next = Some(next.to_string());
                break;
            }
        }
        Ok(page)
    }

    /// Reads the jobs about a user, which the limits keep few, the latest first.
    fn jobs_of_user(
        &self,
        user_id: UserId,
        filter: &JobFilter,
        after: Option<&str>,
        most: u32,
    ) -> Result<JobPage> {
        let after = after.map(place_of).transpose()?;
        let (now, mut jobs, mut below) = (self.now(), Vec::new(), i64::MAX);
        loop {
            let page =
                self.look(move |view| stored::read_of_user(view, user_id, below, MOST_READ))?;
            let last = page.last().map(|job| job.job_id);
            let is_full = page.len() == MOST_READ as usize;
            jobs.extend(page);
            match last.filter(|_| is_full) {
                Some(last) => below = last,
                None => break,
            }
        }
        let place = |job: &Job| (job.created_at.0, job.job_id);
        jobs.retain(|job| {
            after.is_none_or(|after| place(job) < after) && filter.fits(&entry(job, now))
        });
        jobs.sort_unstable_by_key(|job| Reverse(place(job)));
        let more = jobs.len() > most as usize;
        jobs.truncate(most as usize);
        let next = jobs.last().filter(|_| more).map(place);
        let next = next.map(|(created, job_id)| format!("{created}.{job_id}"));
        Ok(JobPage { entries: jobs.iter().map(|job| entry(job, now)).collect(), next })
    }

    /// Returns the job with this id; `None` if it does not exist, or no longer. Jobs have no index by id, so this reads
    /// those of all routes, page by page.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an id that is not 16 hexadecimal digits, [`Error::Storage`] if the database
    /// cannot be read.
    pub fn job(&self, id: &str) -> Result<Option<JobEntry>> {
        let now = self.now();
        Ok(self.find_job(id)?.map(|job| entry(&job, now)))
    }

    pub(super) fn find_job(&self, id: &str) -> Result<Option<Job>> {
        let job_id = number_of(id)?;
        let mut found = None;
        // One that is attempted meanwhile may go to a lane, or a place, that was read before.
        for _ in 0..2 {
            for lane in self.used_lanes()? {
                self.walk(&lane, Time(i64::MAX), &mut |job| {
                    found = Some(job).filter(|job| job.job_id == job_id);
                    found.is_none()
                })?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Returns the lanes that have jobs, the lanes of jobs that are over last.
    pub(super) fn used_lanes(&self) -> Result<Vec<String>> {
        let mut lanes = Vec::new();
        let mut before = AFTER_ALL.to_owned();
        while let Some(lane) = self.look(move |view| stored::lane_before(view, &before))? {
            before = lane.clone();
            lanes.push(lane);
        }
        lanes.sort_by(|a, b| rank(a).cmp(&rank(b)));
        Ok(lanes)
    }

    /// Reads the jobs of a lane that are due at this time or before, the latest due first, until `visit`
    /// returns false.
    pub(super) fn walk(
        &self,
        lane: &str,
        from: Time,
        visit: &mut dyn FnMut(Job) -> bool,
    ) -> Result<()> {
        let mut before = (Time(from.0.saturating_add(1)), None);
        loop {
            let (of, place) = (lane.to_owned(), before.clone());
            let jobs = self.look(move |view| stored::read(view, &of, &place, MOST_READ))?;
            let is_last = jobs.len() < MOST_READ as usize;
            for job in jobs {
                before = (job.due_at, Some((job.subject.clone(), job.job_id)));
                if !visit(job) {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

impl JobFilter {
    /// Returns whether jobs of this lane can fit.
    fn may_be_in(&self, lane: &str) -> bool {
        let is_state = match (self.state, lane) {
            (None, _) => true,
            (Some(state), SENT) => state == JobState::Sent,
            (Some(state), FAILED | DEAD) => state == JobState::Failed,
            (Some(state), _) => [JobState::Waiting, JobState::Leased].contains(&state),
        };
        // Jobs that are over may have any route.
        let is_route = |route: &String| stored::is_over(lane) || lane == route;
        is_state && self.route.as_ref().is_none_or(is_route)
    }

    fn fits(&self, entry: &JobEntry) -> bool {
        self.state.is_none_or(|state| state == entry.state)
            && self.kind.is_none_or(|kind| kind == entry.kind)
            && self.route.as_ref().is_none_or(|route| *route == entry.route)
    }
}

/// Reads the place after which a page of the jobs about a user begins.
fn place_of(text: &str) -> Result<(i64, i64)> {
    let parts = text.split_once('.');
    let place = parts.and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
    place.ok_or_else(|| Error::invalid_argument("after", "must be `next` of the previous page"))
}

/// Returns the order of lanes.
fn rank(lane: &str) -> (u8, &str) {
    match lane {
        SENT => (3, lane),
        DEAD => (2, lane),
        FAILED => (1, lane),
        _ => (0, lane),
    }
}

/// A place between the jobs of a lane. It has no key of a row, because that may be a number.
#[derive(Clone)]
struct Place {
    lane: String,
    /// The due time of the job before it.
    due: i64,
    /// The number of jobs with the same due time that come before it.
    seen: u32,
}

impl Place {
    fn beginning(lane: &str) -> Place {
        Place { lane: lane.to_owned(), due: i64::MAX, seen: 0 }
    }

    /// Goes on after this job.
    fn pass(&mut self, job: &Job) {
        self.seen = if job.due_at.0 == self.due { self.seen + 1 } else { 1 };
        self.due = job.due_at.0;
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.due, self.seen, self.lane)
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Place> {
        let mut parts = text.splitn(3, '.');
        let place = (|| {
            let (due, seen) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Place { lane: parts.next()?.to_owned(), due, seen })
        })();
        place.ok_or_else(|| {
            Error::invalid_argument("after", "must be what the page before returned")
        })
    }
}

/// Returns the number that is shown as this id.
pub(in crate::engine) fn number_of(id: &str) -> Result<i64> {
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = i64::from_str_radix(id, 16).ok().filter(|_| is_id);
    number.ok_or_else(|| {
        Error::invalid_argument("id", "must be the 16 hexadecimal digits by which jobs are listed")
    })
}

pub(in crate::engine) fn entry(job: &Job, now: Now) -> JobEntry {
    let ended = job.ended_at;
    let url = match stored::what(job) {
        Ok(What::Callback { url, .. }) => url.as_str().split(['?', '#']).next().map(str::to_owned),
        _ => None,
    };
    let state = stored::state(job, now);
    let is_over = ended.is_some();
    JobEntry {
        id: shown_id(job.job_id),
        kind: job.kind,
        state,
        route: if is_over { &job.route } else { &job.lane }.clone(),
        app_id: job.app_id,
        user_id: stored::user_id(job).map(UserId::get),
        number: job.number.clone(),
        url,
        created: now.shown(job.created_at).0,
        due: (!is_over).then(|| now.shown(job.due_at).0),
        deadline: now.shown(job.deadline).0,
        ended: ended.map(|at| now.shown(at).0),
        attempts: job.attempts,
        ambiguous: job.ambiguous,
        provider_id: job.provider_id.clone(),
        receipt: job.receipt.clone(),
        receipt_at: job.receipt_at.map(|at| now.shown(at).0),
        last_error: job.last_error.clone(),
    }
}
