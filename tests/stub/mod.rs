//! A service on this machine that does as a test tells it, connection by connection.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

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

/// How long a stub goes on with one connection at most, whatever it was told to do.
const PATIENCE: Duration = Duration::from_secs(5);

/// A listener that counts its connections and keeps the requests that came.
pub(crate) struct Stub {
    pub(crate) addr: SocketAddr,
    pub(crate) accepted: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
}

/// One side of a connection, with what has come of it.
pub(crate) struct Peer<S> {
    pub(crate) stream: S,
    asked: Arc<Mutex<Vec<String>>>,
    until: Instant,
}

impl Stub {
    /// Does the same with each connection, each on a thread of its own.
    pub(crate) fn start(behave: impl Fn(Peer<TcpStream>) + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stub = Stub {
            addr: listener.local_addr().unwrap(),
            accepted: Arc::default(),
            asked: Arc::default(),
        };
        let (accepted, asked) = (Arc::clone(&stub.accepted), Arc::clone(&stub.asked));
        let behave = Arc::new(behave);
        spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                stream.set_nodelay(true).unwrap();
                let until = Instant::now() + PATIENCE;
                let peer = Peer { stream, asked: Arc::clone(&asked), until };
                let behave = Arc::clone(&behave);
                spawn(move || behave(peer));
            }
        });
        stub
    }

    /// Answers every request on every connection with the same bytes.
    pub(crate) fn answering(response: impl Into<Vec<u8>>) -> Stub {
        let response = response.into();
        Stub::start(move |mut peer| while peer.request().is_some() && peer.send(&response) {})
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// The requests that have come so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl<S: Read + Write> Peer<S> {
    /// The same connection inside another, such as TLS.
    pub(crate) fn through<T>(self, wrap: impl FnOnce(S) -> T) -> Peer<T> {
        Peer { stream: wrap(self.stream), asked: self.asked, until: self.until }
    }

    /// The next request, head and body; none when the other side has gone.
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
        self.asked.lock().unwrap().push(text.clone());
        Some(text)
    }

    /// Whether all was sent: the other side is still there, and the stub's patience not at its end.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        sent.is_ok() && Instant::now() < self.until
    }

    /// Sends the same bytes over and over, with a pause before each.
    pub(crate) fn drip(&mut self, bytes: &[u8], pause: Duration) {
        while self.send(bytes) {
            std::thread::sleep(pause);
        }
    }

    /// Says nothing until the other side goes.
    pub(crate) fn hush(&mut self) {
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

/// What a call gives that must end within this time. A machine that is busy with other things may be
/// late once or twice, so there are three tries.
pub(crate) fn in_time<T>(limit: Duration, mut call: impl FnMut() -> T) -> T {
    let mut took = Vec::new();
    for _ in 0..3 {
        let started = Instant::now();
        let found = call();
        took.push(started.elapsed());
        if took.last() < Some(&limit) {
            return found;
        }
    }
    panic!("the calls took {took:?}");
}

/// Whether something comes true, which other threads must come round to.
pub(crate) fn soon(what: impl Fn() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while !what() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    what()
}

/// An address where nobody listens, nor can anybody while the socket is kept.
pub(crate) fn nobody() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

#[allow(clippy::disallowed_methods, reason = "a test needs somebody to talk to")]
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    bytes.len() - end - 4 >= length.map_or(0, |length| length.parse().unwrap())
}
