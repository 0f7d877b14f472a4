//! The log of `seconder serve`.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::exchange;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `seconder serve` whose standard error is a file, which is killed when the test ends.
struct Running(Child);

impl Running {
    fn start(folder: &Path, options: &[&str]) -> Running {
        let log = File::create(folder.join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.current_dir(folder).args(["serve", "--database", "sandbox:", "--self-signed"]);
        command.args(["--listen", "127.0.0.1:0"]).args(options).stdin(Stdio::null()).stderr(log);
        Running(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap()
}

/// The log once it has this text and its line is complete.
fn awaited(folder: &Path, text: &str) -> String {
    let started = Instant::now();
    loop {
        let log = log(folder);
        if log.contains(text) && log.ends_with('\n') {
            return log;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "no {text}: {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn objects(log: &str) -> Vec<Value> {
    let object =
        |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    log.lines().map(object).collect()
}

#[test]
fn a_log_that_no_terminal_shows_has_an_object_in_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let _running = Running::start(folder.path(), &[]);
    let lines = objects(&awaited(folder.path(), "listening on https"));
    assert!(lines.iter().all(|line| line["level"] == "info" && line["time"].is_string()));
    let messages: Vec<_> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert!(messages.contains(&"replies: current"), "{messages:?}");
}

#[test]
fn text_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let _running = Running::start(folder.path(), &["--log-format", "human"]);
    let log = awaited(folder.path(), "listening on https");
    assert!(log.lines().all(|line| line.starts_with("seconder: ")), "{log}");
}

#[test]
fn the_level_and_the_format_are_settings_of_the_configuration_file() {
    let folder = tempfile::tempdir().unwrap();
    let conf = "log_level = \"error\"\nlog_format = \"json\"\n";
    fs::write(folder.path().join("conf"), conf).unwrap();
    let mut running = Running::start(folder.path(), &["--config", "conf", "--texts", "missing"]);
    assert!(!running.0.wait().unwrap().success());
    // What ends the program is in the log, and nothing that matters less.
    let lines = objects(&log(folder.path()));
    assert_eq!((lines.len(), &lines[0]["level"]), (1, &"error".into()), "{lines:?}");
    let message = lines[0]["message"].as_str().unwrap();
    assert!(message.contains("texts missing cannot be read"), "{message}");
}

#[test]
fn unknown_levels_and_formats_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for (option, value, known) in [
        ("--log-level", "loud", "[possible values: error, warning, info, debug]"),
        ("--log-format", "yaml", "[possible values: auto, human, json, journald]"),
    ] {
        let mut running = Running::start(folder.path(), &[option, value]);
        assert_eq!(running.0.wait().unwrap().code(), Some(2));
        assert!(log(folder.path()).contains(known), "{}", log(folder.path()));
    }
}

/// As in a container that systemd started: its own output is not the journal.
#[test]
fn the_journal_of_another_process_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(&folder).args(["serve", "--database", "postgres:", "--self-signed"]);
    let output = command.env("JOURNAL_STREAM", "8:4711").output().unwrap();
    assert_eq!(objects(&String::from_utf8(output.stderr).unwrap())[0]["level"], "error");
}

/// Sends a request, and returns the head of the response.
fn asked(folder: &Path, log: &str, head: &str) -> String {
    let (_, rest) = log.split_once("listening on https://").unwrap();
    let addr = rest.split_once('"').unwrap().0.parse().unwrap();
    let pem = fs::read_to_string(folder.join("seconder-certificate.pem")).unwrap();
    let request = format!("{head}Host: localhost\r\nConnection: close\r\n\r\n");
    let reply = String::from_utf8(exchange(addr, &pem, request.as_bytes())).unwrap();
    reply.split_once("\r\n\r\n").unwrap().0.to_owned()
}

#[test]
fn each_request_has_a_line_without_secrets_and_an_id() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = "0123456789abcdef0123456789abcdef";
    fs::write(folder.join("key"), key).unwrap();
    let _running = Running::start(folder, &["--api-key-file", "key"]);
    let log = awaited(folder, "listening on https");
    let key = format!("X-Svc-API-Key: {key}\r\n");
    let create = format!(
        "POST /protected/json/users/new?user[email]=ada@example.com&user[cellphone]=202-555-0123\
         &user[country_code]=1 HTTP/1.1\r\n{key}Content-Length: 0\r\n"
    );
    let head = asked(folder, &log, &create);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let given = "Seconder-Request-Id: a-1._Z\r\n";
    let verify =
        format!("GET /protected/json/verify/7654321/1?force=true HTTP/1.1\r\n{key}{given}");
    let head = asked(folder, &log, &verify);
    assert!(head.contains("seconder-request-id: a-1._Z"), "{head}");
    for (line, status) in [
        ("GET /protected/json/verify/7654321/1 HTTP/1.1\r\nX-Svc-API-Key: wrong-key\r\n", 401),
        ("GET /receipts/secret-path HTTP/1.1\r\nSeconder-Request-Id: a b\r\n", 404),
    ] {
        let head = asked(folder, &log, line);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        let (_, id) = head.split_once("seconder-request-id: ").unwrap();
        assert_eq!(id.lines().next().unwrap().len(), 32, "{head}");
    }
    let log = awaited(folder, r#""status":404"#);
    let lines = objects(&log);
    let lines: Vec<_> = lines.iter().filter(|line| line["message"] == "request").collect();
    let of = |name: &str| -> Vec<Value> { lines.iter().map(|line| line[name].clone()).collect() };
    assert_eq!(of("status"), [200, 200, 401, 404]);
    let verdicts = [Value::Null, "right".into(), Value::Null, Value::Null];
    assert_eq!(of("verdict"), verdicts);
    assert_eq!(lines[1]["path"], "/protected/{format}/verify/{token}/{svc_id}");
    assert_eq!((&lines[1]["request_id"], &lines[1]["call"]), (&"a-1._Z".into(), &"verify".into()));
    assert_eq!(
        (&lines[1]["client"], &lines[2]["error_code"]),
        (&"127.0.0.1".into(), &"60001".into())
    );
    // Of the others, the application is not known.
    assert_eq!(of("app_id"), [1.into(), 1.into(), Value::Null, Value::Null]);
    assert!(lines.iter().all(|line| line["duration_us"].as_u64().is_some()));
    for line in &lines {
        let line = line.to_string();
        for secret in ["7654321", "wrong-key", "0123456789abcdef", "secret-path", "5550123", "ada@"]
        {
            assert!(!line.contains(secret), "{secret}: {line}");
        }
    }
}

#[test]
fn a_flood_of_refused_requests_has_a_few_lines_and_a_count() {
    const REFUSED: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = "0123456789abcdef0123456789abcdef";
    fs::write(folder.join("key"), key).unwrap();
    let _running = Running::start(folder, &["--api-key-file", "key"]);
    let log = awaited(folder, "listening on https");
    let (_, rest) = log.split_once("listening on https://").unwrap();
    let addr = rest.split_once('"').unwrap().0.parse().unwrap();
    let pem = fs::read_to_string(folder.join("seconder-certificate.pem")).unwrap();
    let refused = "GET /protected/json/none HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(REFUSED);
    let key = format!("X-Svc-API-Key: {key}\r\n");
    let details = format!(
        "GET /protected/json/app/details HTTP/1.1\r\n{key}Host: localhost\r\nConnection: close\r\n\r\n"
    );
    let replies = exchange(addr, &pem, format!("{refused}{details}").as_bytes());
    let replies = String::from_utf8(replies).unwrap();
    assert_eq!(replies.matches("HTTP/1.1 404").count(), REFUSED);
    // Neither is a call, and both have a right key.
    for body in ["Content-Length: 99999999\r\n\r\n", "Content-Length: 2\r\n\r\n{]"] {
        let head = "POST /protected/json/users/new HTTP/1.1\r\nHost: localhost\r\n";
        exchange(addr, &pem, format!("{head}{key}Connection: close\r\n{body}").as_bytes());
    }
    let log = awaited(folder, r#""status":400"#);
    let of = |status: u16| objects(&log).iter().filter(|line| line["status"] == status).count();
    assert_eq!((of(404), of(200), of(413), of(400)), (30, 1, 1, 1));
    awaited(folder, "170 requests that anybody can make");
}
