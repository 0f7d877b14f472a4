//! Callbacks: what a service posts when a user answered an approval request (interface 5.5 and 6).
//!
//! Nothing of a callback is to be believed before its signature held, so [`verify`] alone gives an
//! [`Event`].

use crate::calls::{ApprovalStatus, Device};
use crate::model::{ApprovalId, Secret, UserId};
use crate::{Error, Result};
use serde_json::{Map, Value};

/// A callback as it was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The callback URL as it is configured with the service: scheme included, no parameters.
    /// Never take it from the request's `Host`.
    pub url: &'a str,
    /// The request's method: `POST` or `GET`.
    pub method: &'a str,
    /// The raw query of a GET, without the `?`; for a POST, empty.
    pub query: &'a str,
    /// The raw body of a POST, JSON or form; for a GET, empty.
    pub body: &'a [u8],
    /// The header `X-Svc-Signature`; empty when it was missing.
    pub signature: &'a str,
    /// The header `X-Svc-Signature-Nonce`; empty when it was missing.
    pub nonce: &'a str,
}

/// An answer to an approval request, told by the service itself.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The approval request.
    pub uuid: ApprovalId,
    /// How the user answered.
    pub status: ApprovalStatus,
    /// The user who answered, where the service tells. Compare it with the user who logs in.
    pub svc_id: Option<UserId>,
    /// The device that answered, where the service tells.
    pub device: Option<Device>,
    /// Everything that was received.
    pub parameters: Map<String, Value>,
}

/// Checks a callback's signature and reads it.
///
/// # Errors
/// [`Error::Forged`] with the reason.
pub fn verify(_api_key: &Secret, _received: &Received<'_>) -> Result<Event> {
    Err(Error::Forged { message: "not here yet".into() })
}
