//! Messages and callbacks that are to be sent, as an operator replays and cancels them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::operated::{
    NOW, attempt, lane, of_state, operated, operated_with, permanent, reason, retry,
};
use seconder::calls::RequestSms;
use seconder::engine::{JobState, Outcome};
use seconder::model::Secret;
use seconder::{Error, Handle, Verdict};
use std::path::Path;
use std::time::Duration;

#[test]
fn a_message_that_waits_can_be_attempted_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([retry(), retry()]).unwrap();
    assert_eq!(op.run(0), [0, 0, 0]);
    let job = op.engine().replay_job(&op.only().id).unwrap();
    assert_eq!((job.due, job.attempts), (Some(NOW as i64 * 1000), 2));
    assert_eq!(op.run(0), [1, 0, 0]);
    assert_eq!(op.verify(), Verdict::Right);
    let audit = op.audit();
    let noted = audit.iter().find(|entry| entry.call == "replay_job").unwrap();
    assert_eq!((&*noted.verdict, noted.number.as_deref()), ("done", Some("+1-XXX-XXX-XX23")));
}

#[test]
fn a_message_that_failed_is_replayed_while_its_code_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([permanent(), permanent()]).unwrap_err();
    op.clock.set(NOW + 300);
    let job = op.engine().replay_job(&op.only().id).unwrap();
    assert_eq!((job.state, &*job.route, job.attempts), (JobState::Waiting, "first", 0));
    assert_eq!(op.run(300), [1, 0, 0]);
    assert_eq!(op.verify(), Verdict::Right);
}

#[test]
fn a_message_whose_code_is_void_is_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([permanent(), permanent()]).unwrap_err();
    let id = op.only().id;
    op.clock.set(NOW + 600);
    let error = reason(op.engine().replay_job(&id));
    assert!(error.contains(&id) && error.contains("has to request a new code"), "{error}");
    assert_eq!(op.only().state, JobState::Failed);
}

/// It was taken back when it failed, and counts again.
#[test]
fn a_message_that_is_replayed_counts_for_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let op = operated_with(&path, "number_day=1 cool_down=0");
    op.request([permanent(), permanent()]).unwrap_err();
    let id = op.only().id;
    op.request([Outcome::Sent(None), Outcome::Sent(None)]).unwrap();
    let over = op.engine().replay_job(&id).unwrap_err();
    assert!(matches!(over, Error::RateLimited { .. }), "{over}");
    assert!(over.to_string().contains("number_day"), "{over}");
    assert_eq!(op.only().state, JobState::Failed);
}

#[test]
fn a_replayed_message_that_fails_again_is_taken_back_again() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated_with(&folder.path().join("jobs.db"), "number_day=2");
    op.request([permanent(), permanent()]).unwrap_err();
    op.engine().replay_job(&op.only().id).unwrap();
    op.world.will([permanent(), permanent()]);
    assert_eq!(op.run(1), [0, 0, 1]);
    // Without a wait, because nobody got one.
    op.request([Outcome::Sent(None), Outcome::Sent(None)]).unwrap();
}

#[test]
fn a_callback_that_failed_gets_a_new_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.approve(Outcome::Permanent("gone".to_owned()));
    let failed = op.only();
    assert_eq!((failed.state, failed.ended), (JobState::Failed, Some(NOW as i64 * 1000)));
    let after_days = 3 * 24 * 60 * 60;
    op.clock.set(NOW + after_days);
    let replayed = op.engine().replay_job(&failed.id).unwrap();
    assert_eq!((replayed.state, replayed.attempts), (JobState::Waiting, 0));
    op.world.will([retry(), retry()]);
    assert_eq!(op.run(after_days), [0, 1, 0]);
    assert_eq!(op.run(after_days + 10), [0, 1, 0]);
    assert_eq!(op.run(after_days + 400), [1, 0, 0]);
}

