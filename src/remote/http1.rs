//! HTTP/1.1 on a connection (RFC 9112): sends requests as they are, and reads responses.

use super::error_mapping::Fault;
use super::headers::Headers;
use super::request_id::{Named, RequestId};
use httparse::Status;
use std::io::{ErrorKind, Read, Write};

/// The maximum size of a response's head.
const HEAD: usize = 32 * 1024;
/// The maximum number of its headers.
const HEADERS: usize = 128;
/// The maximum size of a body, which is more than any reply of the interface has.
const BODY: usize = 1024 * 1024;
/// The size of one read, in bytes.
const PART: usize = 16 * 1024;
/// The number of bytes that may be received without progress, which is the head of the response or
/// a part of its body. A service may send any number of interim responses (status 1xx) before the
/// head, and of trailers after a chunked body, and an endless one would keep a login waiting until
/// its deadline.
const NO_PROGRESS: usize = 64 * 1024;

/// A connection that carries one request and its response at a time.
pub(super) struct Connection<S> {
    stream: S,
    /// Bytes that were received and not yet used.
    input: Vec<u8>,
    /// The number of bytes received since the last progress.
    received: usize,
    reusable: bool,
    /// Set if the service closed the connection before it had the whole request.
    cut: bool,
    /// Set if the last response named the request that it belongs to.
    names_requests: bool,
}

/// The head of a response.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Headers,
    /// Set if the service keeps the connection open after the response.
    stays_open: bool,
}

/// The end of a body (RFC 9112, section 6.3).
#[derive(Debug, PartialEq, Eq)]
enum Framing {
    Empty,
    Length(usize),
    Chunked,
    UntilClose,
}

impl Head {
    pub(super) fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status)
    }

    /// Returns whether the connection can be used again, once the body was read.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub(super) fn stays_open(&self) -> bool {
        self.stays_open && !matches!(framing(self), Err(_) | Ok(Framing::UntilClose))
    }
}

impl<S: Read + Write> Connection<S> {
    pub(super) fn new(stream: S) -> Connection<S> {
        Connection {
            stream,
            input: Vec::new(),
            received: 0,
            reusable: true,
            cut: false,
            names_requests: false,
        }
    }

    pub(super) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Returns whether the last response was read to its end, nothing follows it, and the service does not
    /// close the connection.
    pub(super) fn is_reusable(&self) -> bool {
        self.reusable && self.input.is_empty()
    }

