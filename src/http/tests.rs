//! Behaviour that every server in front of an engine inherits. The tests of `server/` send the same
//! over TLS.

use super::*;
use crate::{Service, Settings};
use serde_json::json;
use std::time::Duration;

const DETAILS: &str = "/protected/json/app/details";

fn sandbox() -> Service {
    Settings::new("sandbox:").api_key("key").open().unwrap()
}

fn send(request: RawRequest) -> RawReply {
    respond(sandbox().engine().unwrap(), Caller::Network, request)
}

fn get(target: &str) -> RawRequest {
    RawRequest::new("GET", target).header("x-svc-api-key", "key")
}

fn body(reply: &RawReply) -> Value {
    serde_json::from_slice(&reply.body).unwrap()
}

#[test]
fn unknown_paths_are_not_found_and_other_methods_not_allowed() {
    for unknown in ["/", "", "/protected/yaml/app/details", "/protected/json/app/details/"] {
        assert_eq!(send(get(unknown)).status, 404, "{unknown}");
    }
    let xml = send(get("/protected/xml/nothing"));
    assert_eq!(xml.header("content-type"), Some("application/xml; charset=utf-8"));
    for (method, path, allowed) in [
        ("POST", DETAILS, "GET"),
        ("HEAD", DETAILS, "GET"),
        ("get", DETAILS, "GET"),
        ("PUT", "/protected/json/users/new", "POST"),
        ("DELETE", "/protected/json/users/7/delete", "POST"),
    ] {
        let reply = send(RawRequest::new(method, path));
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allowed)), "{method} {path}");
    }
}

#[test]
fn a_path_is_checked_before_the_body_and_the_key() {
    let broken = |path| RawRequest::new("GET", path).body_error(BodyError::TooSlow);
    assert_eq!(send(broken("/nothing")).status, 404);
    for (error, status) in
        [(BodyError::TooLarge, 413), (BodyError::TooSlow, 408), (BodyError::Incomplete, 400)]
    {
        let reply = send(get(DETAILS).body_error(error));
        assert_eq!((reply.status, &body(&reply)["success"]), (status, &json!(false)));
    }
    let long = get(DETAILS).body(vec![b' '; BODY_LIMIT + 1]);
    assert_eq!(send(long).status, 413);
}

#[test]
fn targets_are_accepted_as_clients_join_them() {
    for target in [
        "http://127.0.0.1/protected/json/app/details?user_ip=192.0.2.1",
        "/protected/json/app/details#top",
        "/protected/json/app/details?user_ip=192.0.2.1#top?x",
        "//protected/json/app/details",
        "///protected/json/app/details?user_ip=192.0.2.1",
    ] {
        assert_eq!(send(get(target)).status, 200, "{target}");
    }
    for target in
        ["http://host", "*", "://protected/json/app/details", "/protected//json/app/details"]
    {
        assert_eq!(send(get(target)).status, 404, "{target}");
    }
}

#[test]
fn one_key_is_needed_and_two_headers_are_rejected() {
    assert_eq!(send(get(DETAILS)).status, 200);
    let by_parameter = format!("{DETAILS}?api_key=key");
    assert_eq!(send(RawRequest::new("GET", by_parameter.as_str())).status, 200);
    for request in [
        RawRequest::new("GET", DETAILS),
        RawRequest::new("GET", DETAILS).header("X-Svc-API-Key", ""),
        RawRequest::new("GET", DETAILS).header("X-Svc-API-Key", "wrong"),
        RawRequest::new("GET", DETAILS).header("X-Svc-API-Key", b"\xff".as_slice()),
        RawRequest::new("GET", DETAILS).header("X-Svc-API-Key", "key\n"),
        RawRequest::new("GET", format!("{DETAILS}?api_key[a]=key")),
        get(DETAILS).header("X-SVC-API-KEY", "key"),
    ] {
        let reply = send(request);
        assert_eq!((reply.status, &body(&reply)["error_code"]), (401, &json!("60001")));
    }
}

#[test]
fn what_is_in_the_path_wins_over_a_parameter() {
    let reply = send(get("/protected/json/users/8/status?user_id=9"));
    assert_eq!((reply.status, &body(&reply)["error_code"]), (404, &json!("60026")));
    let bad = send(get("/protected/json/users/x/status?user_id=9"));
    assert_eq!((bad.status, &body(&bad)["error_code"]), (404, &json!("60026")));
}