#[test]
fn what_was_sent_or_is_unknown_is_neither_replayed_nor_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    let sent = || Outcome::Sent(Some("1".to_owned()));
    op.request([sent(), sent()]).unwrap();
    let engine = op.engine();
    let id = op.only().id;
    assert!(reason(engine.replay_job(&id)).ends_with("is that of a job that was sent"));
    assert!(reason(engine.cancel_job(&id)).ends_with("is that of a job that was sent"));
    for id in ["0000000000000001", "7fffffffffffffff"] {
        assert!(reason(engine.replay_job(id)).contains("is that of no job"));
        assert!(reason(engine.cancel_job(id)).contains("is that of no job"));
        assert_eq!(engine.job(id).unwrap(), None);
    }
    for id in ["", "1", "000000000000000g", "+00000000000001f", "00000000000000001"] {
        assert!(reason(engine.replay_job(id)).contains("16 hexadecimal digits"), "{id}");
    }
}

#[test]
fn a_message_that_is_cancelled_is_not_sent_and_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated_with(&folder.path().join("jobs.db"), "number_day=1");
    op.request([retry(), retry()]).unwrap();
    let id = op.only().id;
    assert_eq!(op.engine().cancel_job(&id).unwrap().id, id);
    assert!(op.all().is_empty());
    assert_eq!(op.run(100), [0, 0, 0]);
    assert_eq!(op.undelivered(), [("request_sms".to_owned(), "cancelled".to_owned())]);
    op.request([Outcome::Sent(None), Outcome::Sent(None)]).unwrap();
}

/// Its late error must not undo what was done meanwhile.
#[test]
fn an_attempt_of_a_job_that_was_cancelled_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([retry(), retry()]).unwrap();
    op.clock.set(NOW + 60);
    let leased = op.engine().lease_jobs(&lane("first"), 8).unwrap();
    op.engine().cancel_job(&op.only().id).unwrap();
    op.world.will([permanent()]);
    for job in leased.0 {
        assert!(!attempt(job, &op.world));
    }
    assert!(op.all().is_empty());
    assert_eq!(op.undelivered().len(), 1);
}

/// The queue of a worker may be deeper than it sends within the lease.
#[test]
fn a_job_that_waited_in_a_queue_for_longer_than_its_lease_is_sent_once() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([retry(), retry()]).unwrap();
    let attempts = || op.world.codes.lock().unwrap().len();
    let lease = |seconds| {
        op.clock.set(NOW + seconds);
        op.engine().lease_jobs(&lane("first"), 8).unwrap().0
    };
    let before = attempts();
    // An attempt takes 30 s at most, and the lease is over after 60.
    let late = lease(60);
    op.clock.set(NOW + 91);
    for job in late {
        assert!(!attempt(job, &op.world));
    }
    assert_eq!(attempts(), before, "it could have outlived the lease");
    let too_late = lease(92);
    assert_eq!(op.run(160), [1, 0, 0]);
    for job in too_late {
        assert!(!attempt(job, &op.world));
    }
    assert_eq!((attempts(), op.run(300)), (before + 1, [0, 0, 0]));
}

#[test]
fn the_audit_says_why_something_was_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([permanent(), permanent()]).unwrap_err();
    op.call([retry(), retry()]).unwrap();
    assert_eq!(op.run(601), [0, 0, 0]);
    op.approve(Outcome::Permanent("gone".to_owned()));
    op.approve(retry());
    op.engine().cancel_job(&op.jobs(&of_state(JobState::Waiting))[0].id).unwrap();
    let mut undelivered = op.undelivered();
    undelivered.sort();
    let expected = [
        ("request_call", "expired"),
        ("request_sms", "rejected"),
        ("respond_to_approval", "cancelled"),
        ("respond_to_approval", "rejected"),
    ];
    assert_eq!(undelivered, expected.map(|(call, why)| (call.to_owned(), why.to_owned())));
}

/// How long what the only job carries is, as it is sealed.
fn carried(path: &Path) -> i64 {
    let db = rusqlite::Connection::open(path).unwrap();
    db.query_row("SELECT length(payload) FROM jobs", [], |row| row.get(0)).unwrap()
}

