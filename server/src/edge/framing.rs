//! Boundaries of HTTP/1 requests. A proxy in front of the service may find other boundaries, where a request leaves
//! them open, and could then be made to pass on a second request in the body of a first. So a request that can be read
//! in two ways is rejected, although servers may accept some of them (RFC 9112, 2.2, 3.2.2, 6.1 and 11.2).

use axum::http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Version};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The number of bytes of a line that are kept: enough for a header with the length of the body.
const LONGEST: usize = 128;

/// Returns the error in the head of a request, if its host or its length can be read in two ways.
pub(crate) fn ambiguity(head: &Parts) -> Option<&'static str> {
    if !names_its_host(head) {
        return Some("The request must name one host, in one header Host.\n");
    }
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    (!codings.all(is_chunked)).then_some("The only Transfer-Encoding is chunked.\n")
}

/// Returns whether the connection ends with the response to a request with this head: [`Framing`] does not follow
/// chunks, so it does not know where the next request begins.
pub(crate) fn is_last(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
}

/// Returns whether a request says which host it is for (RFC 9112, 3.2; RFC 9113, 8.3.1).
fn names_its_host(head: &Parts) -> bool {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (host, is_one) = (hosts.next(), hosts.next().is_none());
    match (host, head.uri.authority()) {
        (None, None) => head.version < Version::HTTP_11,
        (None, Some(_)) => head.version != Version::HTTP_11,
        (Some(_), None) => is_one,
        (Some(host), Some(authority)) => {
            is_one && host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes())
        }
    }
}

/// A connection with the checks that hyper lacks: that all lines of a head end with CR and LF, and that one header says
/// how long the body is. In place of a LF after which that is not so, a NUL is passed on, which no head may have, and
/// then the end of the head, for which hyper waits: it responds with 400 and closes the connection.
pub(crate) struct Framing<S> {
    stream: S,
    lines: Lines,
    /// The bytes that are passed on next.
    end: &'static [u8],
    /// Called when a request is rejected that never reaches the handlers of requests.
    rejected: Box<dyn Fn() + Send + Sync>,
}

impl<S> Framing<S> {
    pub(crate) fn new(stream: S, rejected: impl Fn() + Send + Sync + 'static) -> Framing<S> {
        Framing { stream, lines: Lines::default(), end: b"", rejected: Box::new(rejected) }
    }
}

/// The lines of a connection that were read so far.
#[derive(Debug, Default)]
struct Lines {
    part: Part,
    /// The beginning of the current line of the head.
    line: Vec<u8>,
    /// Set if the line is longer.
    is_cut: bool,
    /// Its last byte.
    last: u8,
    /// The framing of the body of the current request, once its request line was read.
    body: Option<Body>,
}

/// The framing of the body, as far as it is known from the head.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Body {
    Unsaid,
    Length(u64),
    Chunked,
}

#[derive(Clone, Copy, Debug, Default)]
enum Part {
    #[default]
    Head,
    /// The body, with the number of bytes that are to come.
    Body(u64),
    /// Bytes that are no head: frames of HTTP/2, or bytes after the last request.
    Rest,
}

impl Lines {
    /// Follows the bytes that were read. Returns whether it is as it has to be, and otherwise has put a NUL into it.
    fn read(&mut self, mut bytes: &mut [u8]) -> bool {
        while !bytes.is_empty() {
            let passed = match self.part {
                Part::Head => match bytes.iter().position(|byte| *byte == b'\n') {
                    None => {
                        self.keep(bytes);
                        bytes.len()
                    }
                    Some(end) => {
                        self.keep(&bytes[..end]);
                        if self.last != b'\r' || !self.end_line() {
                            bytes[end] = 0;
                            self.part = Part::Rest;
                            return false;
                        }
                        end + 1
                    }
                },
                Part::Body(left) => {
                    let passed = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    self.begin(left - passed as u64);
                    passed
                }
                Part::Rest => return true,
            };
            bytes = &mut bytes[passed..];
        }
        true
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.is_cut |= bytes.len() > room;
        self.last = bytes.last().copied().unwrap_or(self.last);
    }

