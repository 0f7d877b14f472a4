//! When what could not be sent is attempted again, and by which route.

use super::Plan;
use crate::engine::Outcome;
use crate::engine::clock::{Now, Time};
use crate::engine::limits::CALLBACK_LIFE;
use crate::engine::store::Job;
use std::time::Duration;

/// How often an attempt that may have sent the message is repeated by the same route, on which alone the
/// provider can recognise the message.
const MOST_AMBIGUOUS: u32 = 3;
/// The longest wait before another attempt to send a message.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long to wait after each attempt to post a callback that failed; after one more, it has failed for
/// good.
const CALLBACK_WAITS: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 60 * 60),
    Duration::from_secs(5 * 60 * 60),
    Duration::from_secs(10 * 60 * 60),
];

/// When a callback is posted again.
pub(super) fn next_callback(job: &Job, outcome: &Outcome, plan: &Plan, now: Now) -> Option<Time> {
    let attempts = usize::try_from(job.attempts).unwrap_or(usize::MAX);
    let wait = CALLBACK_WAITS.get(attempts.saturating_sub(1))?;
    let asked = asked(outcome).min(CALLBACK_LIFE);
    Some(now.steady.plus(spread(*wait, plan.jitter).max(asked)))
}

/// When a message is attempted again, and by which route: by the next one that has not failed for good,
/// at once if it was not asked before. One that may have been sent is repeated by its route alone, and
/// goes on to another one only if that stays silent.
pub(super) fn next_message(
    job: &mut Job,
    outcome: &Outcome,
    plan: &Plan,
    now: Now,
) -> Option<Time> {
    let doublings = job.attempts.min(6);
    let wait = spread(Duration::from_secs(1 << doublings).min(LONGEST_WAIT), plan.jitter);
    // What a provider asks for is nothing to others.
    let again_here = now.steady.plus(wait.max(asked(outcome)));
    let is_permanent = matches!(outcome, Outcome::Permanent(_));
    if !is_permanent && (1..MOST_AMBIGUOUS).contains(&job.ambiguous_here) {
        return Some(again_here);
    }
    if is_permanent || job.ambiguous_here > 0 {
        job.tried = [&*job.tried, &*job.lane].join(" ").trim_start().to_owned();
    }
    let failed = |route: &String| job.tried.split(' ').any(|tried| tried == route);
    let left: Vec<&String> = plan.routes.iter().filter(|route| !failed(route)).collect();
    let here = left.iter().position(|route| **route == job.lane);
    let next = match here {
        Some(here) => left[(here + 1) % left.len()],
        None => left.first()?,
    };
    if *next == job.lane {
        return Some(again_here);
    }
    let was_asked =
        usize::try_from(job.attempts).is_ok_and(|attempts| attempts >= plan.routes.len());
    job.lane.clone_from(next);
    job.ambiguous_here = 0;
    Some(if was_asked { now.steady.plus(wait) } else { now.steady })
}

/// How long the provider asks to wait.
fn asked(outcome: &Outcome) -> Duration {
    match outcome {
        Outcome::Retry { after: Some(after), .. } => *after,
        _ => Duration::ZERO,
    }
}

/// A wait that is up to a quarter shorter or longer.
fn spread(wait: Duration, jitter: u8) -> Duration {
    wait * (384 + u32::from(jitter)) / 512
}
