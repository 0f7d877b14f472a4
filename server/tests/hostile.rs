//! Clients that send what is no request, or nothing at all, and a machine that fails: each ends in a response or a
//! refusal, and the service goes on for others.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a client goes on in a thread of its own")]

mod common;
#[path = "provider/mod.rs"]
mod program;
mod serving;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seconder::calls::{AppDetails, UserStatus};
use seconder::{Handle, Service};
use serving::{Running, wait_until};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const DETAILS: &str = "GET /protected/json/app/details HTTP/1.1\r\nHost: a\r\n";
/// How long anything may take. Limits of the service are 30 s at most.
const LONGEST: Duration = Duration::from_secs(90);

/// Runs a function while a client makes calls, none of which fails.
fn while_others_go_on(running: &Running, attack: impl FnOnce()) {
    /// Ends the calls, also if the function panics.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut calls = 0;
            while !is_over.load(Ordering::Relaxed) {
                running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
                // On a connection of its own.
                let client = running.new_client();
                client.handle(&AppDetails::default()).unwrap();
                calls += 1;
                // Below the limit of requests with one key.
                std::thread::sleep(Duration::from_millis(100));
            }
            calls
        });
        let over = Over(&is_over);
        attack();
        drop(over);
        let calls = client.join().unwrap();
        assert!(calls > 3, "{calls}");
    });
}

/// What is received until the service closes the connection.
fn received(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
            panic!("the connection is still open after {LONGEST:?}")
        }
        // A reset ends it too, and so does an end without the farewell of TLS.
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

fn plain(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(LONGEST)).unwrap();
    stream
}

#[test]
fn what_is_not_tls_is_refused_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    // The same in each run.
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let mut garbage: Vec<Vec<u8>> =
        (0..200).map(|length| (0..length * 7).map(|_| random()).collect()).collect();
    // A handshake that announces more than it sends, one of no version, an alert, and HTTP.
    let records: [&[u8]; 4] = [
        b"\x16\x03\x01\x40\x00\x01",
        b"\x16\xff\xff\0\x05hello",
        b"\x15\x03\x03\0\x02\x02\x28",
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    garbage.extend(records.map(<[u8]>::to_vec));
    while_others_go_on(&running, || {
        let streams = garbage.iter().map(|bytes| {
            let mut stream = plain(running.at.addr());
            // It may be closed before all of it is sent.
            let _ = stream.write_all(bytes);
            stream
        });
        for mut stream in streams.collect::<Vec<_>>() {
            let received = received(&mut stream);
            assert!(!received.contains("HTTP"), "{received:?}");
        }
    });
}

#[test]
fn slow_and_huge_requests_end_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    let huge = format!("{DETAILS}X: {}\r\n\r\n", "x".repeat(200 * 1024));
    let many = format!("{DETAILS}{}\r\n", "X: 1\r\n".repeat(5000));
    while_others_go_on(&running, || {
        std::thread::scope(|scope| {
            for (request, status) in [(huge, "431"), (many, "431")] {
                let reply = send(&running, &request);
                let status = format!("HTTP/1.1 {status} ");
                assert!(reply.starts_with(&status) || reply.is_empty(), "{reply}");
            }
            // A byte now and then.
            let body = "POST /protected/json/users/new HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
            let slow_head = scope.spawn(|| trickle(&running, DETAILS, "X"));
            let slow_body = scope.spawn(|| trickle(&running, body, "user"));
            let head = slow_head.join().unwrap();
            assert!(head.is_empty() || head.starts_with("HTTP/1.1 408 "), "{head}");
            let body = slow_body.join().unwrap();
            assert!(body.starts_with("HTTP/1.1 408 "), "{body}");
        });
    });
}

#[test]
fn a_request_that_a_proxy_may_read_differently_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    let reply = send(&running, &format!("{DETAILS}X: 1\nY: 2\r\n\r\n"));
    assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    wait_until("a line", || running.log().contains("a request of 127.0.0.1 was rejected"));
}

/// The response to a request that may be too large to be read.
fn send(running: &Running, request: &str) -> String {
    let mut stream = running.at.connect();
    stream.sock.set_read_timeout(Some(LONGEST)).unwrap();
    let _ = stream.write_all(request.as_bytes());
    received(&mut stream)
}

