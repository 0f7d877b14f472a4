//! Whoever has no API key takes little of the service.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod common;

use common::{HttpReply, KEY, World, connect};
use seconder::remote::Repeats;
use seconder::{Error, Service, Settings};
#[cfg(target_os = "linux")]
use seconder_server::{Listeners, LocalSocket, PeerRules, Server, SocketOptions};
use serde_json::json;
use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

const DETAILS: &str = "/protected/json/app/details";
const NEW: &str = "/protected/json/users/new";
const FORM: &str = "application/x-www-form-urlencoded";
const USER: &str = "user[email]=ada@example.com&user[cellphone]=5550100123&user[country_code]=1";

#[test]
fn a_large_body_without_a_key_is_refused() {
    let world = World::start();
    let large = format!("{USER}&padding={}", "x".repeat(64 * 1024));
    for (key, status) in [(None, 401), (Some("a-wrong-key"), 401), (Some(KEY), 200)] {
        let reply = world.request_as(key, "POST", NEW, Some((FORM, &large)));
        assert_eq!((reply.status, reply.body["success"] == json!(true)), (status, status == 200));
    }
    // A key in the body would be read with all of it.
    let late = format!("{large}&api_key={KEY}");
    assert_eq!(world.request_as(None, "POST", NEW, Some((FORM, &late))).status, 401);
    let query = format!("{NEW}?api_key={KEY}");
    assert_eq!(world.request_as(None, "POST", &query, Some((FORM, &large))).status, 200);
}

#[test]
fn a_small_body_may_have_the_key_in_it() {
    let world = World::start();
    let body = format!("{USER}&api_key={KEY}");
    assert_eq!(world.request_as(None, "POST", NEW, Some((FORM, &body))).status, 200);
}

#[test]
fn a_large_body_of_unknown_length_is_refused_without_a_key() {
    let world = World::start();
    let head = "Host: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n";
    let in_header = format!("X-Svc-API-Key: {KEY}\r\n");
    for (key, in_body, padding, status) in [
        ("", "", 0, 401),
        (&*in_header, "", 0, 200),
        ("", KEY, 0, 200),
        ("", KEY, 64 * 1024, 401),
        (&*in_header, "", 64 * 1024, 200),
    ] {
        let body = format!("{USER}&api_key={in_body}&padding={}", "x".repeat(padding));
        let body = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let media = format!("Content-Type: {FORM}\r\n");
        let reply = world.send(&format!("POST {NEW} HTTP/1.1\r\n{head}{key}{media}\r\n{body}"));
        assert_eq!(reply.status, status, "{key} {in_body} {padding}");
    }
}

/// The memory that this process has used at most, in kilobytes.
#[cfg(target_os = "linux")]
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn bodies_of_strangers_are_not_kept() {
    const CONNECTIONS: usize = 96;
    let world = World::start();
    let chunk = vec![b'x'; 960 * 1024];
    let send = || {
        let mut stream = connect(world.server.addr(), world.server.certificate_pem());
        let head = format!(
            "POST {NEW} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n\
             Content-Length: {}\r\n\r\n",
            chunk.len() + 1
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&chunk).unwrap();
        stream.flush().unwrap();
        stream
    };
    drop(send());
    let before = peak();
    // The last byte is missing, so the service waits for it.
    let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| send()).collect();
    for stream in &mut streams {
        stream.write_all(b"x").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        // After some, the address has to wait.
        assert!(matches!(&status, b"HTTP/1.1 401" | b"HTTP/1.1 503"));
    }
    let grown = peak() - before;
    // All of them would be 90 MiB; what is left is for the connections, on either side.
    assert!(grown < 48 * 1024, "{grown} kB");
}

