//! Raw requests, as they are sent. They hold the API key and codes, so they are wiped afterwards.

use super::headers::is_name;
use crate::model::Secret;
#[cfg(feature = "https")]
use crate::wire::OPERATOR_APP;
use crate::{Error, Result};
use zeroize::Zeroizing;

const USER_AGENT: &str = concat!("seconder/", env!("CARGO_PKG_VERSION"));
/// The initial capacity for the head of a request without its path, which suffices for most.
const HEAD: usize = 512;

/// The bytes that are sent to the service.
pub(super) struct RawRequest(Zeroizing<Vec<u8>>);

impl RawRequest {
    /// Creates a request to this host, with this path and query.
    pub(super) fn new(method: &str, host: &str, target: &str) -> Result<RawRequest> {
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unsendable());
        }
        let mut request = RawRequest(Zeroizing::new(Vec::with_capacity(HEAD + target.len())));
        request.add(&[method, " ", target, " HTTP/1.1\r\nhost: ", host, "\r\n"]);
        request.add(&["user-agent: ", USER_AGENT, "\r\n"]);
        Ok(request)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Result<RawRequest> {
        let plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if !plain || !is_name(name) {
            return Err(unsendable());
        }
        self.add(&[name, ": ", value, "\r\n"]);
        Ok(self)
    }

    pub(super) fn secret(self, name: &str, value: &Secret) -> Result<RawRequest> {
        self.header(name, value.expose())
    }

    /// Adds the token of an operator (RFC 6750), and the application that the request is about.
    #[cfg(feature = "https")]
    pub(super) fn operator(self, token: &Secret, app: Option<i64>) -> Result<RawRequest> {
        let value = Zeroizing::new(["Bearer ", token.expose()].concat());
        let request = self.header("authorization", &value)?;
        match app {
            Some(app) => request.header(OPERATOR_APP, &app.to_string()),
            None => Ok(request),
        }
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

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn add(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.append(text.as_bytes()));
    }

    /// Appends bytes. If the buffer must grow, the old one is wiped, which `Vec` would not do.
    fn append(&mut self, more: &[u8]) {
        let length = self.0.len() + more.len();
        if length > self.0.capacity() {
            let mut larger = Vec::with_capacity(2 * length);
            larger.extend_from_slice(&self.0);
            self.0 = Zeroizing::new(larger);
        }
        self.0.extend_from_slice(more);
    }
}

pub(super) fn unsendable() -> Error {
    Error::Internal { message: "a request could not be assembled".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> RawRequest {
        RawRequest::new("POST", "a:8443", "/b?c=d").unwrap()
    }

    #[test]
    fn a_request_is_sent_as_it_was_assembled() {
        let request = request().header("accept", "text/plain").unwrap();
        let request = request.secret("X-Key", &Secret::new("key")).unwrap();
        let request = request.end(Some(("text/plain", b"body"))).unwrap();
        let text = String::from_utf8(request.bytes().to_vec()).unwrap();
        let agent = format!("user-agent: {USER_AGENT}\r\n");
        assert_eq!(
            text,
            format!(
                "POST /b?c=d HTTP/1.1\r\nhost: a:8443\r\n{agent}accept: text/plain\r\n\
                 X-Key: key\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nbody"
            )
        );
    }

    #[test]
    fn a_request_grows_with_its_headers() {
        let long = "x".repeat(3 * HEAD);
        let request = request().header("long", &long).unwrap().end(None).unwrap();
        let text = String::from_utf8(request.bytes().to_vec()).unwrap();
        assert!(text.starts_with("POST /b?c=d ") && text.ends_with(&format!("{long}\r\n\r\n")));
    }

    #[test]
    fn a_target_cannot_inject_headers() {
        for target in ["", "a", "/a b", "/a\r\nb", "/\u{e9}", "https://b/"] {
            assert!(RawRequest::new("GET", "a", target).is_err(), "{target}");
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