    /// Sends a request. If the service has closed the connection already and has sent a reply, the
    /// reply says why, such as that there are too many connections.
    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), Fault> {
        self.received = 0;
        self.reusable = false;
        self.cut = false;
        let sent = self.stream.write_all(request).and_then(|()| self.stream.flush());
        let Err(error) = sent else { return Ok(()) };
        let closed = matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        if closed && matches!(self.fill(), Ok(1..)) {
            self.cut = true;
            return Ok(());
        }
        Err(error.into())
    }

    /// Reads the head of the response, and skips interim ones.
    pub(super) fn head(&mut self) -> Result<Head, Fault> {
        loop {
            match parse(&self.input)? {
                Some((used, _)) if used > HEAD => return Err(too_large()),
                Some((used, head)) => {
                    self.input.drain(..used);
                    match head.status {
                        // It was not asked to switch protocols.
                        101 => return Err(Fault::not_http()),
                        100..200 => {}
                        // No success can be about a request that was not received.
                        ..400 if self.cut => {
                            return Err(Fault::Io(ErrorKind::BrokenPipe.into()));
                        }
                        _ => return Ok(head),
                    }
                }
                None if self.input.len() > HEAD => return Err(too_large()),
                None => self.receive()?,
            }
        }
    }

    /// Reads the head of the response to the request with this id. It need not name the request, unless the
    /// response before it on this connection did.
    pub(super) fn head_for(&mut self, id: &RequestId) -> Result<Head, Fault> {
        let head = self.head()?;
        let named = id.compare(&head.headers);
        let must_be_named = std::mem::replace(&mut self.names_requests, named == Named::This);
        match named {
            Named::This => Ok(head),
            // A proxy responds so in place of a service that it does not reach. It decides nothing about a user.
            Named::Nothing if !must_be_named || head.status >= 500 => Ok(head),
            Named::Nothing => Err(Fault::invalid(
                "it has no Seconder-Request-Id, which the response before it on this connection had",
            )),
            Named::Another => Err(Fault::invalid(
                "it has the Seconder-Request-Id of another request: the service, or a proxy before it, mixes \
                 up responses",
            )),
        }
    }

    /// Returns whether the last response named the request that it belongs to.
    pub(super) fn names_requests(&self) -> bool {
        self.names_requests
    }

    /// Reads the body of the response.
    pub(super) fn body(&mut self, head: &Head) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        let framing = framing(head)?;
        match framing {
            Framing::Empty => {}
            Framing::Length(length) => self.take(length, &mut body)?,
            Framing::Chunked => self.chunks(&mut body)?,
            Framing::UntilClose => loop {
                let length = self.input.len();
                self.take(length, &mut body)?;
                if self.fill()? == 0 {
                    break;
                }
            },
        }
        self.reusable = head.stays_open && framing != Framing::UntilClose && !self.cut;
        Ok(body)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Result<(), Fault> {
        loop {
            let length = match httparse::parse_chunk_size(&self.input) {
                // A line without digits has the length 0 for the parser.
                Ok(Status::Complete((used, length))) if self.input[0].is_ascii_hexdigit() => {
                    self.input.drain(..used);
                    usize::try_from(length).map_err(|_| too_long())?
                }
                Ok(Status::Partial) => {
                    self.receive()?;
                    continue;
                }
                _ => return Err(Fault::not_http()),
            };
            if length == 0 {
                break;
            }
            self.take(length, body)?;
            if self.line()? != 0 {
                return Err(Fault::not_http());
            }
        }
        // The trailers, which end with an empty line.
        while self.line()? != 0 {}
        Ok(())
    }

    /// Skips a line, and returns its length.
    fn line(&mut self) -> Result<usize, Fault> {
        loop {
            if let Some(length) = self.input.windows(2).position(|end| end == b"\r\n") {
                self.input.drain(..length + 2);
                return Ok(length);
            }
            self.receive()?;
        }
    }

    /// Moves this many bytes to the body.
    fn take(&mut self, mut length: usize, body: &mut Vec<u8>) -> Result<(), Fault> {
        if length > BODY - body.len() {
            return Err(too_long());
        }
        while length > 0 {
            if self.input.is_empty() {
                self.receive()?;
            }
            let part = length.min(self.input.len());
            body.extend(self.input.drain(..part));
            self.received = 0;
            length -= part;
        }
        Ok(())
    }

    /// Receives more, which must come.
    fn receive(&mut self) -> Result<(), Fault> {
        match self.fill()? {
            0 => Err(Fault::Io(ErrorKind::UnexpectedEof.into())),
            _ => Ok(()),
        }
    }

    /// Receives the available bytes, at least one. Returns 0 at the end of the connection.
    fn fill(&mut self) -> Result<usize, Fault> {
        if self.received >= NO_PROGRESS {
            return Err(Fault::invalid(format!(
                "it has over {NO_PROGRESS} bytes of interim responses or trailers"
            )));
        }
        let before = self.input.len();
        self.input.resize(before + PART, 0);
        let read = self.stream.read(&mut self.input[before..]);
        self.input.truncate(before + read.as_ref().map_or(0, |read| *read));
        let read = read?;
        self.received += read;
        Ok(read)
    }
}

/// Parses the head of a response, if it is complete, and returns its length.
fn parse(input: &[u8]) -> Result<Option<(usize, Head)>, Fault> {
    let mut lines = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut lines);
    let Status::Complete(used) = response.parse(input).map_err(|_| Fault::not_http())? else {
        return Ok(None);
    };
    let (Some(version), Some(status)) = (response.version, response.code) else {
        return Err(Fault::not_http());
    };
    let mut headers = Headers::default();
    for line in response.headers {
        headers.add(line.name, line.value);
    }
    let mut options = headers
        .all("connection")
        .flat_map(|value| value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii));
    let closes = options.any(|option| option.eq_ignore_ascii_case(b"close"));
    drop(options);
    let stays_open = version == 1 && !closes;
    // A status has three digits, and the first is not 0.
    match status {
        100..1000 => Ok(Some((used, Head { status, headers, stays_open }))),
        _ => Err(Fault::not_http()),
    }
}

fn framing(head: &Head) -> Result<Framing, Fault> {
    let mut codings = head.headers.all("transfer-encoding");
    let mut lengths = head.headers.all("content-length");
    let (coding, length) = (codings.next(), lengths.next());
    if coding.is_some() && length.is_some() {
        // A proxy in between may use the other header, and so see the body end at another place.
        return Err(Fault::invalid(
            "it has both Content-Length and Transfer-Encoding, so it is not HTTP/1.1",
        ));
    }
    if head.status == 204 {
        return Ok(Framing::Empty);
    }
    if let Some(coding) = coding {
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        return match chunked && codings.next().is_none() {
            true => Ok(Framing::Chunked),
            false => Err(Fault::not_http()),
        };
    }
    let Some(length) = length else { return Ok(Framing::UntilClose) };
    let digits = std::str::from_utf8(length).ok();
    let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse::<u64>().ok());
    let number = number.filter(|_| lengths.all(|other| other == length));
    let number = number.ok_or_else(Fault::not_http)?;
    Ok(Framing::Length(usize::try_from(number).unwrap_or(usize::MAX)))
}

