//! Connections are kept and shared, left when they are stale, and never the cause of a repeat.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what fails here fails the test")]

mod stub;

use seconder::{Error, Service, Settings, Stage, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;
use stub::{KEY, RIGHT, Stub, TOKEN, response, soon};

fn open(stub: &Stub) -> Service {
    let settings = Settings::new(&stub.url()).allow_loopback_http(true).api_key(KEY);
    settings.timeout(Duration::from_secs(5)).open().unwrap()
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap())
}

#[test]
fn one_connection_serves_call_after_call() {
    let stub = Stub::answering(response(200, "", RIGHT));
    let service = open(&stub);
    for _ in 0..10 {
        assert_eq!(verify(&service).unwrap(), Verdict::Right);
        assert_eq!(verify(&service.clone()).unwrap(), Verdict::Right);
        let quick = service.with_timeout(Duration::from_secs(1));
        assert_eq!(verify(&quick).unwrap(), Verdict::Right);
    }
    assert_eq!((stub.connections(), stub.asked().len()), (1, 30));
}

#[test]
fn a_rejection_keeps_the_connection() {
    let wrong = r#"{"message":"Token is invalid","token":"is invalid","success":false}"#;
    let stub = Stub::answering(response(401, "", wrong));
    let service = open(&stub);
    for _ in 0..3 {
        assert_eq!(verify(&service).unwrap(), Verdict::Wrong);
    }
    assert_eq!(stub.connections(), 1);
}

#[test]
fn threads_share_connections() {
    const THREADS: usize = 12;
    let stub = Stub::answering(response(200, "", RIGHT));
    let service = open(&stub);
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..10).for_each(|_| assert!(verify(&service).is_ok())));
            }
        });
    }
    assert_eq!(stub.asked().len(), 3 * THREADS * 10);
    assert!(stub.connections() <= THREADS, "{}", stub.connections());
}

#[test]
fn a_connection_that_was_silent_is_left_and_closed() {
    let gone = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&gone);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() && peer.send(&response(200, "", RIGHT)) {}
        left.fetch_add(1, Ordering::SeqCst);
    });
    let service = open(&stub);
    assert!(verify(&service).is_ok());
    sleep(Duration::from_millis(1100));
    assert!(verify(&service).is_ok());
    assert_eq!((stub.connections(), stub.asked().len()), (2, 2));
    assert!(soon(|| gone.load(Ordering::SeqCst) == 1));
    drop(service);
    assert!(soon(|| gone.load(Ordering::SeqCst) == 2));
}

#[test]
fn a_connection_with_something_unasked_on_it_is_left() {
    let stub = Stub::start(|mut peer| {
        while peer.request().is_some() {
            // The second answer would be believed to be that of the next call.
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
fn a_kept_connection_that_breaks_off_repeats_nothing() {
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
    sleep(Duration::from_millis(50));
    assert_eq!((stub.connections(), stub.asked().len()), (1, 2));
}
