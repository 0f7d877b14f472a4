//! Reading jobs, for operators.

use super::super::Subject;
use super::job::{DEAD, FAILED, SENT};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::JobState;
use crate::engine::store::{Decided, Due, Job, Page, View};
use crate::model::UserId;

/// Returns the state of a job.
pub(in crate::engine) fn state(job: &Job, now: Now) -> JobState {
    match &*job.lane {
        SENT => JobState::Sent,
        FAILED | DEAD => JobState::Failed,
        _ if job.leased && job.due_at > now.steady => JobState::Leased,
        _ => JobState::Waiting,
    }
}

/// Returns the last lane with jobs whose name comes before this text.
pub(in crate::engine) fn lane_before(view: &mut View, text: &str) -> Decided<Option<String>> {
    let last = view.page::<Job>(Page::by_due((), 1).before((text.to_owned(),)))?;
    Ok(last.into_iter().next().map(|job| job.lane))
}

/// Jobs of a lane: those before a place, which is a time, or a time and a key, the latest due first.
pub(in crate::engine) fn read(
    view: &mut View,
    lane: &str,
    before: &(Time, Option<(String, i64)>),
    most: u32,
) -> Decided<Vec<Job>> {
    let page = Page::by_due((lane.to_owned(),), most);
    view.page(match before.clone() {
        (due_at, Some((subject, job_id))) => page.before((due_at, subject, job_id)),
        (due_at, None) => page.before((due_at,)),
    })
}

/// Jobs about a user with ids below this one, the greatest first.
pub(in crate::engine) fn read_of_user(
    view: &mut View,
    user_id: UserId,
    below: i64,
    most: u32,
) -> Decided<Vec<Job>> {
    view.page(Page::below((Subject::key_of(user_id),), most).before((below,)))
}

/// Returns the jobs of a lane that are due first.
pub(in crate::engine) fn earliest(view: &mut View, lane: &str, most: u32) -> Decided<Vec<Job>> {
    let due = Due::until(Time(i64::MAX), most).of(lane.to_owned());
    Ok(view.due(&due)?.0)
}
