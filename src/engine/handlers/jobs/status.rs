//! Statistics of the queues: the number of jobs, and the time that sending takes.

use crate::Result;
use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::JobKind;
use crate::engine::model::jobs::JobState;
use crate::engine::operations::jobs as stored;
use crate::engine::store::Job;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most jobs of a lane that are counted.
const MOST_COUNTED: u32 = 10_000;
/// The number of jobs, the ones that are due first, that are looked at in a lane that has more.
const FIRST: u32 = 100;
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Statistics of the jobs of one kind by one route: the jobs to send, and the outcomes of the last
/// 24 hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobStatus {
    /// The route: see [`JobEntry::route`](crate::engine::JobEntry::route).
    pub route: String,
    /// The kind of the jobs.
    pub kind: JobKind,
    /// The number that wait for an attempt.
    pub waiting: u32,
    /// The number that are being attempted.
    pub leased: u32,
    /// The number that failed permanently in the last 24 hours.
    pub failed: u32,
    /// The number that were sent in the last 24 hours, as far as jobs are kept: nothing is known of
    /// others.
    pub sent: u32,
    /// True if there are more than these, because only 10 000 jobs of a queue are counted.
    pub at_least: bool,
    /// The age of the oldest job that is not over, in milliseconds. With `at_least`, an older one
    /// may not have been counted.
    pub oldest: Option<u64>,
    /// The time in which half of the jobs in `sent` were sent, or less, in milliseconds.
    pub latency_p50: Option<u64>,
    /// The time in which 99 % of the jobs in `sent` were sent, or less, in milliseconds.
    pub latency_p99: Option<u64>,
}

struct Tally {
    status: JobStatus,
    latencies: Vec<u64>,
}

/// By route and kind.
#[derive(Default)]
struct Tallies(BTreeMap<(String, JobKind), Tally>);

impl Engine {
    /// Counts the jobs of all applications of the database, by route and kind, in that order. At most
    /// 10 000 each of the jobs that wait for a route, that failed and that were sent are read.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if the database cannot be read.
    pub fn job_status(&self) -> Result<Vec<JobStatus>> {
        let now = self.now();
        let mut tallies = Tallies::default();
        for lane in self.used_lanes()? {
            let mut left = MOST_COUNTED;
            let (mut is_cut, mut is_over) = (false, false);
            self.walk(&lane, Time(i64::MAX), &mut |job| {
                is_cut = left == 0;
                is_over = job.ended_at.is_some_and(|at| at <= now.steady.minus(A_DAY));
                if !is_cut && !is_over {
                    tallies.count(&job, now);
                    left -= 1;
                }
                !is_cut && !is_over
            })?;
            if is_cut && !is_over {
                tallies.cut(&lane);
                let of = lane.clone();
                for job in self.look(move |view| stored::earliest(view, &of, FIRST))? {
                    tallies.look_at_age(&job, now);
                }
            }
        }
        Ok(tallies.finish())
    }
}

impl JobStatus {
    /// Nothing counted yet.
    fn none(route: String, kind: JobKind) -> JobStatus {
        JobStatus {
            route,
            kind,
            waiting: 0,
            leased: 0,
            failed: 0,
            sent: 0,
            at_least: false,
            oldest: None,
            latency_p50: None,
            latency_p99: None,
        }
    }
}

impl Tallies {
    fn of(&mut self, job: &Job) -> &mut Tally {
        let is_over = stored::is_over(&job.lane);
        let route = if is_over { &job.route } else { &job.lane };
        let (route, kind) = (route.clone(), job.kind);
        self.0.entry((route.clone(), kind)).or_insert_with(|| Tally {
            status: JobStatus::none(route, kind),
            latencies: Vec::new(),
        })
    }

    fn count(&mut self, job: &Job, now: Now) {
        self.look_at_age(job, now);
        let tally = self.of(job);
        match stored::state(job, now) {
            JobState::Waiting => tally.status.waiting += 1,
            JobState::Leased => tally.status.leased += 1,
            JobState::Failed => tally.status.failed += 1,
            JobState::Sent => {
                tally.status.sent += 1;
                let took = job.ended_at.and_then(|at| at.after(job.created_at));
                tally.latencies.push(milliseconds(took));
            }
        }
    }

    fn look_at_age(&mut self, job: &Job, now: Now) {
        if job.ended_at.is_none() {
            let age = milliseconds(now.steady.after(job.created_at));
            let oldest = &mut self.of(job).status.oldest;
            *oldest = (*oldest).max(Some(age));
        }
    }

    /// Notes that not all jobs of a lane were counted. Jobs that are over may have any route.
    fn cut(&mut self, lane: &str) {
        let is_over = stored::is_over(lane);
        let of = self.0.values_mut().filter(|tally| is_over || tally.status.route == lane);
        of.for_each(|tally| tally.status.at_least = true);
    }

    fn finish(self) -> Vec<JobStatus> {
        let finished = self.0.into_values().map(|Tally { mut status, mut latencies }| {
            latencies.sort_unstable();
            status.latency_p50 = percentile(&latencies, 50);
            status.latency_p99 = percentile(&latencies, 99);
            status
        });
        finished.collect()
    }
}

/// Returns the least of these, in ascending order, which so many of a hundred do not exceed.
fn percentile(sorted: &[u64], of_hundred: usize) -> Option<u64> {
    let place = (sorted.len() * of_hundred).div_ceil(100);
    sorted.get(place.checked_sub(1)?).copied()
}

fn milliseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99)), (Some(50), Some(99)));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 99)), (Some(7), Some(7)));
        assert_eq!((percentile(&[1, 2, 3], 50), percentile(&[], 50)), (Some(2), None));
    }
}
