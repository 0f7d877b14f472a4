//! Messages and callbacks that are to be sent, as an operator lists and counts them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::operated::{
    NOW, SECRET, lane, of_state, operated, operated_with, permanent, reason, retry,
};
use seconder::calls::RequestSms;
use seconder::engine::{JobFilter, JobKind, JobState, Outcome};
use seconder::{Error, Handle};
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn a_message_is_listed_with_all_but_its_code_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([retry(), retry()]).unwrap();
    let job = op.only();
    assert_eq!((job.kind, job.state, &*job.route), (JobKind::Sms, JobState::Waiting, "first"));
    assert_eq!((job.attempts, job.ambiguous, job.user_id), (2, 0, Some(op.user.get())));
    assert_eq!(job.number.as_deref(), Some("+1-XXX-XXX-XX23"));
    assert_eq!(
        (job.last_error.as_deref(), job.ended, job.provider_id.as_deref()),
        (Some("busy"), None, None)
    );
    let now = NOW as i64 * 1000;
    assert_eq!((job.created, job.deadline), (now, now + 600_000));
    assert!((now + 1500..now + 2501).contains(&job.due.unwrap()), "{:?}", job.due);
    assert_eq!(op.engine().job(&job.id).unwrap(), Some(job.clone()));
    for text in [format!("{job:?}"), serde_json::to_string(&job).unwrap()] {
        assert!(!text.contains(SECRET) && !text.contains(&op.code()), "{text}");
    }
    assert_eq!(op.run(90), [1, 0, 0]);
    let sent = op.only();
    assert_eq!((sent.state, &*sent.route, &*sent.id), (JobState::Sent, "first", &*job.id));
    assert_eq!((sent.ended, sent.due), (Some(now + 90_000), None));
    assert_eq!(sent.provider_id.as_deref(), Some("provider-1"));
}

#[test]
fn a_job_is_leased_while_it_is_attempted() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([retry(), retry()]).unwrap();
    op.clock.set(NOW + 60);
    let (leased, more) = op.engine().lease_jobs(&lane("first"), 8).unwrap();
    let job = op.only();
    assert_eq!((job.state, job.attempts, leased.len(), more), (JobState::Leased, 2, 1, false));
    let replayed = reason(op.engine().replay_job(&job.id));
    assert!(replayed.contains("is being attempted: wait until that is over"), "{replayed}");
    // Whoever had it was killed.
    drop(leased);
    op.clock.set(NOW + 130);
    assert_eq!(op.only().state, JobState::Waiting);
    for job in op.engine().lease_jobs(&lane("first"), 8).unwrap().0 {
        job.release().unwrap();
    }
    // The attempt of whoever was killed may have sent it.
    let job = op.only();
    assert_eq!((job.state, job.attempts, job.ambiguous), (JobState::Waiting, 3, 1));
}

#[test]
fn a_callback_is_listed_with_its_url() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.approve(retry());
    let job = op.only();
    assert_eq!((job.kind, &*job.route), (JobKind::Callback, &*format!("callbacks:{}", job.app_id)));
    assert_eq!(
        (job.url.as_deref(), job.number.as_deref()),
        (Some("https://app.example/callback"), None)
    );
}

#[test]
fn jobs_are_found_by_state_kind_and_route() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([permanent(), permanent()]).unwrap_err();
    op.call([retry(), retry()]).unwrap();
    op.approve(retry());
    op.clock.set(NOW + 1);
    op.approve(Outcome::Permanent("gone".to_owned()));
    let shown = |filter: JobFilter| -> Vec<_> {
        let jobs = op.jobs(&filter).into_iter();
        jobs.map(|job| format!("{} {} {}", job.state.name(), job.kind, job.route)).collect()
    };
    let of_app = format!("callbacks:{}", op.all()[0].app_id);
    assert_eq!(
        shown(JobFilter::default()),
        [
            format!("waiting callback {of_app}"),
            "waiting calls first".to_owned(),
            "failed sms second".to_owned(),
            format!("failed callback {of_app}"),
        ]
    );
    assert_eq!(shown(of_state(JobState::Failed)).len(), 2);
    assert_eq!(shown(of_state(JobState::Waiting)).len(), 2);
    assert!(shown(of_state(JobState::Sent)).is_empty());
    assert!(shown(of_state(JobState::Leased)).is_empty());
    let kind = Some(JobKind::Callback);
    assert_eq!(shown(JobFilter { kind, ..JobFilter::default() }).len(), 2);
    let route = Some("second".to_owned());
    assert_eq!(shown(JobFilter { route, ..JobFilter::default() }), ["failed sms second"]);
    assert!(matches!("gone".parse::<JobState>(), Err(Error::InvalidArgument { .. })));
}

