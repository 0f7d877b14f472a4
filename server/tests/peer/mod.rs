//! Servers of other implementations that messages are sent to.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs, and what it has recorded.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    port: u64,
    events: Arc<(Mutex<Vec<Value>>, Condvar)>,
}

impl Peer {
    /// An SMSC: `smsc.js`, on the package `smpp` of the npm registry.
    pub(crate) fn smsc(settings: &Value) -> Peer {
        let modules = root().join("build/smsc/node_modules");
        assert!(modules.join("smpp").exists(), "the package smpp is missing: make tools-test");
        let mut node = Command::new("node");
        node.arg(root().join("server/tests/smsc/smsc.js")).env("NODE_PATH", modules);
        Peer::start(node, settings)
    }

    /// A mail server: `server.py`, on the package aiosmtpd.
    pub(crate) fn mail(settings: &Value) -> Peer {
        let python = root().join("build/venv/bin/python");
        assert!(python.exists(), "build/venv is missing: make tools-test");
        let mut python = Command::new(python);
        python.arg(root().join("server/tests/mail/server.py"));
        Peer::start(python, settings)
    }

    fn start(mut program: Command, settings: &Value) -> Peer {
        program.arg(settings.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = program.spawn();
        let mut child = started.unwrap_or_else(|e| panic!("{program:?}: {e}: make tools-test"));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
        let events = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let record = Arc::clone(&events);
        let read = move || {
            for line in output.lines().map_while(Result::ok) {
                record.0.lock().unwrap().push(serde_json::from_str(&line).unwrap());
                record.1.notify_all();
            }
        };
        Builder::new().spawn(read).unwrap();
        Peer { input: child.stdin.take().unwrap(), child, port, events }
    }

    pub(crate) fn port(&self) -> u64 {
        self.port
    }

    /// Changes what it does from now on.
    pub(crate) fn change(&mut self, settings: &Value) {
        let changes = self.count("changed");
        writeln!(self.input, "{settings}").unwrap();
        self.wait("changed", changes + 1);
    }

    pub(crate) fn events(&self, event: &str) -> Vec<Value> {
        let events = self.events.0.lock().unwrap();
        events.iter().filter(|found| found["event"] == event).cloned().collect()
    }

    pub(crate) fn count(&self, event: &str) -> usize {
        self.events(event).len()
    }

    /// Waits until there are so many of these events, and returns them.
    pub(crate) fn wait(&self, event: &str, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        let mut events = self.events.0.lock().unwrap();
        loop {
            let found: Vec<Value> =
                events.iter().filter(|found| found["event"] == event).cloned().collect();
            if found.len() >= count {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{count} of {event} did not happen: {events:#?}");
            events = self.events.1.wait_timeout(events, left).unwrap().0;
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
