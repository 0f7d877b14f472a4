//! Connections are reused and shared, replaced when they are stale, and never cause a retry.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{KEY, RIGHT, Stub, TOKEN, eventually, response};
use crate::tls::{self, Identity, params};
use seconder::{Error, Service, Settings, Stage, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

fn settings(stub: &Stub) -> Settings {
    let settings = Settings::new(&stub.url()).allow_loopback_http(true).api_key(KEY);
    settings.timeout(Duration::from_secs(60))
}

/// A service whose connections are not idle for too long, however busy the machine is.
fn open(stub: &Stub) -> Service {
    settings(stub).max_idle(Duration::from_secs(60)).open().unwrap()
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap())
}

#[test]
fn consecutive_calls_share_one_connection() {
    let stub = Stub::responding(response(200, "", RIGHT));
    let service = open(&stub);
    for _ in 0..10 {
        assert_eq!(verify(&service).unwrap(), Verdict::Right);
        assert_eq!(verify(&service.clone()).unwrap(), Verdict::Right);
        let other = service.with_timeout(Duration::from_secs(59));
        assert_eq!(verify(&other).unwrap(), Verdict::Right);
    }
    assert_eq!((stub.connections(), stub.requests().len()), (1, 30));
}

#[test]
fn a_rejection_keeps_the_connection_open() {
    let wrong = r#"{"message":"Token is invalid","token":"is invalid","success":false}"#;
    let stub = Stub::responding(response(401, "", wrong));
    let service = open(&stub);
    for _ in 0..3 {
        assert_eq!(verify(&service).unwrap(), Verdict::Wrong);
    }
    assert_eq!(stub.connections(), 1);
}

#[test]
fn threads_share_connections() {
    const THREADS: usize = 12;
    let stub = Stub::responding(response(200, "", RIGHT));
    let service = open(&stub);
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..10).for_each(|_| assert!(verify(&service).is_ok())));
            }
        });
    }
    assert_eq!(stub.requests().len(), 3 * THREADS * 10);
    assert!(stub.connections() <= THREADS, "{}", stub.connections());
}

#[test]
fn an_idle_connection_is_closed_and_replaced() {
    let closed = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&closed);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() && peer.send(&response(200, "", RIGHT)) {}
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let service = settings(&stub).open().unwrap();
    assert!(verify(&service).is_ok());
    // The client does not reuse a connection that was idle for more than a second.
    sleep(Duration::from_millis(1100));
    assert!(verify(&service).is_ok());
    assert_eq!((stub.connections(), stub.requests().len()), (2, 2));
    assert!(eventually(|| closed.load(Ordering::SeqCst) == 1));
    drop(service);
    assert!(eventually(|| closed.load(Ordering::SeqCst) == 2));
}

#[test]
fn a_connection_with_unsolicited_data_is_not_reused() {
    let stub = Stub::start(|mut peer| {
        while peer.request().is_some() {
            // A client that kept the connection would take the second response for that of its next
            // call, which may be for another user.
            peer.send(&[response(401, "", "{}"), response(200, "", RIGHT)].concat());
        }
    });
    let service = open(&stub);
    for _ in 0..3 {
        assert!(verify(&service).is_err());
    }
    assert_eq!(stub.connections(), 3);
}

#[test]
fn a_reused_connection_that_closes_causes_no_retry() {
    let stub = Stub::start(|mut peer| {
        peer.request();
        peer.send(&response(200, "", RIGHT));
        peer.request();
    });
    let service = open(&stub);
    assert!(verify(&service).is_ok());
    let error = verify(&service).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    assert!(!error.retry_safe());
    // A retry would have arrived by now.
    sleep(Duration::from_millis(50));
    assert_eq!((stub.connections(), stub.requests().len()), (1, 2));
}

#[test]
fn a_warm_connection_has_done_its_handshake() {
    let identity = Identity::self_signed(params());
    let stub = tls::start(identity.config(), |mut peer| {
        while peer.request().is_some() && peer.send(&response(200, "", RIGHT)) {}
    });
    let settings = || Settings::new(&format!("https://{}", stub.addr)).api_key(KEY);
    let service = settings().pin(identity.pin()).max_idle(Duration::from_secs(60)).open().unwrap();
    service.keep_warm().unwrap();
    sleep(Duration::from_millis(1100));
    service.keep_warm().unwrap();
    assert!(stub.requests().is_empty());
    assert_eq!(verify(&service).unwrap(), Verdict::Right);
    assert_eq!(stub.connections(), 1);

    let other = Identity::self_signed(params());
    let error = settings().pin(other.pin()).open().unwrap().keep_warm().unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Tls, .. }), "{error}");
}
