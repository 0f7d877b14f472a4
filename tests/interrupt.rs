//! A program ends its calls: before they begin, while they wait for a retry, and between the polls
//! of a wait.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::stub::{KEY, Stub, Watched, in_time, response, spawn};
use seconder::calls::CreateApproval;
use seconder::engine::Message;
use seconder::remote::Repeats;
use seconder::{Canceller, Error, Handle, Service, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time after which the program cancels.
const LATER: Duration = Duration::from_millis(200);

fn busy() -> Vec<u8> {
    response(503, "Retry-After: 30\r\n", r#"{"message":"busy"}"#)
}

fn remote(stub: &Stub) -> Service {
    let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
    settings.timeout(Duration::from_secs(60)).open().unwrap().with_repeats(Repeats::All)
}

/// A handle that is cancelled after a while.
fn cancelled_later(service: &Service) -> Service {
    let canceller = Canceller::new();
    let handle = service.with_interrupt(Arc::new(canceller.clone()));
    spawn(move || {
        std::thread::sleep(LATER);
        canceller.cancel();
    });
    handle
}

fn cancelled(service: &Service) -> Service {
    let canceller = Canceller::new();
    canceller.cancel();
    service.with_interrupt(Arc::new(canceller))
}

#[test]
fn a_wait_for_a_retry_ends() {
    let responded = Arc::new(AtomicBool::new(false));
    let responds = Arc::clone(&responded);
    let stub = Stub::start(move |mut peer| {
        while peer.respond(&busy()) {
            responds.store(true, Ordering::SeqCst);
        }
    });
    let service = remote(&stub);
    let watched = Arc::new(Watched::default());
    let interrupt = Arc::clone(&watched);
    let handle = service.with_interrupt(interrupt);
    spawn(move || watched.cancel_after(|| responded.load(Ordering::SeqCst)));
    let result = in_time(LATER, || handle.request_sms(1.try_into().unwrap()));
    let error = result.unwrap_err();
    assert_eq!(error, Error::Cancelled { sent: false });
    assert!(error.retry_safe() && error.code().is_none());
    // Another handle of the same service is not affected, and keeps the connection.
    let other = service.with_repeats(Repeats::None).request_sms(1.try_into().unwrap());
    assert!(matches!(other, Err(Error::RateLimited { .. })), "{other:?}");
    assert!(stub.connections() <= stub.requests().len());
}

#[test]
fn a_cancelled_handle_sends_nothing_and_does_nothing() {
    let stub = Stub::responding(busy());
    let service = cancelled(&remote(&stub));
    for _ in 0..2 {
        let result = service.app_details();
        assert_eq!(result.unwrap_err(), Error::Cancelled { sent: false });
    }
    assert_eq!(stub.connections(), 0);
    let engine = seconder::open("sandbox:").unwrap();
    let result = cancelled(&engine).create_user("ada@example.com", "555-010-0123", "1");
    assert_eq!(result.unwrap_err(), Error::Cancelled { sent: false });
    assert_eq!(engine.app_stats().unwrap().total_users, Some(0));
}

#[test]
fn a_wait_for_an_approval_ends_between_two_polls() {
    let service = seconder::open("sandbox:").unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let request = service.handle(&CreateApproval::new(user, "Log in?".parse().unwrap())).unwrap();
    let minute = Duration::from_secs(60);
    let result =
        in_time(LATER, || cancelled_later(&service).wait_for_approval(&request.uuid, user, minute));
    assert_eq!(result.unwrap_err(), Error::Cancelled { sent: false });
    let result = cancelled(&service).wait_for_approval(&request.uuid, user, minute);
    assert_eq!(result.unwrap_err(), Error::Cancelled { sent: false });
}

/// A function that a call runs can look whether the call is to end, and its own calls do not end
/// with it.
#[test]
fn a_deliver_function_sees_that_its_call_is_to_end() {
    static SEEN: AtomicBool = AtomicBool::new(false);
    let canceller = Canceller::new();
    let other = seconder::open("sandbox:").unwrap();
    let cancel = canceller.clone();
    let deliver = move |_: &Message| {
        assert!(!seconder::interrupted());
        cancel.cancel();
        assert!(other.app_details().is_ok());
        SEEN.store(seconder::interrupted(), Ordering::SeqCst);
        Ok(())
    };
    let service = Settings::new("sandbox:?accept=right").deliver(deliver).open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let own = service.with_interrupt(Arc::new(canceller));
    // It had begun, so it is completed.
    assert!(own.request_sms(user).is_ok());
    assert!(SEEN.load(Ordering::SeqCst) && !seconder::interrupted());
    assert_eq!(own.user_status(user).unwrap_err(), Error::Cancelled { sent: false });
}

#[test]
fn an_argument_is_checked_before_a_call_is_cancelled() {
    let service = cancelled(&seconder::open("sandbox:").unwrap());
    let mut call = CreateApproval::new(1.try_into().unwrap(), "Log in?".parse().unwrap());
    call.details.insert("large".into(), "x".repeat(20_000).into());
    let result = service.handle(&call);
    assert!(matches!(result, Err(Error::InvalidArgument { .. })), "{result:?}");
}

/// A deadline still ends a call that may be cancelled, and is not taken for a cancellation.
#[test]
fn a_call_that_is_not_cancelled_ends_at_its_deadline() {
    let stub = Stub::start(|mut peer| {
        if peer.request().is_some() {
            peer.stay_silent();
        }
    });
    let service = remote(&stub).with_interrupt(Arc::new(Canceller::new()));
    let started = Instant::now();
    let error = service.with_timeout(LATER).app_details().unwrap_err();
    assert!(error.timed_out() && started.elapsed() >= LATER, "{error:?}");
}
