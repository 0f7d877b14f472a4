//! Clients that send what is no request, or nothing at all: each ends in a response or a refusal, and the service
//! goes on for others.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a client goes on in a thread of its own")]

mod common;
mod others;
mod provider;
mod serving;

use others::go_on;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serving::{Running, wait_until};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const CREATE: &str = "POST /protected/json/users/new HTTP/1.1\r\nHost: a\r\n";
const DETAILS: &str = "GET /protected/json/app/details HTTP/1.1\r\nHost: a\r\n";
/// How long anything may take. Limits of the service are 30 s at most.
const LONGEST: Duration = Duration::from_secs(90);

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
    go_on(running.settings(), |_| {
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
    let body = format!("{CREATE}Content-Length: 1000\r\n\r\n");
    go_on(running.settings(), |_| {
        std::thread::scope(|scope| {
            for (request, status) in [(&huge, "431"), (&many, "431")] {
                let reply = send(&running, request);
                let status = format!("HTTP/1.1 {status} ");
                assert!(reply.starts_with(&status) || reply.is_empty(), "{reply}");
            }
            // A byte now and then.
            let slow_head = scope.spawn(|| trickle(&running, DETAILS, "X"));
            let slow_body = scope.spawn(|| trickle(&running, &body, "user"));
            let head = slow_head.join().unwrap();
            assert!(head.is_empty() || head.starts_with("HTTP/1.1 408 "), "{head}");
            let body = slow_body.join().unwrap();
            assert!(body.starts_with("HTTP/1.1 408 "), "{body}");
        });
    });
}

#[test]
fn a_body_that_is_announced_as_too_large_is_refused_before_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    let request = format!("{CREATE}Content-Length: 999999999999\r\n\r\n");
    let reply = send(&running, &request);
    // Whoever waits for it responds with 408.
    assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
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
    // Only root can have more than the maximum.
    let maximum = limit.maximum.map(|maximum| maximum.max(6000));
    for maximum in [maximum, limit.maximum] {
        if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
            break;
        }
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = usize::try_from(files.saturating_sub(1000).min(5000)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    println!("{count} idle connections");
    go_on(running.settings(), |_| {
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