/// The number and the text are of no use to an operator, and nobody else's business.
#[test]
fn what_a_failed_message_carries_is_kept_only_while_it_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let op = operated(&path);
    op.request([permanent(), permanent()]).unwrap_err();
    let failed = op.only();
    let whole = carried(&path);
    for (seconds, is_kept) in [(599, true), (600, false), (700, false)] {
        op.clock.set(NOW + seconds);
        op.engine().maintain(Duration::from_secs(5)).unwrap();
        assert_eq!(carried(&path) == whole, is_kept, "{seconds}");
        assert_eq!(op.only(), failed, "{seconds}");
    }
    assert!(carried(&path) < 60, "{}", carried(&path));
    let error = reason(op.engine().replay_job(&failed.id));
    assert!(error.contains("has to request a new code"), "{error}");
    op.clock.set(NOW + 30 * 24 * 60 * 60);
    op.engine().maintain(Duration::from_secs(5)).unwrap();
    assert!(op.all().is_empty());
}

#[test]
fn a_message_that_expired_carries_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let op = operated(&path);
    op.request([retry(), retry()]).unwrap();
    assert!(carried(&path) > 100);
    assert_eq!(op.run(601), [0, 0, 0]);
    assert_eq!(op.only().state, JobState::Failed);
    assert!(carried(&path) < 60, "{}", carried(&path));
}

#[test]
fn the_audit_has_the_address_of_whoever_requested_what_was_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.world.will([permanent(), permanent()]);
    let user_ip = Some("192.0.2.7".parse().unwrap());
    let call = RequestSms { force: Some(true), user_ip, ..RequestSms::new(op.user) };
    op.service.handle(&call).unwrap_err();
    let audit = op.audit();
    let noted = audit.iter().find(|entry| entry.verdict == "not_delivered").unwrap();
    assert_eq!(noted.user_ip.as_deref(), Some("192.0.2.7"));
}

#[test]
fn a_message_whose_code_was_used_first_is_removed_and_noted_once() {
    let folder = tempfile::tempdir().unwrap();
    let op = operated(&folder.path().join("jobs.db"));
    op.request([retry(), retry()]).unwrap();
    assert_eq!(op.verify(), Verdict::Right);
    for seconds in [90, 180, 700] {
        assert_eq!(op.run(seconds), [0, 0, 0]);
    }
    assert!(op.all().is_empty());
    assert_eq!(op.undelivered(), [("request_sms".to_owned(), "void".to_owned())]);
}

#[test]
fn a_job_that_is_damaged_fails_and_is_noted() {
    for (damage, is_kept) in [("payload = x'00'", true), ("attempts = -1", false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let op = operated(&path);
        op.request([retry(), retry()]).unwrap();
        let db = rusqlite::Connection::open(&path).unwrap();
        assert_eq!(db.execute(&format!("UPDATE jobs SET {damage}"), []).unwrap(), 1);
        for seconds in [60, 120] {
            assert_eq!(op.run(seconds), [0, 0, 0], "{damage}");
        }
        assert_eq!(op.undelivered(), [("request_sms".to_owned(), "unreadable".to_owned())]);
        let kept: Vec<_> = op.all().into_iter().map(|job| job.state).collect();
        assert_eq!(kept == [JobState::Failed], is_kept, "{damage}: {kept:?}");
    }
}

#[test]
fn a_route_that_cannot_be_read_says_so_and_the_others_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let op = operated(&path);
    for name in ["bad", "good"] {
        op.engine().set_route(name, &Secret::new("{}")).unwrap();
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let damage = "UPDATE routes SET settings = x'00' WHERE name = 'bad'";
    assert_eq!(db.execute(damage, []).unwrap(), 1);
    let routes = op.engine().routes().unwrap();
    let shown = routes.iter().map(|of| (&*of.name, of.settings.is_some(), of.unreadable.is_some()));
    assert_eq!(shown.collect::<Vec<_>>(), [("bad", false, true), ("good", true, false)]);
    op.engine().set_route("bad", &Secret::new("{}")).unwrap();
    assert!(op.engine().routes().unwrap().iter().all(|route| route.unreadable.is_none()));
}