/// Sends the beginning of a request, and then a byte now and then. Returns the response.
fn trickle(running: &Running, begin: &str, then: &str) -> String {
    let mut stream = running.at.connect();
    stream.write_all(begin.as_bytes()).unwrap();
    let started = Instant::now();
    for byte in then.bytes().cycle() {
        stream.sock.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut first = [0];
        match stream.read(&mut first) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(1) => {
                stream.sock.set_read_timeout(Some(LONGEST)).unwrap();
                return format!("{}{}", char::from(first[0]), received(&mut stream));
            }
            _ => break,
        }
        assert!(started.elapsed() < LONGEST, "the connection is still open");
        if stream.write_all(&[byte]).and_then(|()| stream.flush()).is_err() {
            break;
        }
    }
    String::new()
}

#[test]
fn thousands_of_idle_connections_leave_the_service_to_others() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = usize::try_from(files.saturating_sub(1000).min(5000)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    while_others_go_on(&running, || {
        // Those of an address are limited to half of all.
        let mut idle: Vec<TcpStream> = (0..count)
            .map(|number| from([127, 0, 0, 2 + (number % 2) as u8], running.at.addr()))
            .collect();
        // A while, in which calls succeed, and then they are closed.
        for stream in &mut idle {
            stream.set_read_timeout(Some(LONGEST)).unwrap();
            assert_eq!(received(stream), "");
        }
    });
}

/// A connection from this address of the machine.
fn from(own: [u8; 4], to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((own, 0))).unwrap();
    connect(&socket, &to).unwrap();
    socket.into()
}

/// Whether this machine lets a program mount something in a name space of its own.
fn may_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    command.output().is_ok_and(|output| output.status.success())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_refuses_what_it_cannot_store_until_there_is_room() {
    if !may_mount() {
        println!("skipped: this machine has no name spaces in which a small disk can be mounted");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    fs::write(folder.path().join("key"), "key-of-choice").unwrap();
    let mut program = Command::new("unshare");
    let mount = "mount -t tmpfs -o size=4m tmpfs disk && exec \"$0\" \"$@\"";
    program.args(["-rm", "sh", "-c", mount, env!("CARGO_BIN_EXE_seconder")]);
    let more = ["--database", "sqlite:disk/seconder.db", "--api-key-file", "key"];
    let running = Running::start_by(program, folder.path(), &more, || "key-of-choice".into());
    // The disk as the service sees it.
    let disk = Path::new("/proc")
        .join(running.id().to_string())
        .join("root")
        .join(disk.strip_prefix("/").unwrap());
    let ballast = disk.join("ballast");
    let ada = running.client.create_user("ada@example.com", "2025550123", "1").unwrap().user_id;
    while fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&ballast)
        .unwrap()
        .write_all(&[0; 4096])
        .is_ok()
    {}
    let create = |client: &Service, number: u64| {
        client.create_user("eve@example.com", &format!("{}", 2_025_550_124 + number), "1")
    };
    // SQLite has some room left in the files that it has.
    let mut numbers = 0..100_000;
    let error = numbers.find_map(|number| create(&running.client, number).err()).unwrap();
    assert!(error.to_string().contains("Internal error."), "{error}");
    wait_until("a line", || running.log().contains("error=\"storage: "));
    let log = running.log();
    let line = log.lines().find(|line| line.contains("error=\"storage: ")).unwrap();
    assert!(line.contains("full") && line.contains("disk"), "{line}");
    // What needs no room goes on, and nobody gets in.
    assert!(running.client.handle(&UserStatus::new(ada)).is_ok());
    assert!(running.client.verify(&"1234567".parse().unwrap(), ada).is_err());
    fs::remove_file(&ballast).unwrap();
    create(&running.client, 200_000).unwrap();
    assert!(running.client.handle(&UserStatus::new(ada)).is_ok());
}

#[test]
fn a_database_that_vanishes_is_an_error_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    let create = || running.client.create_user("ada@example.com", "2025550123", "1");
    let ada = create().unwrap();
    let (database, gone) = (folder.path().join("seconder.db"), folder.path().join("gone.db"));
    fs::rename(&database, &gone).unwrap();
    assert!(create().unwrap_err().to_string().contains("Internal error."));
    // Nothing takes its place, in which nobody would be enrolled.
    assert!(!database.exists());
    fs::rename(&gone, &database).unwrap();
    assert_eq!(create().unwrap().user_id, ada.user_id);
}
