//! The providers of the benchmark: by HTTP, and by SMPP. They accept each message and do nothing else, so
//! that they add as little as possible to the figures.
//!
//! `/send` accepts a message, and `/hang` never replies. `/wait/COUNT` replies once so many messages were
//! accepted, by either provider, since `/begin`.

use super::Failure;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

const BODY: &str = r#"{"id":"message-1"}"#;
/// The commands of SMPP that a response has 0x8000_0000 added to.
const SUBMIT_SM: u32 = 0x04;
const RESPONSE: u32 = 0x8000_0000;

#[derive(Default)]
struct Accepted {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Accepted {
    fn one(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn begin(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) = 0;
    }

    fn wait(&self, count: usize) {
        let accepted = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(accepted, |accepted| *accepted < count));
    }
}

pub(super) fn run() -> Result<(), Failure> {
    let accepted = Arc::new(Accepted::default());
    let http = listen(&accepted, by_http)?;
    let smpp = listen(&accepted, by_smpp)?;
    writeln!(std::io::stdout(), "{http} {smpp}")?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

type Serve = fn(TcpStream, &Accepted) -> std::io::Result<()>;

fn listen(accepted: &Arc<Accepted>, serve: Serve) -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let accepted = Arc::clone(accepted);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let accepted = Arc::clone(&accepted);
            thread::spawn(move || stream.set_nodelay(true).and_then(|()| serve(stream, &accepted)));
        }
    });
    Ok(port)
}

fn by_http(mut stream: TcpStream, accepted: &Accepted) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        match path.strip_prefix("/wait/") {
            Some(count) => accepted.wait(count.parse().unwrap_or(0)),
            None if path == "/begin" => accepted.begin(),
            // Until the client gives up.
            None if path == "/hang" => return reader.read(&mut [0]).map(drop),
            None => accepted.one(),
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", BODY.len());
        stream.write_all((head + BODY).as_bytes())?;
    }
}

fn by_smpp(mut stream: TcpStream, accepted: &Accepted) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = [0; 16];
        if reader.read_exact(&mut head).is_err() {
            return Ok(());
        }
        let field =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, command, sequence) = (field(0), field(4), field(12));
        reader.read_exact(&mut vec![0; length as usize - head.len()])?;
        if command == SUBMIT_SM {
            accepted.one();
        }
        // The name of the SMSC, or the id of the message.
        let body = b"1\0";
        let length = (head.len() + body.len()) as u32;
        let fields = [length, command | RESPONSE, 0, sequence];
        let mut response: Vec<u8> = fields.iter().flat_map(|field| field.to_be_bytes()).collect();
        response.extend_from_slice(body);
        stream.write_all(&response)?;
    }
}

/// The providers, as somebody sees them who waits for the messages.
pub(super) struct Counted(String);

impl Counted {
    pub(super) fn at(port: &str) -> Result<Counted, Failure> {
        Ok(Counted(format!("127.0.0.1:{}", port.parse::<u16>()?)))
    }

    pub(super) fn begin(&self) -> std::io::Result<()> {
        self.ask("begin")
    }

    /// Waits until so many messages were accepted.
    pub(super) fn wait(&self, count: usize) -> std::io::Result<()> {
        self.ask(&format!("wait/{count}"))
    }

    fn ask(&self, path: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(&self.0)?;
        write!(stream, "GET /{path} HTTP/1.1\r\n\r\n")?;
        stream.read_exact(&mut [0])
    }
}
