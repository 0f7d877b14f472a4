//! A provider of messages over HTTP on this machine, and the program that sends by it.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the provider needs threads")]

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// In place of a status: no reply, until the client closes the connection.
pub(crate) const HANGS: u16 = 0;
/// In place of a status: no reply, and the connection is closed.
pub(crate) const DIES: u16 = 1;

/// In place of a status: 503, with the request to come back after all codes have expired.
pub(crate) const MUCH_LATER: u16 = 2;

/// A provider, which replies with this status.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) url: String,
    pub(crate) status: Arc<AtomicU16>,
    decide: Arc<Decide>,
    received: Arc<Mutex<Vec<Received>>>,
}

/// The status for a message, of which so many came before.
type Decide = dyn Fn(usize, &Value) -> u16 + Send + Sync;

/// A message that a provider has read.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) body: Value,
    pub(crate) status: u16,
}

impl Provider {
    pub(crate) fn start(status: u16) -> Provider {
        let status = Arc::new(AtomicU16::from(status));
        let kept = Arc::clone(&status);
        Provider::run(status, move |_, _| kept.load(Ordering::Relaxed))
    }

    /// One that replies to each message as `decide` says.
    pub(crate) fn deciding(
        decide: impl Fn(usize, &Value) -> u16 + Send + Sync + 'static,
    ) -> Provider {
        Provider::run(Arc::default(), decide)
    }

    fn run(
        status: Arc<AtomicU16>,
        decide: impl Fn(usize, &Value) -> u16 + Send + Sync + 'static,
    ) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/send", listener.local_addr().unwrap());
        let provider = Provider { url, status, decide: Arc::new(decide), received: Arc::default() };
        let kept = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let provider = kept.clone();
                std::thread::spawn(move || while provider.respond(&stream).is_some() {});
            }
        });
        provider
    }

    fn respond(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let status = self.record(serde_json::from_slice(&body).unwrap());
        if status == HANGS {
            let _ = reader.read(&mut [0]);
        }
        if [HANGS, DIES].contains(&status) {
            return None;
        }
        let body = r#"{"id":"provider-7"}"#;
        let (status, more) = match status {
            MUCH_LATER => (503, "Retry-After: 86400\r\n"),
            status => (status, ""),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\n{more}Content-Length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).ok()
    }

    fn record(&self, body: Value) -> u16 {
        let mut received = self.received.lock().unwrap();
        let status = (self.decide)(received.len(), &body);
        received.push(Received { at: Instant::now(), body, status });
        status
    }

    pub(crate) fn received(&self) -> Vec<Value> {
        self.log().into_iter().map(|received| received.body).collect()
    }

    pub(crate) fn log(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The settings of a route to it.
    pub(crate) fn settings(&self) -> Value {
        let body = json!({ "to": "{{to}}", "text": "{{text}}", "code": "{{code}}", "id": "{{id}}",
            "from": "{{from}}" });
        json!({ "gateway": "http", "url": self.url, "format": "json", "body": body,
            "allow_http": true, "timeout": 10, "id_pointer": "/id" })
    }

    /// Sets a route for it.
    pub(crate) fn set_route(&self, folder: &Path, name: &str, more: &[&str]) {
        let file = folder.join(format!("{name}.json"));
        fs::write(&file, self.settings().to_string()).unwrap();
        let mut arguments = vec!["route", "set", name, "--file", file.to_str().unwrap()];
        arguments.extend(more);
        printed(folder, &arguments);
    }
}

fn seconder(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = seconder(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
pub(crate) fn error(folder: &Path, arguments: &[&str]) -> String {
    let output = seconder(folder, arguments);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}