    /// Interprets a line that is complete. Returns whether it is understood.
    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let is_cut = std::mem::take(&mut self.is_cut);
        self.last = 0;
        let Some(body) = self.body else {
            // The preface of HTTP/2 (RFC 9113, 3.4).
            if line.starts_with(b"PRI * HTTP/2.0\r") {
                self.part = Part::Rest;
            } else if line != b"\r" {
                self.body = Some(Body::Unsaid);
            }
            return true;
        };
        if line == b"\r" {
            self.body = None;
            match body {
                Body::Unsaid => self.begin(0),
                Body::Length(length) => self.begin(length),
                Body::Chunked => self.part = Part::Rest,
            }
            return true;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let said = if name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str().as_bytes()) {
            // Hyper would read more of a line that is cut.
            let length = std::str::from_utf8(value.trim_ascii()).ok().filter(|_| !is_cut);
            let Some(length) = length.and_then(|length| length.parse().ok()) else { return false };
            Body::Length(length)
        } else if name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str().as_bytes()) {
            Body::Chunked
        } else {
            return true;
        };
        self.body = Some(said);
        body == Body::Unsaid
    }

    fn begin(&mut self, body: u64) {
        self.part = if body == 0 { Part::Head } else { Part::Body(body) };
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.end.is_empty() {
            let (now, later) = self.end.split_at(self.end.len().min(buffer.remaining()));
            buffer.put_slice(now);
            self.end = later;
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if !self.lines.read(&mut buffer.filled_mut()[before..]) {
            self.end = b"\r\n\r\n";
            (self.rejected)();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Framing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    const HEAD: &str = "GET / HTTP/1.1\r\nHost: a\r\n";

    /// Returns the bytes as they are passed on, when they arrive so many at a time.
    fn passed(text: &str, at_a_time: usize) -> String {
        let mut lines = Lines::default();
        let mut bytes = text.as_bytes().to_vec();
        let rejected =
            bytes.chunks_mut(at_a_time).map(|chunk| lines.read(chunk)).filter(|read| !read).count();
        let passed = String::from_utf8(bytes).unwrap();
        assert_eq!(rejected, usize::from(passed != text), "{passed:?}");
        passed
    }

    #[test]
    fn a_line_of_a_head_ends_with_both_characters_however_it_arrives() {
        let two = format!("{HEAD}X: 1\n\r\n");
        let first = two.replacen("\r\n", "\n", 1);
        let empty = format!("{HEAD}\n");
        let second = format!("{HEAD}content-Length: 3 \r\n\r\na\nb\r\n{first}");
        for text in [&two, &first, &empty, &second, "\n", "GET /\n"] {
            for at_a_time in [1, 2, 3, 7, 1000] {
                let passed = passed(text, at_a_time);
                assert_eq!(passed.matches('\0').count(), 1, "{passed:?}");
                assert_eq!(passed.replacen('\0', "\n", 1), *text);
            }
        }
    }

    #[test]
    fn everything_else_is_passed_on_as_it_is() {
        let long = format!("X: {}\r\n", "a".repeat(1000));
        for text in [
            format!("\r\n{HEAD}{long}\r\n{HEAD}\r\n"),
            format!("{HEAD}Content-Length: 5\r\n\r\na\nb\n\n{HEAD}\r\n"),
            format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n1\n\n"),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\n".into(),
        ] {
            for at_a_time in [1, 2, 3, 7, 10_000] {
                assert_eq!(passed(&text, at_a_time), text);
            }
        }
    }

    #[test]
    fn one_header_says_how_long_the_body_is() {
        let (length, chunked) = ("content-length: 5\r\n", "transfer-encoding: chunked\r\n");
        let twice = [(length, length), (length, chunked), (chunked, length), (chunked, chunked)];
        let twice = twice.map(|(first, second)| format!("{HEAD}{first}X: 1\r\n{second}\r\n"));
        let wrong = ["", "a", "-1", "5, 5", "99999999999999999999"]
            .map(|length| format!("{HEAD}Content-Length: {length}\r\n\r\n"));
        let padded = [" ".repeat(112), "0".repeat(113)]
            .map(|padding| format!("{HEAD}Content-Length: {padding}47\r\n\r\n"));
        for text in twice.iter().chain(&wrong).chain(&padded) {
            for at_a_time in [1, 7, 1000] {
                let passed = passed(text, at_a_time);
                assert_eq!(passed.matches('\0').count(), 1, "{passed:?}");
            }
        }
    }
}
