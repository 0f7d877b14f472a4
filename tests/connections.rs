//! Connections are reused and shared, replaced when they are stale, and never cause a retry.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{KEY, RIGHT, Stub, TOKEN, eventually, response};
use crate::tls::{self, Identity, params};
use seconder::calls::{Handle, Verify};
use seconder::{Error, Service, Settings, Stage, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

const WRONG: &str = r#"{"message":"Token is invalid","token":"is invalid","success":false}"#;

fn settings(stub: &Stub) -> Settings {
    let settings = Settings::new(&stub.url()).allow_loopback_http(true).api_key(KEY);
    settings.timeout(Duration::from_secs(60))
}

/// A service whose connections are not idle for too long, however busy the machine is.
fn open(stub: &Stub) -> Service {
    settings(stub).max_idle(Duration::from_secs(60)).open().unwrap()
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
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
    let stub = Stub::responding(response(401, "", WRONG));
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
        while peer.respond(&response(200, "", RIGHT)) {}
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
            let wrong = peer.named(&response(401, "", "{}"));
            peer.send(&[wrong, response(200, "", RIGHT)].concat());
        }
    });
    let service = open(&stub);
    for _ in 0..3 {
        assert!(verify(&service).is_err());
    }
    assert_eq!(stub.connections(), 3);
}

/// A service or proxy that sends the first response of each connection again, once the next request has arrived.
/// The code is right for the user 1 only.
fn repeats_itself(names_requests: bool) -> Stub {
    Stub::start(move |mut peer| {
        let Some(request) = peer.request() else { return };
        let right = request.lines().next().is_some_and(|line| line.contains("/1?"));
        let first = if right { response(200, "", RIGHT) } else { response(401, "", WRONG) };
        let first = if names_requests { peer.named(&first) } else { first };
        if peer.send(&first) && peer.request().is_some() {
            peer.send(&first);
            peer.stay_silent();
        }
    })
}

#[test]
fn a_second_response_that_arrives_late_is_not_taken_for_that_to_the_next_request() {
    let verdict_of = |service: &Service, user: u64| {
        let call = Verify::new(user.try_into().unwrap(), TOKEN.parse().unwrap());
        service.handle(&call).map(|found| found.verdict)
    };
    let stub = repeats_itself(true);
    let service = open(&stub);
    assert_eq!(verdict_of(&service, 1).unwrap(), Verdict::Right);
    let error = verdict_of(&service, 2).unwrap_err();
    assert!(matches!(error, Error::InvalidResponse { .. }), "{error}");
    assert!(error.to_string().contains("of another request"), "{error}");
    // The connection is gone.
    assert_eq!(verdict_of(&service, 2).unwrap(), Verdict::Wrong);
    assert_eq!(stub.connections(), 2);

    // A service that names no requests has a connection for each.
    let stub = repeats_itself(false);
    let service = open(&stub);
    for (user, verdict) in [(1, Verdict::Right), (2, Verdict::Wrong), (1, Verdict::Right)] {
        assert_eq!(verdict_of(&service, user).unwrap(), verdict);
    }
    assert_eq!(stub.connections(), 3);
}

#[test]
fn a_response_without_the_id_of_its_request_is_accepted_first_or_as_a_failure_only() {
    let page = response(502, "", "<html>Bad gateway</html>");
    for (second, is_unavailable) in [(response(200, "", RIGHT), false), (page, true)] {
        let stub = Stub::start(move |mut peer| {
            if peer.respond(&response(200, "", RIGHT)) && peer.request().is_some() {
                peer.send(&second);
                peer.stay_silent();
            }
        });
        let service = open(&stub);
        assert_eq!(verify(&service).unwrap(), Verdict::Right);
        let error = verify(&service).unwrap_err();
        match is_unavailable {
            true => assert!(matches!(error, Error::Unavailable { .. }), "{error}"),
            false => assert!(error.to_string().contains("has no Seconder-Request-Id"), "{error}"),
        }
        assert_eq!(verify(&service).unwrap(), Verdict::Right);
        assert_eq!(stub.connections(), 2);
    }
}

#[test]
fn a_reused_connection_that_closes_causes_no_retry() {
    let stub = Stub::start(|mut peer| {
        peer.respond(&response(200, "", RIGHT));
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
    let stub =
        tls::start(identity.config(), |mut peer| while peer.respond(&response(200, "", RIGHT)) {});
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
