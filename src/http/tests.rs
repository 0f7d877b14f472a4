//! What every server in front of an engine inherits. The tests of `server/` send the same over TLS.

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
fn a_whole_url_and_a_fragment_are_accepted_as_targets() {
    for target in [
        "http://127.0.0.1/protected/json/app/details?user_ip=192.0.2.1",
        "/protected/json/app/details#top",
        "/protected/json/app/details?user_ip=192.0.2.1#top?x",
    ] {
        assert_eq!(send(get(target)).status, 200, "{target}");
    }
    for target in
        ["http://host", "*", "://protected/json/app/details", "//protected/json/app/details"]
    {
        assert_eq!(send(get(target)).status, 404, "{target}");
    }
}

#[test]
fn one_key_is_needed_and_two_are_rejected() {
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
        get(&by_parameter),
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
fn replies_are_not_cached_and_no_browser_guesses_their_type() {
    let reply = send(get("/protected/json/nothing"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn a_wait_is_rounded_up_to_whole_seconds() {
    let wait = |millis| {
        let reply = calls::failure(&rejected(503, "wait"));
        let reply = Reply { retry_after: Some(Duration::from_millis(millis)), ..reply };
        encode(Format::Json, &reply).header("retry-after").map(str::to_owned)
    };
    assert_eq!([wait(1), wait(1000), wait(1001)].map(Option::unwrap), ["1", "1", "2"]);
}

#[test]
fn debug_shows_neither_codes_nor_keys() {
    let request = get("/protected/json/verify/1234567/1").body(b"code=1234567");
    let shown = format!("{request:?} {:?}", send(get(DETAILS)));
    assert!(!shown.contains("1234567") && !shown.contains("key"), "{shown}");
}
