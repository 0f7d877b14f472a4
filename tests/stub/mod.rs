//! A service on this machine whose behaviour on each connection is a function of the test.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::{Canceller, Interrupt};
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const KEY: &str = "hidden-key";
pub(crate) const TOKEN: &str = "7654321";
pub(crate) const RIGHT: &str =
    r#"{"token":"is valid","success":"true","message":"Token is valid."}"#;

/// How long a stub serves one connection at most, whatever the test's function does.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// By how much a busy machine may delay the end of a call. A call that misses its end by mistake goes on until the
/// stub closes the connection, after [`PATIENCE`].
pub(crate) const LATE: Duration = Duration::from_secs(5);

/// A listener that counts its connections and records the requests.
pub(crate) struct Stub {
    pub(crate) addr: SocketAddr,
    pub(crate) accepted: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// The stub's end of a connection.
pub(crate) struct Peer<S> {
    pub(crate) stream: S,
    requests: Arc<Mutex<Vec<String>>>,
    until: Instant,
    /// The header of the last request that names it, with its line end; empty if there is none.
    id: String,
}

impl Stub {
    /// Runs `behave` for each connection, on a separate thread.
    pub(crate) fn start(behave: impl Fn(Peer<TcpStream>) + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stub = Stub {
            addr: listener.local_addr().unwrap(),
            accepted: Arc::default(),
            requests: Arc::default(),
        };
        let (accepted, requests) = (Arc::clone(&stub.accepted), Arc::clone(&stub.requests));
        let behave = Arc::new(behave);
        spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                let peer = Peer::of(stream, &requests);
                let behave = Arc::clone(&behave);
                spawn(move || behave(peer));
            }
        });
        stub
    }

    /// Responds to every request on every connection with the same bytes.
    pub(crate) fn responding(response: impl Into<Vec<u8>>) -> Stub {
        let response = response.into();
        Stub::start(move |mut peer| while peer.respond(&response) {})
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// The requests received so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl<S> Peer<S> {
    /// The end of a connection whose requests are recorded.
    pub(crate) fn of(stream: S, requests: &Arc<Mutex<Vec<String>>>) -> Peer<S> {
        let (requests, until) = (Arc::clone(requests), Instant::now() + PATIENCE);
        Peer { stream, requests, until, id: String::new() }
    }
}

impl<S: Read + Write> Peer<S> {
    /// Wraps the stream of this connection, for example in TLS.
    pub(crate) fn through<T>(self, wrap: impl FnOnce(S) -> T) -> Peer<T> {
        let Peer { requests, until, id, .. } = self;
        Peer { stream: wrap(self.stream), requests, until, id }
    }

    /// The next request, head and body. `None` once the client has closed the connection.
    pub(crate) fn request(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !is_whole(&bytes) {
            match self.stream.read(&mut byte) {
                Ok(1) => bytes.push(byte[0]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return None,
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        self.requests.lock().unwrap().push(text.clone());
        let id = text.lines().find(|line| line.starts_with("seconder-request-id: "));
        self.id = id.map(|id| format!("{id}\r\n")).unwrap_or_default();
        Some(text)
    }

    /// Receives a request, and sends this response as a service of Seconder does, which names the request.
    /// Returns false if the client has closed the connection or [`PATIENCE`] is over.
    pub(crate) fn respond(&mut self, response: &[u8]) -> bool {
        self.request().is_some() && self.send(&self.named(response))
    }

    /// This response, with the id of the last request.
    pub(crate) fn named(&self, response: &[u8]) -> Vec<u8> {
        let line = response.windows(2).position(|end| end == b"\r\n").map_or(0, |at| at + 2);
        [&response[..line], self.id.as_bytes(), &response[line..]].concat()
    }

    /// Sends bytes. Returns false if the client has closed the connection or [`PATIENCE`] is over.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        sent.is_ok() && Instant::now() < self.until
    }

    /// Sends the same bytes repeatedly, with a pause after each time.
    pub(crate) fn drip(&mut self, bytes: &[u8], pause: Duration) {
        while self.send(bytes) {
            std::thread::sleep(pause);
        }
    }

    /// Sends nothing until the client closes the connection.
    pub(crate) fn stay_silent(&mut self) {
        let mut buffer = [0; 4096];
        while Instant::now() < self.until && self.stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
    }
}

/// A response with a body of known length; the headers end in CRLF each.
pub(crate) fn response(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The result of a call that must end by this time, or [`LATE`] after it.
pub(crate) fn in_time<T>(end: Duration, call: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = call();
    let took = started.elapsed();
    assert!(took < end + LATE, "the call took {took:?}");
    result
}

/// Waits until a condition holds that depends on other threads. Returns whether it does.
pub(crate) fn eventually(what: impl Fn() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while !what() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    what()
}

/// A canceller that counts how often calls look at it: a call that waits does so every 50 ms.
#[derive(Default)]
pub(crate) struct Watched {
    canceller: Canceller,
    looks: AtomicUsize,
}

impl Watched {
    /// Cancels the call that is being made, once this holds and the call then waits for something else.
    pub(crate) fn cancel_after(&self, what: impl Fn() -> bool) {
        assert!(eventually(what), "the call never came to what it is cancelled after");
        // During the first of these looks, the call may not have noticed yet.
        let enough = self.looks.load(Ordering::SeqCst) + 4;
        eventually(|| self.looks.load(Ordering::SeqCst) >= enough);
        self.canceller.cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.canceller.is_cancelled()
    }
}

impl Interrupt for Watched {
    fn interrupted(&self) -> bool {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.is_cancelled()
    }
}

/// An address that refuses connections. Its port stays reserved while the socket is kept.
pub(crate) fn closed_port() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

#[allow(clippy::disallowed_methods, reason = "the stub must run beside the client under test")]
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    bytes.len() - end - 4 >= length.map_or(0, |length| length.parse().unwrap())
}
