//! Delivery receipts, from providers and an SMSC all the way to `seconder jobs`.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "providers need threads")]

mod presets;
use crate::http_provider::{Provider, Reply, response};
#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::peer::Peer;
use crate::provider::{error, printed};
use crate::serving::{
    Address, FORM, PUBLIC, Running, database, receipt_url, sent, set_route, wait_until,
};
use presets::always;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A service with a route `main`, whose provider's ids are `M1`.
fn generic(folder: &Path, more: &[&str]) -> (Running, Provider, String) {
    database(folder);
    let provider = always(200, r#"{"id": "M1"}"#);
    let settings = json!({"gateway": "http", "url": provider.origin, "format": "json",
        "body": {"text": "{{text}}", "report": {"url": "{{receipt_url}}"}}, "id_pointer": "/id",
        "receipt_id": "/message/id", "receipt_state": "/message/state",
        "receipt_delivered": ["DELIVERED"]});
    set_route(folder, "main", &settings);
    let running = Running::start(folder, &[&["--public-url", PUBLIC], more].concat());
    running.send_code("2025550100", false);
    let url = receipt_url(&provider.request());
    (running, provider, url)
}

const DELIVERED: &str = r#"{"message": {"id": "M1", "state": "delivered"}}"#;
const JSON: &str = "application/json";

#[test]
fn a_wrong_secret_is_answered_as_any_path_that_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (running, _provider, url) = generic(folder, &[]);
    printed(
        folder,
        &["route", "set", "plain", "gateway=http", "url=https://sms.example", "body=a"],
    );
    let nowhere = running.at.send("POST", "/nothing/main/secret", JSON, DELIVERED);
    assert_eq!(nowhere.0, 404);
    let secret = url.rsplit('/').next().unwrap();
    for wrong in [
        format!("/receipts/main/{}", secret.to_uppercase()),
        format!("/receipts/main/{}", &secret[1..]),
        format!("/receipts/main/{secret}x"),
        format!("/receipts/main/{secret}/"),
        format!("/receipts/other/{secret}"),
        format!("/receipts/plain/{secret}"),
        "/receipts/plain/".to_owned(),
        "/receipts/main/".to_owned(),
        "/receipts/main".to_owned(),
        format!("/voice/main/{secret}"),
    ] {
        let without_path =
            |body: &str| body.replace(&wrong, "").replace("/nothing/main/secret", "");
        let (status, body) = running.at.send("POST", &wrong, JSON, DELIVERED);
        assert_eq!((status, without_path(&body)), (404, without_path(&nowhere.1)), "{wrong}");
        assert_eq!(running.at.send("GET", &wrong, "", "").0, 404, "{wrong}");
    }
    assert_eq!(running.at.send("DELETE", &url, "", "").0, 404);
    wait_until("sent", || sent(folder, "main").len() == 1);
    assert_eq!(sent(folder, "main")[0]["receipt"], Value::Null);
    assert_eq!(running.at.send("POST", &url, JSON, DELIVERED).0, 200);
    assert_eq!(sent(folder, "main")[0]["receipt"], "delivered");
    let log = running.log();
    let forged = "warning: 127.0.0.1 sent a receipt to /receipts/main/…, whose last part is not that of the route";
    assert!(
        log.contains(forged) && log.contains("path=/receipts/{route}/{secret} status=404"),
        "{log}"
    );
    assert!(!log.contains(secret));
}

