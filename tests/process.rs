//! A call has no side effects on its process. The client runs in a child process, which the test
//! inspects through `/proc` while the service delays its response.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::local_stub::Local;
use crate::stub::{self, KEY, RIGHT, Stub, TOKEN, response};
use seconder::{Service, Settings};
use std::collections::BTreeMap;
use std::fs::{read_dir, read_link, read_to_string};
use std::net::UdpSocket;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const ADDRESS: &str = "SECONDER_TEST_ADDRESS";

/// What `/proc` shows of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Snapshot {
    /// Threads, and the signals that are ignored and caught.
    status: BTreeMap<String, String>,
    /// The flags of each open socket.
    sockets: Vec<u32>,
    /// The targets of all other open descriptors.
    others: Vec<String>,
}

fn look(pid: &str) -> Snapshot {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap();
    let of_interest = ["Threads", "SigIgn", "SigCgt", "Umask"];
    let lines = status.lines().filter_map(|line| line.split_once(":\t"));
    let status = lines.filter(|(name, _)| of_interest.contains(name));
    let status = status.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (mut sockets, mut others) = (Vec::new(), Vec::new());
    for entry in read_dir(format!("/proc/{pid}/fd")).unwrap() {
        let entry = entry.unwrap();
        let Ok(target) = read_link(entry.path()) else { continue };
        let target = target.display().to_string();
        match target.starts_with("socket:") {
            true => sockets.push(flags(pid, &entry.file_name().to_string_lossy())),
            false => others.push(target),
        }
    }
    others.retain(|target| !target.contains(&format!("/proc/{pid}/")) && !target.ends_with("/fd"));
    others.sort();
    Snapshot { status, sockets, others }
}

fn flags(pid: &str, descriptor: &str) -> u32 {
    let about = read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:\t")).unwrap();
    u32::from_str_radix(flags, 8).unwrap()
}

#[test]
fn a_call_starts_no_thread_changes_no_signals_and_closes_sockets_on_exec() {
    let pid: Arc<OnceLock<String>> = Arc::default();
    let during: Arc<OnceLock<Snapshot>> = Arc::default();
    let (of, keep) = (Arc::clone(&pid), Arc::clone(&during));
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            // By then, the client waits for the response.
            std::thread::sleep(Duration::from_millis(100));
            keep.get_or_init(|| look(of.wait()));
            peer.send(&peer.named(&response(200, "", RIGHT)));
        }
    });
    let url = format!("http://localhost:{}", stub.addr.port());
    let output = run("child_that_calls", &url, &pid);
    is_unchanged(during.wait(), &output);
}

#[test]
fn a_call_over_a_unix_socket_changes_nothing_else_either() {
    let pid: Arc<OnceLock<String>> = Arc::default();
    let during: Arc<OnceLock<Snapshot>> = Arc::default();
    let (of, keep) = (Arc::clone(&pid), Arc::clone(&during));
    let local = Local::start(move |mut peer| {
        while peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(100));
            keep.get_or_init(|| look(of.wait()));
            peer.send(&peer.named(&response(200, "", RIGHT)));
        }
    });
    let output = run("child_that_calls", &local.url(), &pid);
    is_unchanged(during.wait(), &output);
}

#[test]
fn name_resolution_starts_no_thread() {
    let pid: Arc<OnceLock<String>> = Arc::default();
    let during: Arc<OnceLock<Snapshot>> = Arc::default();
    let (of, keep) = (Arc::clone(&pid), Arc::clone(&during));
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    stub::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = server.recv_from(&mut buffer) {
            std::thread::sleep(Duration::from_millis(100));
            keep.get_or_init(|| look(of.wait()));
            // NXDOMAIN: the name does not exist.
            buffer[2..4].copy_from_slice(&[0x81, 0x83]);
            server.send_to(&buffer[..length], from).unwrap();
        }
    });
    let output = run("child_that_resolves_a_name", &address, &pid);
    is_unchanged(during.wait(), &output);
}

/// Runs a test of this file in a child process, and returns what it printed.
fn run(test: &str, address: &str, pid: &OnceLock<String>) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("process::{test}"), "--nocapture", "--test-threads=1"])
        .env(ADDRESS, address)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    pid.set(child.id().to_string()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    text
}

/// Checks that a call changed nothing except for one socket, which is closed on exec.
fn is_unchanged(during: &Snapshot, output: &str) {
    const CLOSED_ON_EXEC: u32 = 0o2_000_000;
    assert!(output.contains(&format!("before: {:?}", during.status)), "{output}{during:?}");
    assert_eq!(during.sockets.len(), 1, "{during:?}");
    assert!(during.sockets.iter().all(|flags| flags & CLOSED_ON_EXEC != 0), "{during:?}");
}

/// The child process of the first test. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the first test passes the address in a variable")]
fn child_that_calls() {
    let Ok(url) = std::env::var(ADDRESS) else { return };
    let before = look("self");
    println!("before: {:?}", before.status);
    let service = open(&url);
    assert_eq!(look("self"), before, "opening");
    for _ in 0..3 {
        verify(&service);
    }
    let after = look("self");
    assert_eq!((&after.status, &after.others), (&before.status, &before.others), "calling");
    assert_eq!(after.sockets.len(), 1, "the connection that is kept for the next call");
    drop(service);
    assert_eq!(look("self"), before, "closing");
}

/// The child process of the second test. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the second test passes the address in a variable")]
fn child_that_resolves_a_name() {
    let Ok(server) = std::env::var(ADDRESS) else { return };
    let settings = Settings::new("https://service.example.test").api_key(KEY).name_server(server);
    let pin = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    let service = settings.pin(pin).open().unwrap();
    let before = look("self");
    println!("before: {:?}", before.status);
    let error = service.app_details().unwrap_err();
    assert!(error.to_string().contains("the name could not be resolved"), "{error}");
    assert_eq!(look("self"), before);
}

fn open(url: &str) -> Service {
    match url.starts_with("unix:") {
        true => seconder::open(url).unwrap(),
        false => Settings::new(url).allow_loopback_http(true).api_key(KEY).open().unwrap(),
    }
}

fn verify(service: &Service) {
    let verdict = service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap()).unwrap();
    assert_eq!(verdict, seconder::Verdict::Right);
}
