//! Callbacks that are posted again.

use super::{NOW, ambiguous, counts, retry, run_jobs};
use crate::fresh::{ManualClock, ada, url};
use seconder::calls::{self, ApprovalStatus};
use seconder::engine::{
    ApprovalResponse, DeviceType, Outcome, Post, RespondToApproval, SignedCallback,
};
use seconder::{Handle, Service, Settings};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// An application whose responses the test decides.
#[derive(Clone, Default)]
struct Receiver {
    outcomes: Arc<Mutex<VecDeque<Outcome>>>,
    received: Arc<Mutex<Vec<SignedCallback>>>,
}

impl Post for Receiver {
    fn post(&self, _: &SignedCallback) -> std::result::Result<(), String> {
        unreachable!("attempt is called")
    }

    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        self.received.lock().unwrap().push(callback.clone());
        self.outcomes.lock().unwrap().pop_front().unwrap_or(Outcome::Sent(None))
    }
}

/// A service with an approval that was responded to, whose callback had this outcome.
fn responded(path: &Path, outcomes: &[Outcome]) -> (Service, Receiver, ManualClock) {
    let (clock, receiver) = (ManualClock::at(NOW), Receiver::default());
    let service = Settings::new(&url(path))
        .clock(clock.clone())
        .callback_url("https://app.example/callback")
        .post(receiver.clone())
        .open()
        .unwrap();
    receiver.outcomes.lock().unwrap().extend(outcomes.iter().cloned());
    let (engine, user) = (service.engine().unwrap(), ada(&service));
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let call = calls::CreateApproval::new(user, "Log in?".parse().unwrap());
    let approval = engine
        .respond_to_approval(&RespondToApproval {
            uuid: service.handle(&call).unwrap().uuid,
            device_id: device.device_id,
            device_secret: device.secret,
            response: ApprovalResponse::Approve,
            number: None,
        })
        .unwrap();
    assert_eq!(approval.status, ApprovalStatus::Approved);
    (service, receiver, clock)
}

/// The times are those at which the waits are over whatever their spread, and those before which none
/// of them can be.
#[test]
fn a_callback_is_posted_again_on_its_schedule_and_then_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let (service, receiver, clock) = responded(&path, &vec![retry(); 7]);
    let mut now = NOW;
    let waits = [5, 300, 1800, 7200, 18_000, 36_000];
    for (number, wait) in waits.into_iter().enumerate() {
        clock.set(now + wait / 2);
        assert_eq!(counts(run_jobs(&service)), [0, 0, 0], "too early: {number}");
        now += wait * 5 / 4 + 1;
        clock.set(now);
        let expected = if number == 5 { [0, 0, 1] } else { [0, 1, 0] };
        assert_eq!(counts(run_jobs(&service)), expected, "{number}");
    }
    clock.set(now + 50_000);
    assert_eq!(counts(run_jobs(&service)), [0, 0, 0]);
    assert_eq!(receiver.received.lock().unwrap().len(), 7);
}

#[test]
fn each_attempt_to_post_a_callback_is_signed_anew_and_has_the_same_delivery_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let (service, receiver, clock) = responded(&path, &[retry(), ambiguous()]);
    for seconds in [100, 1000] {
        clock.set(NOW + seconds);
        run_jobs(&service);
    }
    let received = receiver.received.lock().unwrap();
    let header = |callback: &SignedCallback, name: &str| {
        let found = callback.headers.iter().find(|(key, _)| key == name);
        found.unwrap().1.clone()
    };
    assert_eq!(received.len(), 3);
    for pair in received.windows(2) {
        assert_eq!(pair[0].body, pair[1].body);
        assert_eq!(header(&pair[0], "Seconder-Delivery"), header(&pair[1], "Seconder-Delivery"));
        for name in ["X-Svc-Signature", "X-Svc-Signature-Nonce"] {
            assert_ne!(header(&pair[0], name), header(&pair[1], name), "{name}");
        }
    }
}

#[test]
fn a_callback_that_is_not_wanted_is_not_posted_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let (service, receiver, clock) = responded(&path, &[Outcome::Permanent("gone".to_owned())]);
    clock.set(NOW + 80_000);
    assert_eq!(counts(run_jobs(&service)), [0, 0, 0]);
    assert_eq!(receiver.received.lock().unwrap().len(), 1);
}
