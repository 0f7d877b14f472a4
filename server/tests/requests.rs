//! Requests as clients in the field send them, and malformed ones.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::{self, KEY, World, exchange};
use crate::others;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const FORM: &str = "application/x-www-form-urlencoded";
const NEW: &str = "/protected/json/users/new";
const DETAILS: &str = "/protected/json/app/details";

#[test]
fn a_post_accepts_a_form_json_or_a_query() {
    let world = World::start();
    let form = "user[email]=ada@example.com&user[cellphone]=555-010-0123&user[country_code]=1";
    let coded = form.replace('[', "%5B").replace(']', "%5D").replace('@', "%40");
    let json = json!({"user": {"email": "ada@example.com", "cellphone": "5550100123",
        "country_code": 1}})
    .to_string();
    let mut ids = Vec::new();
    for (query, body) in [
        ("", Some((FORM, form))),
        ("", Some((FORM, coded.as_str()))),
        ("", Some(("text/plain", form))),
        ("", Some(("application/json", json.as_str()))),
        ("", Some(("application/json;charset=utf-8", json.as_str()))),
        ("", Some((FORM, json.as_str()))),
        (coded.as_str(), None),
        (coded.as_str(), Some((FORM, ""))),
        ("send_install_link_via_sms=False", Some((FORM, form))),
    ] {
        let reply = world.request("POST", &format!("{NEW}?{query}"), body);
        assert_eq!(reply.status, 200, "{query} {body:?} {}", reply.body);
        assert_eq!(reply.header("content-type"), "application/json; charset=utf-8");
        ids.push(reply.body["user"]["id"].clone());
    }
    assert!(ids[0].is_u64() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn a_get_accepts_a_form_in_its_body() {
    let world = World::start();
    let reply = world.request("GET", DETAILS, Some((FORM, "user_ip=192.0.2.1")));
    assert_eq!((reply.status, &reply.body["success"]), (200, &json!(true)));
    let reply = world.request("GET", DETAILS, Some((FORM, "user_ip=nowhere")));
    assert_eq!((reply.status, &reply.body["error_code"]), (400, &json!("60004")));
}

#[test]
fn ambiguous_requests_are_rejected() {
    let world = World::start();
    let twice = r#"{"user_ip":"192.0.2.1","user_ip":"192.0.2.2"}"#;
    for (query, body) in [
        ("user_ip=192.0.2.1", Some((FORM, "user_ip=192.0.2.1"))),
        ("user_ip=192.0.2.1&user_ip=192.0.2.1", None),
        ("", Some(("application/json", twice))),
        ("", Some(("application/json", "[]"))),
        ("", Some(("application/json", "user_ip=192.0.2.1"))),
        ("", Some((FORM, "user_ip=%ff"))),
    ] {
        let reply = world.request("GET", &format!("{DETAILS}?{query}"), body);
        assert_eq!(
            (reply.status, &reply.body["success"]),
            (400, &json!(false)),
            "{query} {body:?}"
        );
    }
}

#[test]
fn the_api_key_is_a_header_or_the_older_query_parameter() {
    let world = World::start();
    let older = format!("{DETAILS}?api_key={}", common::KEY);
    assert_eq!(world.request_as(None, "GET", &older, None).status, 200);
    assert_eq!(world.request_as(Some(common::KEY), "GET", &older, None).status, 200);
    for (key, path) in [
        (None, DETAILS),
        (Some(""), DETAILS),
        (Some("wrong"), DETAILS),
        (None, "/protected/json/app/details?api_key=wrong"),
        (Some("wrong"), older.as_str()),
        (Some(common::KEY), "/protected/json/app/details?api_key=wrong"),
        (None, "/protected/json/verify/1234567/1"),
        (Some("wrong"), "/push/json/approval_requests/0a1b2c3d-0000-4000-8000-0123456789ab"),
    ] {
        let reply = world.request_as(key, "GET", path, None);
        assert_eq!((reply.status, &reply.body["error_code"]), (401, &json!("60001")), "{path}");
    }
}

#[test]
fn a_request_with_two_api_keys_is_unauthorized() {
    let world = World::start();
    let twice = format!("X-Svc-API-Key: {}\r\nX-Svc-API-Key: wrong\r\n", common::KEY);
    let head = "Host: localhost\r\nConnection: close\r\n";
    let reply = world.send(&format!("GET {DETAILS} HTTP/1.1\r\n{head}{twice}\r\n"));
    assert_eq!((reply.status, &reply.body["error_code"]), (401, &json!("60001")));
}

#[test]
fn unknown_paths_are_404_and_wrong_methods_are_405() {
    let world = World::start();
    for path in
        ["/", "/protected/json", "/protected/yaml/app/details", "/protected/json/app/details/"]
    {
        let reply = world.request("GET", path, None);
        assert_eq!((reply.status, &reply.body["success"]), (404, &json!(false)), "{path}");
    }
    for (method, path, allowed) in [
        ("GET", NEW, "POST"),
        ("POST", DETAILS, "GET"),
        ("PUT", DETAILS, "GET"),
        ("DELETE", "/protected/json/users/7/delete", "POST"),
    ] {
        let reply = world.request(method, path, None);
        assert_eq!((reply.status, reply.header("allow")), (405, allowed), "{method} {path}");
    }
}

#[test]
fn an_unknown_path_is_rejected_before_the_body_arrives() {
    let world = World::start();
    let started = Instant::now();
    for (path, status) in [("/nothing", 404), (DETAILS, 405)] {
        let head = "Host: localhost\r\nConnection: close\r\nContent-Length: 10\r\n\r\n";
        let reply = world.send(&format!("PUT {path} HTTP/1.1\r\n{head}"));
        assert_eq!(reply.status, status, "{path}");
    }
    assert!(started.elapsed() < Duration::from_secs(15), "a body is waited for as long as that");
}

/// A proxy and the service could take such a request for different ones.
#[test]
fn a_request_that_can_be_read_in_two_ways_is_rejected_and_others_go_on() {
    // They are many with one key.
    let world = World::with(|settings| settings.limits("key_rate=0"));
    others::go_on(&world.settings(), |_| reject_ambiguous(&world));
}

fn reject_ambiguous(world: &World) {
    let key = format!("X-Svc-API-Key: {KEY}\r\nConnection: close\r\n");
    for (host, body, status) in [
        ("Host: a\r\n", "\r\n", 200),
        ("", "\r\n", 400),
        ("Host: a\r\nHost: b\r\n", "\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
        ("Host: a\r\n", "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", 400),
        ("Host: a\r\n", "Content-Length: +0\r\n\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: gzip\r\n\r\n", 400),
        ("Host: a\r\n", " folded: 1\r\n\r\n", 400),
        ("Host: a\r\n", "X : 1\r\n\r\n", 400),
        ("Host: a\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
        ("Host: a\r\n", "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
        ("Host: a\n", "\r\n", 400),
        ("Host: a\r\n", "\n", 400),
        ("Host: a\r\nX: 1\nY: 1\r\n", "\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("Host: a\r\n", "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", 400),
        ("Host: a\r\n", "X: a\0b\r\n\r\n", 400),
        ("Host: a\r\n", "X: a\rb\r\n\r\n", 400),
    ] {
        let request = format!("GET {DETAILS} HTTP/1.1\r\n{host}{key}{body}");
        let (addr, pem) = (world.server.addr(), world.server.certificate_pem());
        let reply = String::from_utf8(exchange(addr, pem, request.as_bytes())).unwrap();
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{request}: {reply}");
    }
    // The connection ends with chunks, so nothing after them is read as a request.
    let chunks = format!(
        "GET {DETAILS} HTTP/1.1\r\nHost: a\r\nX-Svc-API-Key: {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\n\r\nGET {DETAILS} HTTP/1.1\r\nHost: a\r\n\r\n"
    );
    let (addr, pem) = (world.server.addr(), world.server.certificate_pem());
    let reply = String::from_utf8(exchange(addr, pem, chunks.as_bytes())).unwrap();
    assert!(
        reply.starts_with("HTTP/1.1 200 ") && reply.matches("HTTP/1.1").count() == 1,
        "{reply}"
    );
    // Clients of proxies send a whole URL.
    for (host, status) in [("a", 200), ("A", 200), ("b", 400)] {
        let request = format!(
            "GET https://a{DETAILS} HTTP/1.1\r\nHost: {host}\r\nX-Svc-API-Key: {KEY}\r\n\
             Connection: close\r\n\r\n"
        );
        let (addr, pem) = (world.server.addr(), world.server.certificate_pem());
        let reply = String::from_utf8(exchange(addr, pem, request.as_bytes())).unwrap();
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {reply}");
    }
    let old = format!("GET {DETAILS} HTTP/1.0\r\nX-Svc-API-Key: {KEY}\r\n\r\n");
    let (addr, pem) = (world.server.addr(), world.server.certificate_pem());
    assert!(exchange(addr, pem, old.as_bytes()).starts_with(b"HTTP/1.0 200"));
}

#[test]
fn an_encoded_path_segment_cannot_reach_another_call() {
    let world = World::start();
    let user = world.client().create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    for (token, id, status, code) in [
        ("..%2Fsms", "", 401, "60020"),
        ("1234567%2F1", "", 401, "60020"),
        ("1234567%0a", "", 401, "60020"),
        ("%F0%9D%9F%8E123456", "", 401, "60020"),
        ("1234567", "%2F..", 404, "60026"),
    ] {
        let path = format!("/protected/json/verify/{token}/{user}{id}?force=true");
        let reply = world.request("GET", &path, None);
        assert_eq!((reply.status, &reply.body["error_code"]), (status, &json!(code)), "{path}");
    }
}

#[test]
fn a_body_over_1_mib_is_rejected() {
    let world = World::start();
    let fits = format!("user_ip=192.0.2.1{}", " ".repeat(1024 * 1024 - 17));
    assert_eq!(world.request("GET", DETAILS, Some((FORM, &fits))).status, 200);
    for over in [1, 4 * 1024 * 1024] {
        let body = format!("{fits}{}", " ".repeat(over));
        let reply = world.request("GET", DETAILS, Some((FORM, &body)));
        assert_eq!((reply.status, &reply.body["success"]), (413, &json!(false)));
    }
}

#[test]
fn retry_after_is_sent_in_seconds() {
    let world = World::start();
    let user = world.client().create_user("ada@example.com", "555-010-0123", "1").unwrap();
    let path = format!("/protected/json/sms/{}", user.user_id);
    assert_eq!(world.request("GET", &path, None).status, 200);
    let reply = world.request("GET", &path, None);
    assert_eq!((reply.status, &reply.body["error_code"]), (503, &json!("60003")), "{}", reply.body);
    let wait: u64 = reply.header("retry-after").parse().unwrap();
    assert!((25..=30).contains(&wait), "{wait}");
}

#[test]
fn plain_http_gets_no_reply_and_blocks_no_other_client() {
    let world = World::start();
    let mut plain = TcpStream::connect(world.server.addr()).unwrap();
    let _silent = TcpStream::connect(world.server.addr()).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut got = Vec::new();
    let _ = plain.read_to_end(&mut got);
    assert!(!got.starts_with(b"HTTP"), "{got:?}");
    assert_eq!(world.request("GET", DETAILS, None).status, 200);
}