#[test]
fn the_jobs_of_a_user_are_listed_the_latest_first() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([permanent(), permanent()]).unwrap_err();
    op.clock.set(NOW + 1);
    op.call([retry(), retry()]).unwrap();
    op.clock.set(NOW + 2);
    op.approve(retry());
    let other = op.service.create_user("b@example.com", "2025550124", "1").unwrap().user_id;
    op.clock.set(NOW + 3);
    op.world.will([retry(), retry()]);
    op.service.handle(&RequestSms { force: Some(true), ..RequestSms::new(other) }).unwrap();
    let of = |user_id| JobFilter { user_id: Some(user_id), ..JobFilter::default() };
    let kinds = |filter: &JobFilter| -> Vec<_> {
        op.jobs(filter).into_iter().map(|job| job.kind).collect()
    };
    let all = [JobKind::Callback, JobKind::Call, JobKind::Sms];
    assert_eq!((kinds(&of(op.user)), kinds(&of(other))), (all.to_vec(), vec![JobKind::Sms]));
    let failed = JobFilter { state: Some(JobState::Failed), ..of(op.user) };
    assert_eq!(kinds(&failed), [JobKind::Sms]);
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = op.engine().jobs(&of(op.user), after.as_deref(), 1).unwrap();
        found.extend(page.entries.into_iter().map(|job| job.kind));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, all);
    assert!(op.engine().jobs(&of(op.user), Some("1"), 1).is_err());
}

/// Also where many are due in one millisecond, by whatever pages they are read.
#[test]
fn pages_hold_each_job_once() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.approve(retry());
    for number in 0..23 {
        let number = format!("202555{number:04}");
        let user = op.service.create_user("a@example.com", &number, "1").unwrap().user_id;
        let after = Some(Duration::from_secs(100));
        let later = Outcome::Retry { after, reason: "busy".to_owned() };
        op.world.will([retry(), later]);
        op.service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    }
    let expected: Vec<_> = op.all().into_iter().map(|job| job.id).collect();
    assert_eq!(expected.iter().collect::<BTreeSet<_>>().len(), 24);
    for most in [1, 2, 5, 23, 24, 25] {
        let (mut ids, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = op.engine().jobs(&JobFilter::default(), after.as_deref(), most).unwrap();
            assert!(page.entries.len() <= most as usize);
            ids.extend(page.entries.into_iter().map(|job| job.id));
            assert!(
                page.next.as_ref().is_none_or(|next| !next.contains("202555")),
                "{:?}",
                page.next
            );
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(ids, expected, "{most}");
    }
    let none = JobFilter::default();
    for (after, most) in [(Some("x"), 1), (Some("1.2"), 1), (None, 0), (None, 1001)] {
        let rejected = op.engine().jobs(&none, after, most);
        assert!(matches!(rejected, Err(Error::InvalidArgument { .. })), "{after:?} {most}");
    }
}

#[test]
fn jobs_are_counted_by_route_and_kind() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated_with(&folder.path().join("jobs.db"), "cool_down=0");
    let sent = || Outcome::Sent(Some("1".to_owned()));
    op.request([sent(), retry()]).unwrap();
    op.world.outcomes.lock().unwrap().clear();
    op.request([retry(), retry()]).unwrap();
    op.call([permanent(), permanent()]).unwrap_err();
    op.clock.set(NOW + 40);
    let status = op.engine().job_status().unwrap();
    let shown: Vec<_> = status
        .iter()
        .map(|of| {
            (&*of.route, of.kind.name(), [of.waiting, of.leased, of.failed, of.sent], of.oldest)
        })
        .collect();
    let expected =
        [("first", "sms", [1, 0, 0, 1], Some(40_000)), ("second", "calls", [0, 0, 1, 0], None)];
    assert_eq!(shown, expected);
    assert_eq!((status[0].latency_p50, status[0].latency_p99), (Some(0), Some(0)));
    assert!(status.iter().all(|of| !of.at_least));
    assert_eq!(op.run(60), [1, 0, 0]);
    let status = op.engine().job_status().unwrap();
    assert_eq!((status[0].waiting, status[0].sent, status[0].latency_p99), (0, 2, Some(60_000)));
    // What is over counts for a day.
    op.clock.set(NOW + 60 + 24 * 60 * 60);
    assert!(op.engine().job_status().unwrap().is_empty());
    assert_eq!(op.all().len(), 3);
}
