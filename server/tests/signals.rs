//! Signals never cut calls in progress: SIGTERM and others stop the program after them, SIGHUP reads
//! the certificate again, and the rest have no effect.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::certificate_files;
use crate::common::connect;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CALLS: usize = 32;
const KEY: &str = "a-key-for-tests";
/// The response of a service that waits for the body of a request with `Expect`.
const CONTINUE: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A running `seconder serve`, which is killed when the test ends.
struct Running {
    child: Child,
    addr: SocketAddr,
    pem: String,
    log: BufReader<ChildStderr>,
    folder: TempDir,
}

impl Running {
    /// Starts the program by `env` with these options of it, which set what signals do at first:
    /// the tests themselves may have been started with some ignored.
    fn start(env: &[&str]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let pem = certificate_files::write(folder.path());
        std::fs::write(folder.path().join("api-key"), KEY).unwrap();
        let mut child = Command::new("env")
            .args(env)
            .arg(env!("CARGO_BIN_EXE_seconder"))
            .args([
                "serve",
                "--log-format=human",
                "--listen",
                "127.0.0.1:0",
                "--api-key-file",
                "api-key",
            ])
            .args(["--certificate", "certificate.pem", "--key", "key.pem"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let addr = logged(&mut log, "listening on https://").parse().unwrap();
        Running { child, addr, pem, log, folder }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Sends a signal while calls are in progress, all of which must be carried out and answered.
    fn signal_during_calls(&self, name: &str) {
        let body =
            "user[email]=ada%40example.com&user[cellphone]=555-010-0123&user[country_code]=1";
        let (first, rest) = body.split_at(body.len() / 2);
        let mut calls: Vec<_> = (0..CALLS)
            .map(|_| {
                let mut stream = connect(self.addr, &self.pem);
                let head = format!(
                    "POST /protected/json/users/new HTTP/1.1\r\nHost: localhost\r\n\
                     X-Svc-API-Key: {KEY}\r\nConnection: close\r\nExpect: 100-continue\r\n\
                     Content-Type: application/x-www-form-urlencoded\r\n\
                     Content-Length: {}\r\n\r\n{first}",
                    body.len()
                );
                stream.write_all(head.as_bytes()).unwrap();
                stream
            })
            .collect();
        // The program has received the beginning of each, and waits for the rest.
        for stream in &mut calls {
            let mut goes_on = [0; CONTINUE.len()];
            stream.read_exact(&mut goes_on).unwrap();
            assert_eq!(goes_on, *CONTINUE);
        }
        self.signal(name);
        std::thread::sleep(Duration::from_millis(200));
        for stream in &mut calls {
            stream.write_all(rest.as_bytes()).unwrap();
        }
        for (at, mut stream) in calls.into_iter().enumerate() {
            let mut reply = String::new();
            let read = stream.read_to_string(&mut reply);
            assert!(reply.starts_with("HTTP/1.1 200 "), "{name}, call {at}: {reply} {read:?}");
        }
    }

    fn has_exited_well(&mut self) -> bool {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the log up to the line with this text, and returns what follows the text.
fn logged(log: &mut BufReader<ChildStderr>, text: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log has no {text}");
        if let Some((_, rest)) = line.split_once(text) {
            return rest.trim().to_owned();
        }
    }
}

const DEFAULT: &[&str] = &["--default-signal=HUP,INT,QUIT,TERM,USR1,USR2,ALRM,IO"];

/// A client that says nothing, one in the middle of the handshake, one in the middle of a head, and one
/// without a key that never sends its body.
#[test]
fn connections_without_a_call_do_not_hold_up_a_stop() {
    let mut running = Running::start(DEFAULT);
    let _silent = TcpStream::connect(running.addr).unwrap();
    let mut shaking = TcpStream::connect(running.addr).unwrap();
    shaking.write_all(&[22, 3, 1]).unwrap();
    let mut half = connect(running.addr, &running.pem);
    half.write_all(b"GET /protected/json/app/details HTTP/1.1\r\nHost: lo").unwrap();
    let mut bodiless = connect(running.addr, &running.pem);
    let head = "POST /protected/json/users/new HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n";
    bodiless.write_all(head.as_bytes()).unwrap();
    // By then, the program has them.
    std::thread::sleep(Duration::from_millis(500));
    running.signal("TERM");
    let started = Instant::now();
    assert!(running.has_exited_well());
    // Calls in progress would be waited for.
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn a_signal_to_stop_lets_calls_finish() {
    for name in ["TERM", "INT", "QUIT"] {
        let mut running = Running::start(DEFAULT);
        running.signal_during_calls(name);
        assert!(running.has_exited_well(), "{name}");
        logged(&mut running.log, "stopped");
    }
}

#[test]
fn other_signals_have_no_effect_on_calls() {
    let mut running = Running::start(DEFAULT);
    for name in ["USR1", "USR2", "ALRM", "IO"] {
        running.signal_during_calls(name);
        logged(&mut running.log, &format!("SIG{name} is ignored"));
    }
    assert!(running.child.try_wait().unwrap().is_none());
}

#[test]
fn a_hangup_reads_the_certificate_again() {
    let mut running = Running::start(DEFAULT);
    running.signal_during_calls("HUP");
    logged(&mut running.log, "SIGHUP: the certificate and its key were read again");
    running.pem = certificate_files::write(running.folder.path());
    running.signal("HUP");
    logged(&mut running.log, "SIGHUP: the certificate and its key were read again");
    running.signal_during_calls("USR1");
    // Files that cannot be used leave the certificate as it was.
    std::fs::write(running.folder.path().join("key.pem"), "nonsense").unwrap();
    running.signal("HUP");
    let reason = logged(&mut running.log, "SIGHUP: the certificate stays as it was: ");
    assert!(reason.contains("holds no private key"), "{reason}");
    running.signal_during_calls("USR1");
}

#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_so() {
    let mut running = Running::start(&["--ignore-signal=HUP"]);
    running.signal_during_calls("HUP");
    running.signal("USR1");
    let mut line = "seconder: request ".to_owned();
    while line.starts_with("seconder: request ") {
        line.clear();
        running.log.read_line(&mut line).unwrap();
    }
    assert!(line.contains("SIGUSR1 is ignored"), "{line}");
}
