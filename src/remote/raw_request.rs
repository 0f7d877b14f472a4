//! Raw requests, as they are sent.
//!
//! At the level `trace`, the HTTP library logs every byte that it writes, including the API key and
//! codes. It is therefore given a placeholder request, and this module writes the raw request to
//! the connection in its place. It also wipes the raw request afterwards.

use super::progress;
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
/// The initial capacity for the head of a request without its path, which suffices for most.
const HEAD: usize = 512;

thread_local! {
    /// The request that this thread is about to send. A call does all its work on one thread.
    static PENDING: Cell<Option<Zeroizing<Vec<u8>>>> = const { Cell::new(None) };
}

/// The bytes that are sent to the service, and the placeholder for the HTTP library.
pub(super) struct RawRequest {
    bytes: Zeroizing<Vec<u8>>,
    placeholder: Uri,
}

/// Keeps a request staged for this thread for as long as it lives.
pub(super) struct StagedRequest;

impl RawRequest {
    /// A request to the host of a URL, with this path and query.
    pub(super) fn new(method: &str, origin: &Uri, target: &str) -> Result<RawRequest> {
        let (Some(scheme), Some(host)) = (origin.scheme(), origin.authority()) else {
            return Err(unsendable());
        };
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unsendable());
        }
        let placeholder = Uri::builder().scheme(scheme.clone()).authority(host.clone());
        let placeholder = placeholder.path_and_query("/").build().map_err(|_| unsendable())?;
        let bytes = Zeroizing::new(Vec::with_capacity(HEAD + target.len()));
        let mut request = RawRequest { bytes, placeholder };
        request.add(&[method, " ", target, " HTTP/1.1\r\nhost: ", host.as_str(), "\r\n"]);
        request.add(&["user-agent: ", USER_AGENT, "\r\n"]);
        Ok(request)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Result<RawRequest> {
        let plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if !plain || HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(unsendable());
        }
        self.add(&[name, ": ", value, "\r\n"]);
        Ok(self)
    }

    pub(super) fn secret(self, name: &str, value: &Secret) -> Result<RawRequest> {
        self.header(name, value.expose())
    }

    /// Completes the request, without a body or with one of this media type.
    pub(super) fn end(mut self, body: Option<(&str, &[u8])>) -> Result<RawRequest> {
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

    /// Stages the request for this thread to send, and returns its placeholder.
    pub(super) fn stage_for_send(self) -> Result<(StagedRequest, Request<()>)> {
        let placeholder = Request::get(self.placeholder).body(()).map_err(|_| unsendable())?;
        PENDING.set(Some(self.bytes));
        Ok((StagedRequest, placeholder))
    }

    fn add(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.append(text.as_bytes()));
    }

    /// Appends bytes. If the buffer must grow, the old one is wiped, which `Vec` would not do.
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

impl Drop for StagedRequest {
    fn drop(&mut self) {
        PENDING.take();
    }
}

fn unsendable() -> Error {
    Error::Internal { message: "a request could not be assembled".into() }
}

/// Connections that send the staged request in place of its placeholder.
pub(super) struct RawSender;

impl<In: Transport> Connector<In> for RawSender {
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

    /// Sends the raw request once. Anything that is written for the placeholder is discarded.
    fn transmit_output(
        &mut self,
        _: usize,
        timeout: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        let request = PENDING.take().unwrap_or_default();
        progress::begin();
        let started = Instant::now();
        let mut rest = request.as_slice();
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
        progress::check()?;
        let before = self.connection.buffers().input().len();
        let any = self.connection.await_input(timeout)?;
        let now = self.connection.buffers().input().len();
        progress::received(now.saturating_sub(before));
        Ok(any)
    }

    /// The HTTP library checks a connection when it becomes idle and again when it is reused. The
    /// first check adds nothing to the second, and costs three system calls, so it is skipped.
    fn is_open(&mut self) -> bool {
        std::mem::take(&mut self.just_read) || self.connection.is_open()
    }

    fn is_tls(&self) -> bool {
        self.connection.is_tls()
    }
}

impl fmt::Debug for RawSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawSender")
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

    fn request() -> RawRequest {
        RawRequest::new("POST", &"https://a:8443".parse().unwrap(), "/b?c=d").unwrap()
    }

    #[test]
    fn the_placeholder_contains_no_part_of_the_request() {
        let request = request().header("accept", "text/plain").unwrap();
        let request = request.secret("X-Key", &Secret::new("key")).unwrap();
        let request = request.end(Some(("text/plain", b"body"))).unwrap();
        let text = String::from_utf8(request.bytes.to_vec()).unwrap();
        let agent = format!("user-agent: {USER_AGENT}\r\n");
        assert_eq!(
            text,
            format!(
                "POST /b?c=d HTTP/1.1\r\nhost: a:8443\r\n{agent}accept: text/plain\r\n\
                 X-Key: key\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nbody"
            )
        );
        let (staged, placeholder) = request.stage_for_send().unwrap();
        assert_eq!(placeholder.uri().to_string(), "https://a:8443/");
        assert!(placeholder.headers().is_empty());
        drop(staged);
        assert!(PENDING.take().is_none());
    }

    #[test]
    fn a_request_grows_with_its_headers() {
        let long = "x".repeat(3 * HEAD);
        let request = request().header("long", &long).unwrap().end(None).unwrap();
        let text = String::from_utf8(request.bytes.to_vec()).unwrap();
        assert!(text.starts_with("POST /b?c=d ") && text.ends_with(&format!("{long}\r\n\r\n")));
    }

    #[test]
    fn a_target_cannot_inject_headers() {
        let origin = "https://a".parse().unwrap();
        for target in ["", "a", "/a b", "/a\r\nb", "/\u{e9}", "https://b/"] {
            assert!(RawRequest::new("GET", &origin, target).is_err(), "{target}");
        }
    }

    #[test]
    fn a_header_cannot_inject_others() {
        for (name, value) in
            [("X\r\nY", "a"), ("", "a"), ("X", "a\r\nY: b"), ("X", "\0"), ("X", "é")]
        {
            assert!(request().header(name, value).is_err(), "{name} {value}");
        }
    }
}
