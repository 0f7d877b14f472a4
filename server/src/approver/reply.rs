//! Replies to devices.

use axum::http::StatusCode;

pub(super) const JSON: &str = "application/json; charset=utf-8";

/// A reply that is not an error.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) media_type: String,
    pub(super) body: Vec<u8>,
    /// The tag by which a device shows that it has the same content already.
    pub(super) tag: Option<String>,
}
