//! The spans of OpenTelemetry that `seconder serve --otlp` sends, as a collector receives them.

#![cfg(feature = "otlp")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod common;
mod provider;
mod serving;

use provider::{Provider, error, printed};
use serde_json::{Value, json};
use serving::{Running, wait_until};
use std::fs;
use std::io::{Read, Write};
use std::process::Command;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// The spans that a collector has received.
fn spans(collector: &Provider) -> Vec<Value> {
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let resources = collector
        .received()
        .iter()
        .flat_map(|body| list(body, "resourceSpans"))
        .collect::<Vec<_>>();
    let scopes = resources.iter().flat_map(|resource| list(resource, "scopeSpans"));
    scopes.flat_map(|scope| list(&scope, "spans")).collect()
}

/// The value of an attribute.
fn of<'a>(span: &'a Value, name: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    let value = &found.unwrap_or_else(|| panic!("{name}: {span}"))["value"];
    value.as_object().unwrap().values().next().unwrap()
}

fn send(running: &Running, key: &str, target: &str, flags: &str) -> String {
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Svc-API-Key: {key}\r\n\
         traceparent: 00-{TRACE}-{PARENT}-{flags}\r\ntracestate: a=text-of-the-client\r\n\r\n"
    );
    let mut stream = running.at.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response);
    response
}

#[test]
fn a_request_is_a_span_of_its_clients_trace_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Provider::start(200);
    let running = Running::start(folder.path(), &["--otlp", &collector.url]);
    let key = printed(folder.path(), &["key"]);
    let key = key.trim();
    // The client does not want this one.
    send(&running, key, "/protected/json/app/details", "00");
    send(&running, key, "/protected/json/verify/7654321/1?force=true", "01");
    running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
    wait_until("spans", || spans(&collector).len() >= 2);
    let spans = spans(&collector);
    assert_eq!(spans.len(), 2, "{spans:?}");
    let (verify, create) = (&spans[0], &spans[1]);
    assert_eq!(verify["name"], "GET /protected/{format}/verify/{token}/{svc_id}");
    assert_eq!((&verify["traceId"], &verify["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(verify["kind"], 2);
    assert_eq!(
        (of(verify, "seconder.call"), of(verify, "seconder.error_code")),
        (&json!("verify"), &json!("60026"))
    );
    assert_eq!(of(verify, "http.response.status_code").to_string().trim_matches('"'), "404");
    assert_eq!(of(verify, "client.address"), "127.0.0.1");
    assert_eq!(of(verify, "seconder.app_id"), "1");
    assert_ne!(create["traceId"], TRACE);
    assert_eq!(of(create, "http.route"), "/protected/{format}/users/new");
    let times = |span: &Value| {
        let time = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        (time("startTimeUnixNano"), time("endTimeUnixNano"))
    };
    assert!(times(create).0 < times(create).1, "{create}");
    let all = format!("{:?}", collector.received());
    for secret in ["7654321", key, "ada@", "50123", "text-of-the-client"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(all.contains("service.name") && all.contains(env!("CARGO_PKG_VERSION")), "{all}");
}

#[test]
fn strangers_do_not_decide_which_requests_have_a_span() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Provider::start(503);
    let options = ["--otlp", &collector.url, "--otlp-ratio", "0"];
    let running = Running::start(folder.path(), &options);
    send(&running, "wrong-key", "/protected/json/app/details", "01");
    send(&running, "wrong-key", "/unknown", "01");
    let key = printed(folder.path(), &["key"]);
    send(&running, key.trim(), "/protected/json/app/details", "01");
    wait_until("a span", || !spans(&collector).is_empty());
    assert!(spans(&collector).iter().all(|span| of(span, "http.response.status_code") == "200"));
    // The collector does not accept them.
    wait_until("a line", || running.log().contains("accepts no spans, which are lost"));
}

#[test]
fn what_fails_in_the_service_is_an_error_of_its_span() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Provider::start(200);
    let running = Running::start(folder.path(), &["--otlp", &collector.url]);
    fs::rename(folder.path().join("seconder.db"), folder.path().join("gone.db")).unwrap();
    running.client.create_user("ada@example.com", "2025550123", "1").unwrap_err();
    wait_until("a span", || !spans(&collector).is_empty());
    let status = spans(&collector)[0]["status"].clone();
    assert_eq!(status["code"], 2);
    assert!(status["message"].as_str().unwrap().starts_with("storage: "), "{status}");
}

#[test]
fn a_stop_sends_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Provider::start(200);
    let running = Running::start(folder.path(), &["--otlp", &collector.url]);
    running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
    let stopped = Command::new("kill").arg(running.id().to_string()).status().unwrap();
    assert!(stopped.success());
    // Sooner than they are sent otherwise, unless the machine does other things.
    wait_until("a span", || spans(&collector).len() == 1);
    wait_until("the end", || running.log().contains("stopp"));
}

#[test]
fn calls_go_on_without_the_collector_and_without_spans() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--otlp", "http://127.0.0.1:1/v1/traces", "--otlp-ratio", "0.5"];
    let running = Running::start(folder.path(), &options);
    running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
    drop(running);
    let folder = tempfile::tempdir().unwrap();
    for (options, wrong) in [
        (
            ["--otlp", "localhost:4318", "--otlp-ratio", "1"],
            "must be a URL such as http://localhost:4318",
        ),
        (["--otlp", "http://localhost", "--otlp-ratio", "2"], "must be a number from 0 to 1"),
    ] {
        let options = [&["serve", "--log-format=human", "--self-signed"], &options[..]].concat();
        let error = error(folder.path(), &options);
        assert!(error.contains(wrong), "{error}");
    }
    assert!(!folder.path().join("seconder.db").exists());
}
