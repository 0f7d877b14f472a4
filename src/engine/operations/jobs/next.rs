//! Retry schedule: the time and the route of the next attempt.

use super::job::Plan;
use super::known::{KnownRoutes, RouteState};
use crate::engine::delivery::Outcome;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::CALLBACK_LIFE;
use crate::engine::store::Job;
use std::time::Duration;

/// The number of times that an attempt that may have sent the message is repeated by the same route, because only its
/// provider can recognise the message.
const MOST_AMBIGUOUS: u32 = 3;
/// The number of attempts that such a route has altogether if another one is left and it rejects what it may have sent;
/// and the longest time that it may ask to wait. Otherwise the code could expire while it waits for the one route that
/// is down.
const MOST_REPEATED: u32 = 4;
const LONGEST_REPEAT: Duration = Duration::from_secs(5);
/// The shortest wait after all routes were asked, and after one that was not attempted.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait before another attempt to send a message.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The wait after each failed attempt to post a callback; after one more, it has failed permanently.
const CALLBACK_WAITS: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 60 * 60),
    Duration::from_secs(5 * 60 * 60),
    Duration::from_secs(10 * 60 * 60),
];

/// Returns the time at which a callback is posted again.
pub(super) fn next_callback(job: &Job, outcome: &Outcome, now: Now) -> Option<Time> {
    let asked_for = asked_for(outcome).min(CALLBACK_LIFE);
    if matches!(outcome, Outcome::NotAttempted { .. }) {
        return Some(now.steady.plus(spread(SHORTEST_WAIT, job).max(asked_for)));
    }
    let attempts = usize::try_from(job.attempts).unwrap_or(usize::MAX);
    let wait = CALLBACK_WAITS.get(attempts.saturating_sub(1))?;
    Some(now.steady.plus(spread(*wait, job).max(asked_for)))
}

/// Returns the time at which a push message is sent again, as long as its request can be responded
/// to.
pub(super) fn next_push(job: &Job, outcome: &Outcome, now: Now) -> Time {
    let wait = Duration::from_secs(1 << job.attempts.min(6)).min(LONGEST_WAIT);
    now.steady.plus(spread(wait, job).max(asked_for(outcome)))
}

/// Returns the time of the next attempt to send a message, and chooses its route: at once by the
/// preferred route that was not asked since the message waited, and otherwise by the one that can be
/// asked first. Each route has waits of its own, which double with its attempts: a wait that one provider
/// asks for does not affect the others. A message that may have been sent is repeated by its route alone,
/// and moves to another one only if that route does not respond, or cannot be asked for long.
pub(super) fn next_message(
    job: &mut Job,
    outcome: &Outcome,
    plan: &Plan,
    now: Now,
) -> Option<Time> {
    let mut asked = KnownRoutes::read(&job.asked);
    let is_permanent = matches!(outcome, Outcome::Permanent(_) | Outcome::NumberRefused(_));
    let may_have_it = (1..MOST_AMBIGUOUS).contains(&job.ambiguous_here)
        && (repeats(outcome, asked.attempts(&job.lane)) || !is_other_left(job, &asked, plan))
        && !is_permanent;
    let stays_silent = job.ambiguous_here >= MOST_AMBIGUOUS;
    let standing = match is_permanent || stays_silent {
        true => RouteState::Failed,
        false => waits(job, asked.attempts(&job.lane), outcome, now),
    };
    asked.note(&job.lane, standing);
    let at = match standing {
        RouteState::Waits { until, .. } if may_have_it => Some(until),
        _ => go_on(job, &mut asked, plan, now),
    };
    if at.is_some_and(|at| at > now.steady) {
        asked.end_round();
    }
    job.asked = asked.to_string();
    at
}

/// Returns whether a route that may have sent a message is asked again, after so many attempts before this one.
fn repeats(outcome: &Outcome, attempts: u32) -> bool {
    match outcome {
        Outcome::NotAttempted { .. } => asked_for(outcome) <= LONGEST_REPEAT,
        Outcome::Retry { .. } => attempts + 1 < MOST_REPEATED,
        _ => true,
    }
}

fn is_other_left(job: &Job, asked: &KnownRoutes, plan: &Plan) -> bool {
    let others = plan.routes.iter().filter(|route| **route != job.lane);
    others.into_iter().any(|route| asked.of(route) != RouteState::Failed)
}

/// Returns the state of a route after an attempt: the time for which it is left alone.
fn waits(job: &Job, attempts: u32, outcome: &Outcome, now: Now) -> RouteState {
    let was_attempted = !matches!(outcome, Outcome::NotAttempted { .. });
    let attempts = attempts.saturating_add(was_attempted.into());
    let wait = match was_attempted {
        true => Duration::from_secs(1 << attempts.min(6)).min(LONGEST_WAIT),
        false => SHORTEST_WAIT,
    };
    let until = now.steady.plus(spread(wait, job).max(asked_for(outcome)));
    RouteState::Waits { attempts, until, in_round: true }
}

/// Chooses the route that is asked next. Returns when, and `None` if all have failed.
fn go_on(job: &mut Job, asked: &mut KnownRoutes, plan: &Plan, now: Now) -> Option<Time> {
    let left = |route: &&String| match asked.of(route) {
        RouteState::Failed => None,
        RouteState::Waits { until, in_round, .. } => Some((until, in_round)),
    };
    // A route that no longer takes messages may do so again.
    let is_left = plan.routes.iter().any(|route| left(&route).is_some());
    let here = std::slice::from_ref(&job.lane);
    let routes = if is_left { &plan.routes[..] } else { here };
    let standing: Vec<_> = routes.iter().filter_map(|route| Some((route, left(&route)?))).collect();
    let is_free = |(_, (until, in_round)): &&(_, (Time, bool))| !in_round && *until <= now.steady;
    let (next, at) = match standing.iter().find(is_free) {
        Some((route, _)) => (*route, now.steady),
        None => {
            let first = standing.iter().map(|(_, (until, _))| *until).min()?;
            // Each of them was asked, also if that took longer than its wait.
            let at = first.max(now.steady.plus(spread(SHORTEST_WAIT, job)));
            let (next, _) = standing.iter().find(|(_, (until, _))| *until <= at)?;
            (*next, at)
        }
    };
    if *next != job.lane {
        job.lane = next.clone();
        job.ambiguous_here = 0;
    }
    Some(at)
}

/// Returns the time that the provider asks to wait.
fn asked_for(outcome: &Outcome) -> Duration {
    match outcome {
        Outcome::Retry { after, .. } | Outcome::NotAttempted { after, .. } => {
            after.unwrap_or_default()
        }
        _ => Duration::ZERO,
    }
}

/// Returns a wait that is up to a quarter shorter or longer, so that jobs which failed together are
/// spread. Their ids are random.
fn spread(wait: Duration, job: &Job) -> Duration {
    wait * (384 + u32::from(job.job_id.to_le_bytes()[0])) / 512
}
