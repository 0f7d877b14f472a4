//! Requests as they are sent.
//!
//! The HTTP library logs every byte that it writes when its user wants the level `trace`, and the
//! API key and codes are among them. So it is given an empty envelope to send, and where that
//! meets the connection, this puts the letter in its place. It also wipes the letter afterwards.

use crate::model::Secret;
use crate::{Error, Result};
use std::cell::Cell;
use std::fmt;
use std::time::Instant;
use ureq::http::{HeaderName, Request, Uri};
use ureq::unversioned::transport::time::Duration;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};
use zeroize::{Zeroize, Zeroizing};

const USER_AGENT: &str = concat!("seconder/", env!("CARGO_PKG_VERSION"));
/// As many bytes as the head of most requests has, apart from its path.
const HEAD: usize = 512;

thread_local! {
    /// What this thread is about to send. A call does all its work on one thread.
    static LETTER: Cell<Option<Zeroizing<Vec<u8>>>> = const { Cell::new(None) };
}

/// A request, which is what the service gets, and its envelope.
pub(super) struct Letter {
    bytes: Zeroizing<Vec<u8>>,
    envelope: Uri,
}

/// Holds a letter ready for as long as it lives.
pub(super) struct Ready;

impl Letter {
    /// A letter to the host of a URL, which asks for this path and query.
    pub(super) fn new(method: &str, origin: &Uri, target: &str) -> Result<Letter> {
        let (Some(scheme), Some(host)) = (origin.scheme(), origin.authority()) else {
            return Err(unsendable());
        };
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unsendable());
        }
        let envelope = Uri::builder().scheme(scheme.clone()).authority(host.clone());
        let envelope = envelope.path_and_query("/").build().map_err(|_| unsendable())?;
        let bytes = Zeroizing::new(Vec::with_capacity(HEAD + target.len()));
        let mut letter = Letter { bytes, envelope };
        letter.add(&[method, " ", target, " HTTP/1.1\r\nhost: ", host.as_str(), "\r\n"]);
        letter.add(&["user-agent: ", USER_AGENT, "\r\n"]);
        Ok(letter)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Result<Letter> {
        let plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if !plain || HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(unsendable());
        }
        self.add(&[name, ": ", value, "\r\n"]);
        Ok(self)
    }

    pub(super) fn secret(self, name: &str, value: &Secret) -> Result<Letter> {
        self.header(name, value.expose())
    }

    /// The letter without a body, or with one of this media type.
    pub(super) fn end(mut self, body: Option<(&str, &[u8])>) -> Result<Letter> {
        if let Some((media_type, body)) = body {
            let length = body.len().to_string();
            self = self.header("content-type", media_type)?.header("content-length", &length)?;
            self.add(&["\r\n"]);
            self.append(body);
        } else {
            self.add(&["\r\n"]);
        }
        Ok(self)
    }

    /// Lays the letter out for this thread to send, and gives its envelope.
    pub(super) fn lay_out(self) -> Result<(Ready, Request<()>)> {
        let envelope = Request::get(self.envelope).body(()).map_err(|_| unsendable())?;
        LETTER.set(Some(self.bytes));
        Ok((Ready, envelope))
    }

    fn add(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.append(text.as_bytes()));
    }

    /// What is outgrown is wiped.
    fn append(&mut self, more: &[u8]) {
        let length = self.bytes.len() + more.len();
        if length > self.bytes.capacity() {
            let mut larger = Vec::with_capacity(2 * length);
            larger.extend_from_slice(&self.bytes);
            self.bytes = Zeroizing::new(larger);
        }
        self.bytes.extend_from_slice(more);
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        LETTER.take();
    }
}

fn unsendable() -> Error {
    Error::Internal { message: "a request could not be put together".into() }
}

/// Connections that send letters for envelopes.
pub(super) struct Sender;

impl<In: Transport> Connector<In> for Sender {
    type Out = Sending<In>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> std::result::Result<Option<Sending<In>>, ureq::Error> {
        Ok(chained.map(|connection| Sending { connection, just_read: false }))
    }
}

pub(super) struct Sending<T> {
    connection: T,
    just_read: bool,
}

impl<T: Transport> Transport for Sending<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.connection.buffers()
    }

    /// A letter is sent once: what comes of the envelope after it is dropped.
    fn transmit_output(
        &mut self,
        _: usize,
        timeout: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        let letter = LETTER.take().unwrap_or_default();
        let started = Instant::now();
        let mut rest = letter.as_slice();
        while !rest.is_empty() {
            let mut left = timeout;
            if let Duration::Exact(after) = timeout.after {
                let after = after.checked_sub(started.elapsed());
                left.after = after.ok_or(ureq::Error::Timeout(timeout.reason))?.into();
            }
            let output = self.connection.buffers().output();
            let (now, later) = rest.split_at(rest.len().min(output.len()));
            output[..now.len()].copy_from_slice(now);
            let sent = self.connection.transmit_output(now.len(), left);
            self.connection.buffers().output()[..now.len()].zeroize();
            sent?;
            rest = later;
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        self.just_read = true;
        self.connection.await_input(timeout)
    }

    /// The HTTP library asks when a connection is put aside and again when it is taken up. The second
    /// answer says all that the first does, at three calls of the system each.
    fn is_open(&mut self) -> bool {
        std::mem::take(&mut self.just_read) || self.connection.is_open()
    }

    fn is_tls(&self) -> bool {
        self.connection.is_tls()
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl<T> fmt::Debug for Sending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sending")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter::new("POST", &"https://a:8443".parse().unwrap(), "/b?c=d").unwrap()
    }

    #[test]
    fn a_letter_is_a_request_and_its_envelope_says_nothing() {
        let letter = letter().header("accept", "text/plain").unwrap();
        let letter = letter.secret("X-Key", &Secret::new("key")).unwrap();
        let letter = letter.end(Some(("text/plain", b"body"))).unwrap();
        let text = String::from_utf8(letter.bytes.to_vec()).unwrap();
        let agent = format!("user-agent: {USER_AGENT}\r\n");
        assert_eq!(
            text,
            format!(
                "POST /b?c=d HTTP/1.1\r\nhost: a:8443\r\n{agent}accept: text/plain\r\nX-Key: key\r\n\
                 content-type: text/plain\r\ncontent-length: 4\r\n\r\nbody"
            )
        );
        let (ready, envelope) = letter.lay_out().unwrap();
        assert_eq!(envelope.uri().to_string(), "https://a:8443/");
        assert!(envelope.headers().is_empty());
        drop(ready);
        assert!(LETTER.take().is_none());
    }

    #[test]
    fn a_letter_grows() {
        let long = "x".repeat(3 * HEAD);
        let letter = letter().header("long", &long).unwrap().end(None).unwrap();
        let text = String::from_utf8(letter.bytes.to_vec()).unwrap();
        assert!(text.starts_with("POST /b?c=d ") && text.ends_with(&format!("{long}\r\n\r\n")));
    }

    #[test]
    fn a_target_cannot_end_before_its_line_does() {
        let origin = "https://a".parse().unwrap();
        for target in ["", "a", "/a b", "/a\r\nb", "/\u{e9}", "https://b/"] {
            assert!(Letter::new("GET", &origin, target).is_err(), "{target}");
        }
    }

    #[test]
    fn a_header_cannot_end_before_its_line_does() {
        for (name, value) in
            [("X\r\nY", "a"), ("", "a"), ("X", "a\r\nY: b"), ("X", "\0"), ("X", "é")]
        {
            assert!(letter().header(name, value).is_err(), "{name} {value}");
        }
    }
}
