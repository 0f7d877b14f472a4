//! Replies and errors of the service behind a relay, as the relay passes them on.

use super::*;
use crate::Stage;
use crate::calls::{Verdict, Verification};
use crate::http::{Caller, Peer, RawReply, RawRequest, Right, Rights, respond};
use serde_json::json;
use std::time::Duration;

/// A service whose calls all end like this one.
struct Failing(fn() -> Error);

impl<C: Call> Handle<C> for Failing {
    fn handle(&self, _call: &C) -> Result<C::Reply> {
        Err((self.0)())
    }
}

fn send(relay: &dyn Backend, caller: Caller) -> RawReply {
    respond(relay, caller, RawRequest::new("GET", "/protected/json/verify/1234567/7"))
}

fn peer() -> Caller {
    Caller::Peer(Peer::new(0, None, Rights::default().with(Right::Login)))
}

fn through(error: fn() -> Error) -> (RawReply, serde_json::Value) {
    let relay = Relay::new(Failing(error), Names::default(), Generation::Current);
    let reply = send(&relay, peer());
    let body = serde_json::from_slice(&reply.body).unwrap();
    (reply, body)
}

/// Reads the relay's reply as its client does.
fn read(reply: &RawReply, body: serde_json::Value) -> Result<Verification> {
    let wait = reply.header("retry-after").map(|wait| Duration::from_secs(wait.parse().unwrap()));
    let read = Reply { retry_after: wait, ..Reply::new(reply.status, body) };
    <crate::Verify as Call>::read(read)
}

#[test]
fn trouble_behind_a_relay_is_a_failure_with_its_message() {
    type Case = (fn() -> Error, u16, &'static str, &'static str);
    let cases: [Case; 3] = [
        (
            || Error::unavailable(Stage::Connect, "h: connection refused"),
            503,
            "60000",
            "behind this relay failed: h: connection refused",
        ),
        (|| Error::invalid_response("the body is XML"), 502, "60000", "the body is XML"),
        (
            || Error::Unauthorized { message: "Invalid API key".into(), code: None },
            401,
            "60001",
            "rejected the relay's API key",
        ),
    ];
    for (error, status, code, text) in cases {
        let (reply, body) = through(error);
        assert_eq!((reply.status, &body["error_code"]), (status, &json!(code)), "{body}");
        assert!(body["message"].as_str().unwrap().contains(text), "{body}");
        assert_eq!(body["success"], json!("false"));
        let error = read(&reply, body).unwrap_err();
        let kind = match status {
            401 => matches!(error, Error::Unauthorized { .. }),
            _ => matches!(error, Error::Unavailable { .. }),
        };
        assert!(kind && error.to_string().contains(text), "{error}");
    }
}

#[test]
fn a_deadline_that_was_exceeded_is_a_504() {
    let (reply, body) = through(|| {
        Error::unavailable(Stage::Response, format!("h: {}", crate::error::DEADLINE_EXCEEDED))
    });
    assert_eq!(reply.status, 504, "{body}");
}

#[test]
fn waits_and_rejections_are_passed_on() {
    let (reply, body) = through(|| Error::RateLimited {
        message: "Too many".into(),
        retry_after: Some(Duration::from_secs(7)),
        code: Some("60003".into()),
        limit: Some("cool_down".into()),
    });
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("7")));
    let error = read(&reply, body).unwrap_err();
    assert_eq!((error.retry_after_seconds(), error.limit()), (Some(7), Some("cool_down")));
    // This is no decision about the user, so a login by way of a relay must distinguish it from a wait.
    let (reply, body) = through(|| Error::RateLimited {
        message: "Too many wrong API keys".into(),
        retry_after: Some(Duration::from_secs(2)),
        code: Some("too_many_wrong_keys".into()),
        limit: None,
    });
    let error = read(&reply, body).unwrap_err();
    assert!(matches!(error, Error::RateLimited { .. }), "{error:?}");
    assert_eq!(error.code(), Some("too_many_wrong_keys"));
    // A failure that was not the service's own decision does not look like one.
    let (reply, body) = through(|| Error::RateLimited {
        message: "status 503".into(),
        retry_after: Some(Duration::from_secs(120)),
        code: None,
        limit: None,
    });
    assert_eq!((reply.status, body.get("error_code")), (503, None), "{body}");
    assert_eq!(body.get("limit"), None, "{body}");
    let error = read(&reply, body).unwrap_err();
    assert!(matches!(error, Error::RateLimited { code: None, .. }), "{error:?}");
    assert_eq!(error.retry_after_seconds(), Some(120));
    let (reply, body) = through(calls::user_not_found);
    assert_eq!((reply.status, &body["error_code"]), (404, &json!("60026")));
    assert_eq!(read(&reply, body).unwrap_err().code(), Some("60026"));
}

#[test]
fn only_a_right_code_is_valid_behind_a_relay() {
    struct Verifying(Verdict);
    impl<C: Call> Handle<C> for Verifying {
        fn handle(&self, _call: &C) -> Result<C::Reply> {
            let reply = <crate::Verify as Call>::write(&Verification {
                verdict: self.0,
                reused: false,
                error_code: None,
                message: Some("Token is valid.".into()),
                device: None,
            });
            C::read(reply)
        }
    }
    for verdict in [Verdict::Right, Verdict::Wrong, Verdict::NotChecked] {
        let relay = Relay::new(Verifying(verdict), Names::default(), Generation::Current);
        let reply = send(&relay, peer());
        let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(body["token"] == json!("is valid"), verdict == Verdict::Right, "{body}");
        assert_eq!(read(&reply, body).unwrap().verdict, verdict);
    }
}

#[test]
fn a_relay_rejects_whoever_comes_by_network_with_any_key() {
    let relay = Relay::new(Failing(|| unreachable!()), Names::default(), Generation::Current);
    let request = RawRequest::new("GET", "/protected/json/app/details");
    let reply = respond(&relay, Caller::Network, request.header("X-Svc-API-Key", "key"));
    assert_eq!(reply.status, 401);
}
