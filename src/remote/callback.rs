//! Posts callbacks (interface 6).

use super::deadline::Deadline;
use super::lookup::Lookup;
use super::network::Network;
use super::raw_request::{RawRequest, unsendable};
use super::trust::Trust;
use crate::engine::{Outcome, Post, SignedCallback};
use crate::error::Rejection;
use crate::{Error, Result, Stage};
use http::Uri;
use http::uri::{PathAndQuery, Scheme};
use std::path::Path;
use std::time::Duration;

/// How long an application may take to respond.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The status by which an application says that it wants the callback no more.
const GONE: u16 = 410;

/// Posts callbacks to `https:` URLs, and to `http:` URLs of this machine.
pub(crate) struct Callbacks;

impl Post for Callbacks {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        post(callback, TIMEOUT).map_err(|error| error.to_string())
    }

    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        match post(callback, TIMEOUT) {
            Ok(()) => Outcome::Sent(None),
            Err(Error::Rejected(rejection)) if rejection.status == GONE => {
                Outcome::Permanent(Error::Rejected(rejection).to_string())
            }
            Err(error) => Outcome::Retry { after: None, reason: error.to_string() },
        }
    }
}

/// Posts a callback. A status from 200 to 299 is `Ok`; every other one, including a redirect, is
/// [`Error::Rejected`] with that status, and no response is [`Error::Unavailable`]. The body of the
/// response is not read.
fn post(callback: &SignedCallback, timeout: Duration) -> Result<()> {
    let uri: Uri =
        callback.url.as_str().parse().map_err(|_| Error::Internal {
            message: "a callback URL could not be parsed".into(),
        })?;
    let host = uri.authority().cloned().ok_or_else(unsendable)?;
    let trust = match uri.scheme() == Some(&Scheme::HTTPS) {
        true => trust(callback.ca_file.as_deref())?,
        false => Trust::ThisMachine,
    };
    let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut request = RawRequest::new("POST", host.as_str(), target)?.header("accept", "*/*")?;
    for (name, value) in &callback.headers {
        request = request.header(name, value)?;
    }
    let request = request.end(Some(("application/json", &callback.body)))?;
    let network = Network::new(host.clone(), trust, None, Lookup::new(&[])?);
    let mut connection = network.connect(&network.session(), Deadline::after(timeout)?)?;
    let sent = connection.send(request.bytes()).and_then(|()| connection.head());
    let status = sent.map_err(|fault| fault.at(Stage::Response, host.as_str()))?.status;
    match status {
        200..=299 => Ok(()),
        _ => Err(Error::Rejected(Box::new(Rejection {
            status,
            message: "the callback URL did not accept the callback".into(),
            ..Rejection::default()
        }))),
    }
}

fn trust(ca_file: Option<&Path>) -> Result<Trust> {
    match ca_file {
        Some(file) => {
            Trust::authorities(file).map_err(|error| error.of_parameter("callback_ca_file"))
        }
        None => Trust::system(),
    }
}

/// Rejects a file without authorities before it is stored.
pub(crate) fn check_authorities(parameter: &'static str, file: &Path) -> Result<()> {
    Trust::authorities(file).map(drop).map_err(|error| error.of_parameter(parameter))
}

#[cfg(test)]
mod tests {
    use super::super::loopback::{Loopback, ok, reply};
    use super::*;

    fn posted(url: &str) -> Result<()> {
        let header = |name: &str| (name.to_owned(), "c2ln".to_owned());
        let callback = SignedCallback {
            url: url.parse()?,
            body: br#"{"status":"approved"}"#.to_vec(),
            headers: vec![header("X-Svc-Signature"), header("X-Svc-Signature-Nonce")],
            ca_file: None,
        };
        post(&callback, Duration::from_secs(5))
    }

    #[test]
    fn posts_json_with_the_headers_given() {
        let server = Loopback::start(|_| ok("accepted"));
        posted(&server.url("/callback")).unwrap();
        let request = server.request();
        assert!(request.starts_with("POST /callback HTTP/1.1\r\n"), "{request}");
        assert!(request.to_lowercase().contains("\r\nx-svc-signature: c2ln\r\n"), "{request}");
        assert!(
            request.to_lowercase().contains("\r\ncontent-type: application/json\r\n"),
            "{request}"
        );
        assert!(request.ends_with("\r\n\r\n{\"status\":\"approved\"}"), "{request}");
    }

    #[test]
    fn every_other_status_is_a_rejection() {
        for status in [302, 307, 400, 410, 500] {
            let location = "Location: http://127.0.0.1:1/\r\n";
            let server = Loopback::start(move |_| reply(status, location, ""));
            let error = posted(&server.url("/")).unwrap_err();
            assert!(
                matches!(error, Error::Rejected(rejection) if rejection.status == status),
                "{status}"
            );
        }
    }
}