#[test]
fn what_is_no_receipt_is_rejected_and_the_operator_learns_why() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (running, _provider, url) = generic(folder, &[]);
    let large = format!("{{\"x\": \"{}\"}}", "a".repeat(64 * 1024));
    let long = format!(r#"{{"message": {{"id": "{}", "state": "delivered"}}}}"#, "1".repeat(129));
    for (status, body, why) in [
        (400, "", "it has no /message/id"),
        (400, "{", "its body is not JSON"),
        (400, "[]", "it has no /message/id"),
        (400, r#"{"message": {"id": "", "state": "delivered"}}"#, "it has no /message/id"),
        (400, r#"{"message": {"id": ["M1"], "state": "x"}}"#, "it has no /message/id"),
        (400, r#"{"message": {"id": "M1"}}"#, "it has no /message/state"),
        (400, &long, "its /message/id is not the id of a message"),
        (413, &large, "it is too large"),
    ] {
        assert_eq!(running.at.send("POST", &url, JSON, body).0, status, "{why}");
        wait_until(why, || {
            running.log().contains(&format!("route main: a receipt was rejected: {why}"))
        });
    }
    // An id that nobody knows would be repeated for ever.
    let unknown = DELIVERED.replace("M1", "M2");
    assert_eq!(running.at.send("POST", &url, JSON, &unknown).0, 200);
    assert!(!running.log().contains(url.rsplit('/').next().unwrap()));
}

#[cfg(unix)]
#[test]
fn receipts_are_not_taken_by_local_sockets() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let socket = folder.join("s");
    let (running, _provider, url) = generic(folder, &["--unix", socket.to_str().unwrap()]);
    let path = url.strip_prefix(PUBLIC).unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let length = DELIVERED.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {JSON}\r\n\
         Content-Length: {length}\r\n\r\n{DELIVERED}"
    );
    // In one piece: it is rejected as soon as its head is there.
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 404"), "{reply}");
    assert_eq!(running.at.send("POST", &url, JSON, DELIVERED).0, 200);
}

#[test]
fn a_receipt_that_is_faster_than_the_response_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let at: Arc<OnceLock<Address>> = Arc::default();
    let service = Arc::clone(&at);
    // The provider reports before it responds.
    let provider = Provider::start(move |_, request| {
        let body = "MessageSid=SM1&MessageStatus=delivered";
        let reply = service.get().unwrap().send("POST", &receipt_url(request), FORM, body);
        assert_eq!(reply.0, 200);
        Reply::Bytes(response(201, "", r#"{"sid": "SM1"}"#))
    });
    set_route(
        folder,
        "main",
        &json!({"gateway": "twilio", "account_sid": "AC1", "auth_token": "t", "base_url": provider.origin}),
    );
    let running = Running::start(folder, &["--public-url", PUBLIC]);
    assert!(at.set(running.at.clone()).is_ok());
    running.send_code("2025550100", false);
    provider.request();
    wait_until("sent", || sent(folder, "main").len() == 1);
    assert_eq!(sent(folder, "main")[0]["receipt"], "delivered");
}

#[test]
fn a_route_keeps_its_url_for_receipts_until_it_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let settings = json!({"gateway": "twilio", "account_sid": "AC1", "auth_token": "t"});
    set_route(folder, "main", &settings);
    let url = || printed(folder, &["route", "show", "main", "--receipts"]);
    let first = url();
    assert!(first.starts_with("https://HOST/receipts/main/"), "{first}");
    set_route(folder, "main", &settings);
    assert_eq!(url(), first);
    printed(folder, &["route", "remove", "main"]);
    assert!(error(folder, &["route", "show", "main", "--receipts"]).contains("route list"));
    set_route(folder, "main", &settings);
    assert_ne!(url(), first);
    let own = folder.join("secret");
    std::fs::write(&own, "short").unwrap();
    let set = |argument: &str| {
        let file = folder.join("main.json");
        error(folder, &["route", "set", "main", "--file", file.to_str().unwrap(), argument])
    };
    let secret = format!("receipt_secret=@{}", own.display());
    assert!(set(&secret).contains("receipt_secret is too short"));
    assert!(set("receipt_secret=0123456789abcdef").contains("receipt_secret=@FILE"));
    std::fs::write(&own, "0123456789abcdef").unwrap();
    let file = folder.join("main.json");
    printed(folder, &["route", "set", "main", "--file", file.to_str().unwrap(), &secret]);
    assert_eq!(url().trim(), "https://HOST/receipts/main/0123456789abcdef");
}

#[test]
fn receipts_of_an_smsc_reach_the_job_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let mut smsc = Peer::smsc(&json!({"password": "p", "receipts": "DELIVRD"}));
    let settings = json!({"gateway": "smpp", "host": "127.0.0.1", "port": smsc.port(),
        "system_id": "seconder", "password": "p", "timeout": 60});
    set_route(folder, "smsc", &settings);
    let running = Running::start(folder, &[]);
    // For the receipts of messages of an earlier process.
    smsc.wait("bind", 1);
    running.send_code("2025550100", false);
    assert_eq!(smsc.wait("receipt", 1)[0]["status"], 0);
    wait_until("sent", || sent(folder, "smsc").len() == 1);
    assert_eq!(sent(folder, "smsc")[0]["receipt"], "delivered");
    smsc.change(&json!({"receipts": "UNDELIV", "receipt_style": "text", "receipt_id": "padded"}));
    running.send_code("2025550101", false);
    assert_eq!(smsc.wait("receipt", 2)[1]["status"], 0);
    wait_until("sent", || sent(folder, "smsc").len() == 2);
    assert_eq!(sent(folder, "smsc")[0]["receipt"], "failed: UNDELIV, error 069");
    // The receipt for a message of the service may come by the session of another process.
    smsc.change(&json!({"receipts": null}));
    running.send_code("2025550102", false);
    wait_until("sent", || sent(folder, "smsc").len() == 3);
    drop(running);
    smsc.change(&json!({"late": "m-3"}));
    let _running = Running::start(folder, &[]);
    smsc.wait("receipt", 3);
    wait_until("reported", || sent(folder, "smsc")[0]["receipt"] == "delivered");
}