#[test]
fn an_empty_key_parameter_is_absent() {
    assert_eq!(send(get("/protected/json/app/details?api_key=")).status, 200);
    let null = get(DETAILS).body(br#"{"api_key":null}"#);
    assert_eq!(send(null).status, 200);
    let alone = send(RawRequest::new("GET", "/protected/json/app/details?api_key="));
    assert_eq!((alone.status, &body(&alone)["error_code"]), (401, &json!("60001")));
}

#[test]
fn the_success_of_a_verification_is_text_whatever_fails() {
    for (request, status) in [
        (RawRequest::new("POST", "/protected/json/verify/1234567/1"), 405),
        (RawRequest::new("GET", "/protected/json/verify/1234567/1"), 401),
        (get("/protected/json/verify/1234567"), 404),
        (get("/protected/json/verify/1234567/1").body_error(BodyError::TooSlow), 408),
        (get("/protected/json/verify/1234567/%ff"), 404),
    ] {
        let reply = send(request);
        assert_eq!((reply.status, &body(&reply)["success"]), (status, &json!("false")));
    }
    let user = send(get("/protected/json/users/%ff/status"));
    assert_eq!((user.status, &body(&user)["error_code"]), (404, &json!("60026")));
}

#[test]
fn replies_are_not_cached_and_no_browser_guesses_their_type() {
    let reply = send(get("/protected/json/nothing"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn a_wait_is_rounded_up_to_whole_seconds() {
    let wait = |millis| {
        let reply = calls::failure(&rejected(503, "wait"), DETAILS, Generation::Current);
        let reply = Reply { retry_after: Some(Duration::from_millis(millis)), ..reply };
        encode(Format::Json, &reply).header("retry-after").map(str::to_owned)
    };
    let waits = [wait(0), wait(1), wait(1000), wait(1001)].map(Option::unwrap);
    assert_eq!(waits, ["1", "1", "1", "2"]);
}

#[test]
fn debug_shows_neither_codes_nor_keys() {
    let request = get("/protected/json/verify/1234567/1").body(b"code=1234567");
    let shown = format!("{request:?} {:?}", send(get(DETAILS)));
    assert!(!shown.contains("1234567") && !shown.contains("key"), "{shown}");
}

fn older() -> Service {
    Settings::new("sandbox:").api_key("key").replies(Generation::Older).open().unwrap()
}

#[test]
fn the_place_of_the_key_does_not_select_the_bodies() {
    for service in [sandbox(), older()] {
        let engine = service.engine().unwrap();
        let send = |request| body(&respond(engine, Caller::Network, request));
        let in_header = send(get(DETAILS));
        let in_query = send(RawRequest::new("GET", format!("{DETAILS}?api_key=key")));
        assert_eq!(in_header, in_query);
        let wanted =
            if engine.replies() == Generation::Older { json!("true") } else { json!(true) };
        assert_eq!(in_header["success"], wanted);
    }
}

#[test]
fn older_failures_have_text_flags_but_for_push_calls() {
    let service = older();
    let success = |path: &str, key: &str| {
        let request = RawRequest::new("GET", path).header("x-svc-api-key", key);
        body(&respond(service.engine().unwrap(), Caller::Network, request))["success"].clone()
    };
    let approval = "/push/json/approval_requests/0a1b2c3d-0000-4000-8000-0123456789ab";
    assert_eq!(success("/protected/json/users/4711/status", "key"), json!("false"));
    assert_eq!(success("/protected/json/users/x/status", "key"), json!("false"));
    assert_eq!(success(approval, "key"), json!(false));
    for (path, wanted) in [
        (DETAILS, json!("false")),
        ("/protected/json/nothing", json!("false")),
        ("/protected/json/users/new", json!("false")),
        (approval, json!(false)),
        ("/push/json/nothing", json!(false)),
    ] {
        assert_eq!(success(path, "wrong"), wanted, "{path}");
    }
}

#[test]
fn one_key_in_two_places_is_one_key() {
    let both = |parameter: &str| get(&format!("{DETAILS}?api_key={parameter}"));
    assert_eq!(send(both("key")).status, 200);
    for other in ["other", "ke", "key2"] {
        assert_eq!(send(both(other)).status, 401, "{other}");
    }
    assert_eq!(send(both("key").header("X-Svc-API-Key", "key")).status, 401);
    assert_eq!(send(get(DETAILS).header("X-Svc-API-Key", "key")).status, 401);
}
