//! What a call does to the process that makes it: nothing. The client runs in a process of its own,
//! and is looked at through `/proc` while the service takes its time to answer.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what fails here fails the test")]

mod stub;

use seconder::{Service, Settings};
use std::collections::BTreeMap;
use std::fs::{read_dir, read_link, read_to_string};
use std::net::UdpSocket;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stub::{KEY, RIGHT, Stub, TOKEN, response};

const ADDRESS: &str = "SECONDER_TEST_ADDRESS";

/// What can be seen of a process from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Snapshot {
    /// Threads, and the signals that are ignored and caught.
    status: BTreeMap<String, String>,
    /// The flags of each open socket.
    sockets: Vec<u32>,
    /// Every other open descriptor.
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
fn a_call_starts_no_thread_leaves_signals_alone_and_hides_its_sockets_from_children() {
    let pid: Arc<OnceLock<String>> = Arc::default();
    let during: Arc<OnceLock<Snapshot>> = Arc::default();
    let (of, keep) = (Arc::clone(&pid), Arc::clone(&during));
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            // The client has begun to wait by then.
            std::thread::sleep(Duration::from_millis(100));
            keep.get_or_init(|| look(of.wait()));
            peer.send(&response(200, "", RIGHT));
        }
    });
    let url = format!("http://localhost:{}", stub.addr.port());
    let told = run("the_process_that_calls", &url, &pid);
    is_as_before(during.wait(), &told);
}

#[test]
fn a_look_up_starts_no_thread_either() {
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
            // An answer that there is no such name.
            buffer[2..4].copy_from_slice(&[0x81, 0x83]);
            server.send_to(&buffer[..length], from).unwrap();
        }
    });
    let told = run("the_process_that_looks_up", &address, &pid);
    is_as_before(during.wait(), &told);
}

/// Runs a test of this file in a process of its own, and gives what it printed.
fn run(test: &str, address: &str, pid: &OnceLock<String>) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ADDRESS, address)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    pid.set(child.id().to_string()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    told
}

/// The process was as before its call but for one socket, which its children do not get.
fn is_as_before(during: &Snapshot, told: &str) {
    const CLOSED_ON_EXEC: u32 = 0o2_000_000;
    assert!(told.contains(&format!("before: {:?}", during.status)), "{told}{during:?}");
    assert_eq!(during.sockets.len(), 1, "{during:?}");
    assert!(during.sockets.iter().all(|flags| flags & CLOSED_ON_EXEC != 0), "{during:?}");
}

/// The other half of the first test, in a process of its own; alone it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the first test tells it the address so")]
fn the_process_that_calls() {
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
    assert_eq!(after.sockets.len(), 1, "the connection that is kept");
    drop(service);
    assert_eq!(look("self"), before, "closing");
}

/// The other half of the second test.
#[test]
#[allow(clippy::disallowed_methods, reason = "the second test tells it the address so")]
fn the_process_that_looks_up() {
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
    Settings::new(url).allow_loopback_http(true).api_key(KEY).open().unwrap()
}

fn verify(service: &Service) {
    let verdict = service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap()).unwrap();
    assert_eq!(verdict, seconder::Verdict::Right);
}