#[test]
fn ids_that_are_numbers_keep_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let provider = always(200, r#"{"parts": [{"id": 12345678901234567890123}, {"id": 7.10}]}"#);
    let settings = json!({"gateway": "http", "url": provider.origin, "format": "json",
        "body": {"text": "{{text}}", "report": {"url": "{{receipt_url}}"}}, "id_pointer": "/parts/*/id",
        "receipt_id": "id", "receipt_state": "state", "receipt_delivered": ["DELIVERED"]});
    set_route(folder, "main", &settings);
    let running = Running::start(folder, &["--public-url", PUBLIC]);
    running.send_code("2025550100", false);
    let url = receipt_url(&provider.request());
    wait_until("sent", || sent(folder, "main").len() == 1);
    assert_eq!(sent(folder, "main")[0]["provider_id"], "12345678901234567890123 7.10");
    let receipt = r#"{"id": 12345678901234567890123, "state": "DELIVERED"}"#;
    assert_eq!(running.at.send("POST", &url, JSON, receipt).0, 200);
    assert_eq!(sent(folder, "main")[0]["receipt"], "pending");
    // The next number that a double holds is another one.
    let another = receipt.replace("123,", "124,");
    assert_eq!(running.at.send("POST", &url, JSON, &another).0, 200);
    let last = r#"{"id": 7.10, "state": "DELIVERED"}"#;
    assert_eq!(running.at.send("POST", &url, JSON, last).0, 200);
    assert_eq!(sent(folder, "main")[0]["receipt"], "delivered");
}

#[test]
fn receipts_that_match_nothing_are_logged_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    // A receipt with the id of its message could come before the message is known. For seconds, the service would
    // wait for that message, and log no other receipt.
    let style = json!({"password": "p", "receipts": "DELIVRD", "receipt_style": "text",
        "receipt_id": "none"});
    let mut smsc = Peer::smsc(&style);
    let settings = json!({"gateway": "smpp", "host": "127.0.0.1", "port": smsc.port(),
        "system_id": "seconder", "password": "p", "timeout": 60});
    set_route(folder, "smsc", &settings);
    let running = Running::start(folder, &[]);
    for (number, written) in [(2, "none"), (3, "none"), (4, "other"), (5, "other"), (6, "other")] {
        smsc.change(&json!({"receipt_id": written}));
        running.send_code(&format!("20255501{number:02}"), false);
        assert_eq!(smsc.wait("receipt", number - 1)[number - 2]["status"], 0);
    }
    let count = |what: &str| running.log().matches(what).count();
    wait_until("logged", || count("matches no message") == 1);
    let log = running.log();
    assert!(log.contains("route smsc: a receipt for xm-5 matches no message"), "{log}");
    assert!(log.contains("set receipt_ids to decimal or hexadecimal"), "{log}");
    running.send_code("2025550107", false);
    assert_eq!(smsc.wait("receipt", 6)[5]["status"], 0);
    assert_eq!((count("matches no message"), count("a receipt has no id")), (1, 1));
}

/// Single ones, such as those for messages of long ago, do not take the place of the warning that all fail.
#[test]
fn single_receipts_that_match_nothing_are_not_logged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (running, _provider, url) = generic(folder, &[]);
    wait_until("sent", || sent(folder, "main").len() == 1);
    let report = |id: &str| {
        let receipt = DELIVERED.replace("M1", id);
        assert_eq!(running.at.send("POST", &url, JSON, &receipt).0, 200);
    };
    for id in ["M2", "M3", "M1", "M4", "M5", "M1", "M6", "M7", "M8"] {
        report(id);
    }
    wait_until("logged", || running.log().contains("matches no message"));
    let log = running.log();
    assert!(log.contains("route main: a receipt for M8 matches no message"), "{log}");
    assert_eq!(log.matches("matches no message").count(), 1, "{log}");
}
