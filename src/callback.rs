//! Callbacks: the requests that a service posts when a user has responded to an approval request
//! (interface 5.5 and 6).
//!
//! A callback must not be trusted before its signature is verified, so only [`verify`] and
//! [`Verifier`] return an [`Event`]. Neither reads a clock: the caller provides the time if
//! freshness is to be checked.
//!
//! A service signs the parameters of a nested body as Rails writes them, which differs between
//! versions. Accepted are the fields of an object in a list in the order of the document (Rails since
//! 5.2.1) and sorted (before), and empty objects and lists that are omitted, or that leave a `&`
//! behind. These differ only in the order of the pairs and in what stands between them, so no two
//! bodies with the same signature differ in a field that decides. [`sign`] omits what is empty, and
//! sorts; the callbacks of the engine have the same text in every spelling.
//!
//! ```
//! use seconder::callback::{Received, Verifier, replay, sign};
//! use seconder::model::ApiKey;
//! use std::time::Duration;
//!
//! let key: ApiKey = "the-application-key".parse()?;
//! let url = "https://app.example/callback";
//! let verifier = Verifier::new(key.clone())
//!     .url(url)
//!     .fresh(Duration::from_secs(300))
//!     .replay(replay::Memory::new(10_000));
//!
//! let body = br#"{"uuid":"3f05a350-4b2c","status":"approved","svc_id":7}"#;
//! let signature = sign(&key, "1700000000.5", url, body)?;
//! let received = Received::post(body, &signature, "1700000000.5");
//! let now = 1_700_000_002;
//! assert!(verifier.verify(&received, now)?.approved_by("7".parse()?));
//! assert!(verifier.verify(&received, now).is_err(), "it was received before");
//! # Ok::<(), seconder::Error>(())
//! ```

mod canonical;
mod event;
mod parameters;
#[cfg(feature = "engine")]
mod regular;
pub mod replay;
mod spelling;
#[cfg(test)]
mod tests;
mod verifier;
mod walk;

pub use event::Event;
#[cfg(feature = "engine")]
pub(crate) use regular::make_regular;
pub use verifier::Verifier;

use crate::model::ApiKey;
use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};

/// A callback as it was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The callback URL as configured with the service, including the scheme. Never take it from
    /// the request's `Host`. It may be empty if the [`Verifier`] was given the URL.
    pub url: &'a str,
    /// The request's method: `POST` or `GET`.
    pub method: &'a str,
    /// The raw query of a GET, without the `?`. The query of a POST is not signed, and is ignored.
    pub query: &'a str,
    /// The raw body of a POST, JSON or form. The body of a GET is not signed, and is ignored.
    pub body: &'a [u8],
    /// The header `X-Svc-Signature`; empty if it was missing.
    pub signature: &'a str,
    /// The header `X-Svc-Signature-Nonce`; empty if it was missing.
    pub nonce: &'a str,
}

impl<'a> Received<'a> {
    /// Creates a POST with its body, for a [`Verifier`] that was given the URL.
    pub fn post(body: &'a [u8], signature: &'a str, nonce: &'a str) -> Received<'a> {
        Received { url: "", method: "POST", query: "", body, signature, nonce }
    }

    /// Creates a GET with its query, for a [`Verifier`] that was given the URL.
    pub fn get(query: &'a str, signature: &'a str, nonce: &'a str) -> Received<'a> {
        Received { url: "", method: "GET", query, body: &[], signature, nonce }
    }
}

/// Verifies a callback's signature and parses it. The same callback can be received twice: store
/// the `uuid` of each request that was acted upon, or use a [`Verifier`] with a freshness window
/// and replay protection.
///
/// # Errors
/// [`Error::InvalidCallback`] with the reason; [`Error::InvalidArgument`] if the key or the URL is
/// invalid.
pub fn verify(api_key: &ApiKey, received: &Received<'_>) -> Result<Event> {
    Verifier::new(api_key.clone()).verify(received, 0)
}

/// Verifies a callback's signature but not the meaning of its parameters, and returns the
/// parameters that the signature covers.
///
/// # Errors
/// As [`verify`].
pub fn verify_parameters(api_key: &ApiKey, received: &Received<'_>) -> Result<Map<String, Value>> {
    Verifier::new(api_key.clone()).parameters(received)
}

/// Returns the signature of a JSON body that is posted to `url` (interface 5.5).
///
/// # Errors
/// [`Error::InvalidArgument`] if the body is not a JSON object, has a duplicate field, or exceeds
/// the limits of a callback, for example with a number too large for a double, and for a nonce or a
/// URL that cannot be signed.
pub fn sign(api_key: &ApiKey, nonce: &str, url: &str, body: &[u8]) -> Result<String> {
    signed(api_key, nonce, "POST", url, &query(body)?)
}

/// Returns the signature of a query that is sent to `url` by GET (interface 5.5). [`query`]
/// converts a JSON body to a query.
///
/// # Errors
/// As [`sign`], and for a query that is not percent-encoded UTF-8 or has over 1000 parameters.
pub fn sign_query(api_key: &ApiKey, nonce: &str, url: &str, query: &str) -> Result<String> {
    let params = canonical::of_form(query).map_err(|error| unsignable("query", error))?;
    signed(api_key, nonce, "GET", url, &params)
}

/// Converts the parameters of a JSON body to a query, sorted and encoded as they are signed.
///
/// # Errors
/// [`Error::InvalidArgument`] as for [`sign`].
pub fn query(body: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Error::invalid_argument("body", "cannot be signed: it is not UTF-8"))?;
    let flat = canonical::of_json(text).map_err(|error| unsignable("body", error))?;
    Ok(flat.pairs)
}

/// Converts the error for a body that this program itself signs, which is not a received callback.
fn unsignable(parameter: &'static str, error: Error) -> Error {
    match error {
        Error::InvalidCallback { message } => {
            Error::invalid_argument(parameter, format!("cannot be signed: {message}"))
        }
        // The parser of queries does not know which argument it reads.
        Error::InvalidArgument { reason, .. } => Error::invalid_argument(parameter, reason),
        other => other,
    }
}

fn signed(key: &ApiKey, nonce: &str, method: &str, url: &str, params: &str) -> Result<String> {
    if nonce.is_empty() || nonce.contains('|') {
        return Err(Error::invalid_argument("nonce", "must not be empty or contain |"));
    }
    Ok(signature_of(key, nonce, method, bare(url)?, params))
}

/// Returns the URL without its parameters (interface 5.5, step 1).
///
/// `|` separates the signed parts, so a URL or a nonce with one could be taken for other parts.
fn bare(url: &str) -> Result<&str> {
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    if bare.is_empty() || bare.contains('|') {
        return Err(Error::invalid_argument("url", "must not be empty or contain |"));
    }
    Ok(bare)
}

fn signature_of(key: &ApiKey, nonce: &str, method: &str, url: &str, params: &str) -> String {
    // HMAC accepts a key of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(key.expose().as_bytes()) else {
        return String::new();
    };
    for part in [nonce, "|", method, "|", url, "|", params] {
        mac.update(part.as_bytes());
    }
    STANDARD.encode(mac.finalize().into_bytes())
}

fn invalid_callback(message: impl Into<String>) -> Error {
    Error::InvalidCallback { message: message.into() }
}

fn unsigned() -> Error {
    invalid_callback("the signature does not match this URL, method and parameters")
}

fn unreadable(_: Error) -> Error {
    invalid_callback("its parameters could not be parsed")
}