/// Begins requests with bodies of which so much arrives, and not the rest.
fn begin_bodies(world: &World, requests: usize, arrives: usize) -> Vec<impl Write> {
    let begin = |_| {
        let mut stream = connect(world.server.addr(), world.server.certificate_pem());
        let head = format!(
            "POST {NEW} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n\
             Content-Length: {SMALL}\r\n\r\n{}",
            "x".repeat(arrives)
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.flush().unwrap();
        stream
    };
    (0..requests).map(begin).collect()
}

/// A body that is larger than what those of [`begin_bodies`] leave of the room of an address.
fn with_key_in_body() -> String {
    format!("{USER}&api_key={KEY}&padding={}", "x".repeat(1024))
}

/// As much of a body as is read of strangers.
const SMALL: usize = 8 * 1024;

#[test]
fn small_bodies_of_strangers_are_kept_up_to_a_limit_and_clients_with_a_key_go_on() {
    let world = World::start();
    let in_body = with_key_in_body();
    let status = |key, body: &str| world.request_as(key, "POST", NEW, Some((FORM, body))).status;
    // 1 MiB of one address was announced, of which nothing has arrived.
    let announced = begin_bodies(&world, 129, 0);
    sleep(Duration::from_millis(500));
    assert_eq!(status(None, &in_body), 200);
    drop(announced);
    let streams = begin_bodies(&world, 130, SMALL - 1);
    let begun = Instant::now();
    while status(None, &in_body) != 503 {
        assert!(begun.elapsed() < Duration::from_secs(14), "before they are too slow");
        sleep(Duration::from_millis(20));
    }
    // A key that could not be read is no wrong one.
    let refused = (0..40).map(|_| status(None, &in_body)).filter(|status| *status == 503);
    assert_eq!(refused.count(), 40);
    assert_eq!(status(Some("a-wrong-key"), USER), 401);
    assert_eq!(status(Some(KEY), USER), 200);
    assert_eq!(world.request("GET", DETAILS, None).status, 200);
    drop(streams);
    while status(None, &in_body) != 200 {
        assert!(begun.elapsed() < Duration::from_secs(14), "before they are too slow");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn bodies_of_calls_take_no_room_from_those_of_phones() {
    let world = World::with(|settings| {
        let service = settings.clone().api_key(KEY).open().unwrap();
        let engine = service.require_engine().unwrap();
        engine.set_public_url("https://approver.example.com").unwrap();
        settings
    });
    let _streams = begin_bodies(&world, 130, SMALL - 1);
    let in_body = with_key_in_body();
    let call = || world.request_as(None, "POST", NEW, Some((FORM, &in_body))).status;
    let begun = Instant::now();
    while call() != 503 {
        assert!(begun.elapsed() < Duration::from_secs(14), "before they are too slow");
        sleep(Duration::from_millis(20));
    }
    let enrolment = Some(("application/json", "{}"));
    assert_eq!(world.request_as(None, "POST", "/-/approver/api/devices", enrolment).status, 400);
}

#[test]
fn an_address_that_sends_many_wrong_keys_has_to_wait_and_right_keys_do_not() {
    let world = World::start();
    let status = |key: &str| {
        let reply = world.request_as(Some(key), "GET", DETAILS, None);
        (reply.status, reply.header("retry-after").to_owned())
    };
    let wrong = || (0..64).map(|number| status(&format!("a-wrong-key-{number}")));
    let replies: Vec<_> = wrong().collect();
    let unauthorized = replies.iter().take_while(|reply| **reply == (401, String::new())).count();
    assert!((30..64).contains(&unauthorized), "{replies:?}");
    let (last, waits) = &replies[unauthorized];
    assert_eq!(*last, 503);
    assert!((1..=2).contains(&waits.parse::<u64>().unwrap()), "{waits}");
    // The process has not seen it before.
    assert_eq!(status(KEY).0, 200);
    // With a large body, it is refused before that is read.
    let large = format!("{USER}&padding={}", "x".repeat(64 * 1024));
    let reply = world.request_as(Some("a-wrong-key"), "POST", NEW, Some((FORM, &large)));
    assert!(matches!(reply.status, 401 | 503), "{}", reply.status);
    assert_eq!(world.request("POST", NEW, Some((FORM, &large))).status, 200);
}

/// Sends wrong API keys until they are refused. Returns the reply.
fn flood(world: &World) -> HttpReply {
    let send = |number| {
        let key = format!("a-wrong-key-{number}");
        world.request_as(Some(&key), "GET", DETAILS, None)
    };
    let refused = (0..64).map(send).find(|reply| reply.status != 401);
    refused.unwrap()
}

/// A login must not take it for a service that is busy, which `on_trouble = ignore` forgives.
#[test]
fn the_refusal_of_many_wrong_keys_has_a_code_also_through_a_relay() {
    let world = World::start();
    let refused = flood(&world);
    assert_eq!((refused.status, &refused.body["error_code"]), (503, &json!("too_many_wrong_keys")));
    let client = |key: &str| {
        let service = world.settings().api_key(key).open().unwrap();
        service.with_repeats(Repeats::None)
    };
    let code_of = |service: &Service| {
        // Every two seconds, there is another try, which the call may get.
        let errors = (0..20).map(|_| {
            flood(&world);
            service.app_details().unwrap_err()
        });
        let mut refused = errors.filter(|error| !matches!(error, Error::Unauthorized { .. }));
        let error = refused.next().unwrap();
        assert!(matches!(error, Error::RateLimited { .. }), "{error:?}");
        error.code().map(str::to_owned)
    };
    assert_eq!(code_of(&client("a-wrong-key")).as_deref(), Some("too_many_wrong_keys"));
    assert!(client(KEY).app_details().is_ok());
    #[cfg(target_os = "linux")]
    for (key, code) in [("a-wrong-key", Some("too_many_wrong_keys")), (KEY, None)] {
        let (options, rules) = (SocketOptions::default(), PeerRules::default());
        let path = world.folder.path().join("relay.sock");
        let socket = LocalSocket::bind(&path, options, rules).unwrap();
        let names = world.engine.names().clone();
        let relay = Server::relay(client(key), names, Listeners::new().local(socket)).unwrap();
        let service = Settings::new(&format!("unix:{}", path.display())).open().unwrap();
        let service = service.with_repeats(Repeats::None);
        match code {
            Some(code) => assert_eq!(code_of(&service).as_deref(), Some(code)),
            None => assert!(service.app_details().is_ok()),
        }
        relay.stop();
    }
}

#[test]
fn a_key_that_another_process_has_added_is_not_refused_for_long() {
    let world = World::start();
    flood(&world);
    // Another engine on the same file, as of another process.
    let database = format!("sqlite:{}", world.folder.path().join("test.db").display());
    let other = Settings::new(&database).api_key(KEY).open().unwrap();
    let name = [("name".to_owned(), json!("Second"))].into_iter().collect();
    let created = other.operate_json("app.create", name).unwrap();
    let key = created["api_key"].as_str().unwrap();
    let accepted = || world.request_as(Some(key), "GET", DETAILS, None).status == 200;
    let begun = Instant::now();
    while !accepted() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn wrong_codes_are_not_counted_as_wrong_keys() {
    let world = World::start();
    let user = world.request("POST", NEW, Some((FORM, USER))).body["user"]["id"].clone();
    for _ in 0..40 {
        let reply = world.request(
            "GET",
            &format!("/protected/json/verify/1234567/{user}?force=true"),
            None,
        );
        assert_ne!(reply.status, 200);
    }
    let reply = world.request_as(Some("a-wrong-key"), "GET", "/protected/json/app/details", None);
    assert_eq!(reply.status, 401);
}