fn too_large() -> Fault {
    Fault::invalid("the headers are too large")
}

fn too_long() -> Fault {
    Fault::invalid(format!("the body has over {BODY} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// A peer that sends these parts, one with each read, and then closes the connection.
    struct Parts(Vec<Vec<u8>>);

    impl Read for Parts {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let part = self.0.remove(0);
            buffer[..part.len()].copy_from_slice(&part);
            Ok(part.len())
        }
    }

    impl Write for Parts {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the body of a response, received whole and byte by byte, and whether the connection
    /// can be reused.
    fn body(response: &str) -> Option<(String, bool)> {
        let whole = vec![response.as_bytes().to_vec()];
        let bytes = response.bytes().map(|byte| vec![byte]).collect();
        let mut results = [whole, bytes].map(|parts| {
            let mut connection = Connection::new(Parts(parts));
            connection.send(b"GET").ok()?;
            assert!(!connection.is_reusable());
            let head = connection.head().ok()?;
            let body = connection.body(&head).ok()?;
            Some((String::from_utf8(body).unwrap(), connection.is_reusable()))
        });
        assert_eq!(results[0], results[1], "{response}");
        results[0].take()
    }

    fn is(response: &str, wanted: &str, reusable: bool) {
        assert_eq!(body(response), Some((wanted.to_owned(), reusable)), "{response}");
    }

    #[test]
    fn a_body_ends_where_its_framing_says() {
        is("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", true);
        is("HTTP/1.1 200\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", "ok", true);
        is("HTTP/1.1 204 X\r\nContent-Length: 2\r\n\r\n", "", true);
        is("HTTP/1.1 200 X\r\n\r\nuntil close", "until close", false);
        is("HTTP/1.0 200 X\r\nContent-Length: 2\r\n\r\nok", "ok", false);
        is("HTTP/1.1 200 X\r\nConnection: x, CLOSE\r\nContent-Length: 2\r\n\r\nok", "ok", false);
        is("HTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\n.", ".", true);
        let head = "HTTP/1.1 200 X\r\nTransfer-Encoding: Chunked\r\n\r\n";
        is(&format!("{head}2\r\nok\r\n1;x=y\r\n!\r\n000\r\nA: b\r\n\r\n"), "ok!", true);
    }

    #[test]
    fn a_connection_with_more_than_a_response_is_not_reused() {
        let more = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!".to_vec();
        let mut connection = Connection::new(Parts(vec![more]));
        connection.send(b"GET").unwrap();
        let head = connection.head().unwrap();
        assert_eq!(connection.body(&head).unwrap(), b"ok");
        assert!(!connection.is_reusable());
    }

    /// A peer that has closed the connection, after it sent this.
    struct Closed(Parts);

    impl Read for Closed {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_service_that_closes_early_says_why() {
        let connection =
            |text: &str| Connection::new(Closed(Parts(vec![text.as_bytes().to_vec()])));
        let mut busy = connection("HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\nok");
        busy.send(b"GET").unwrap();
        let head = busy.head().unwrap();
        assert_eq!((head.status, busy.body(&head).unwrap().as_slice()), (503, &b"ok"[..]));
        assert!(!busy.is_reusable());
        // A success cannot be about this request.
        let mut right = connection("HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok");
        right.send(b"GET").unwrap();
        assert!(right.head().is_err());
        assert!(Connection::new(Closed(Parts(Vec::new()))).send(b"GET").is_err());
    }

    #[test]
    fn other_framings_are_rejected() {
        for headers in [
            "Content-Length: 2\r\nContent-Length: 3",
            "Content-Length: 2, 2",
            "Content-Length: +2",
            "Content-Length:",
            "Content-Length: 18446744073709551616",
            "Content-Length: 1048577",
            "Content-Length: 2\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: identity",
        ] {
            assert_eq!(body(&format!("HTTP/1.1 200 X\r\n{headers}\r\n\r\nok")), None, "{headers}");
        }
        for chunks in [
            "\r\n\r\n",
            ";\r\n\r\n",
            "2\r\nok!\r\n0\r\n\r\n",
            "-1\r\n",
            "2\nok\n0\n\n",
            "2\r\nok\r\n0\r\n",
        ] {
            let head = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n";
            assert_eq!(body(&format!("{head}{chunks}")), None, "{chunks}");
        }
        assert_eq!(body("HTTP/1.1 101 X\r\n\r\n"), None);
        assert_eq!(body("HTTP/1.1 099 X\r\n\r\n"), None);
    }
}
