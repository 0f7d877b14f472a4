//! A service that responds with canned bytes, for the tests of the client.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A response to write piece by piece, with a pause before each piece.
pub(super) struct Canned {
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) pause: Duration,
}

/// A listener on this machine that responds to one request on each connection.
pub(super) struct Loopback {
    origin: String,
    requests: Receiver<String>,
    closes: Receiver<()>,
}

impl Loopback {
    pub(super) fn start(answer: impl Fn(&str) -> Canned + Send + Sync + 'static) -> Loopback {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        let (closed, closes) = channel();
        #[allow(clippy::disallowed_methods, reason = "a test needs a server")]
        std::thread::spawn(move || {
            std::thread::scope(|scope| {
                for stream in listener.incoming() {
                    let (sender, closed, answer) = (sender.clone(), closed.clone(), &answer);
                    scope.spawn(move || {
                        serve(stream.unwrap(), &sender, answer);
                        let _ = closed.send(());
                    });
                }
            });
        });
        Loopback { origin, requests, closes }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Returns the next request that was received, head and body.
    pub(super) fn request(&self) -> String {
        self.requests.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Waits until the next connection was closed.
    pub(super) fn wait_for_close(&self) {
        self.closes.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    /// Returns whether no request was received.
    pub(super) fn is_untouched(&self) -> bool {
        self.requests.recv_timeout(Duration::from_millis(50)).is_err()
    }
}

/// Creates a complete reply, after which the connection is closed. Each header must end in CRLF.
pub(super) fn reply(status: u16, headers: &str, body: &str) -> Canned {
    let length = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
    let text = format!("HTTP/1.1 {status} X\r\n{headers}{length}\r\n{body}");
    Canned { pieces: vec![text.into_bytes()], pause: Duration::ZERO }
}

pub(super) fn ok(body: &str) -> Canned {
    reply(200, "", body)
}

fn serve(mut stream: TcpStream, sender: &Sender<String>, answer: &impl Fn(&str) -> Canned) {
    let request = read_request(&mut stream);
    let canned = answer(&request);
    let _ = sender.send(request);
    for piece in canned.pieces {
        std::thread::sleep(canned.pause);
        if stream.write_all(&piece).is_err() {
            return;
        }
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
