//! What crosses between client and service. Everything narrows here to two values, a [`Request`]
//! and a [`Reply`]; the formats are pairs of functions around them, and know nothing of the calls.

pub mod form;
pub mod json;
pub mod loose;
mod names;
pub mod older;
pub mod xml;

pub use names::Names;

use crate::{Error, Result};
use serde_json::{Map, Value};
use std::time::Duration;
use zeroize::Zeroize;

/// A call on its way to a service.
#[derive(Clone, PartialEq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path behind the base URL, beginning with `/`, its fields percent-encoded.
    pub path: String,
    /// The parameters that are not part of the path.
    pub params: Map<String, Value>,
    /// The generation of the interface that the client speaks.
    pub generation: Generation,
}

/// What a service said to a request.
#[derive(Clone, PartialEq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body, read.
    pub body: Value,
    /// How long the service asks to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// The generation of the interface that was asked for.
    pub generation: Generation,
}

/// The `{FORMAT}` of a path (interface 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `json`
    #[default]
    Json,
    /// `xml`
    Xml,
}

/// The two generations of the interface (interface 9). Which one is spoken is a property of the
/// request: the older one has the key among its parameters, or an older path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// The key in a header.
    #[default]
    Current,
    /// The key as the query parameter `api_key`, and other words in some replies.
    Older,
}

impl Format {
    /// The word in the path.
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Xml => "xml",
        }
    }

    /// The format that a path asks for.
    pub fn named(name: &str) -> Option<Format> {
        [Format::Json, Format::Xml].into_iter().find(|format| format.name() == name)
    }

    /// The media type of a body.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json; charset=utf-8",
            Format::Xml => "application/xml; charset=utf-8",
        }
    }

    /// Reads a body.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] when it is not of this format.
    pub fn read(self, bytes: &[u8]) -> Result<Value> {
        match self {
            Format::Json => json::read(bytes),
            Format::Xml => xml::read(bytes),
        }
    }

    /// Writes a body.
    pub fn write(self, value: &Value) -> Vec<u8> {
        match self {
            Format::Json => json::write(value),
            Format::Xml => xml::write(value),
        }
    }
}

impl Reply {
    /// A reply whose body is the object made of `fields`.
    pub fn new(status: u16, body: Value) -> Reply {
        Reply { status, body, retry_after: None, generation: Generation::Current }
    }

    /// A reply out of a body that was read, or could not be.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] for a body that could not be, unless the status says enough.
    pub fn read(status: u16, body: Result<Value>) -> Result<Reply> {
        match body {
            Ok(body) => Ok(Reply::new(status, body)),
            // What stands before a service says these in its own words, and their meaning is plain.
            Err(_) if status == 429 || status >= 500 => {
                Ok(Reply::new(status, Value::Object(Map::new())))
            }
            Err(Error::InvalidResponse { message }) => {
                Err(Error::invalid_response(format!("status {status}, {message}")))
            }
            Err(other) => Err(other),
        }
    }

    /// The text of a top-level field; a number is given as it is written.
    pub fn text(&self, field: &str) -> Option<String> {
        scalar(self.body.get(field)?)
    }
}

/// A scalar as text, as forms and XML carry it; nothing for null, lists and objects.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Wipes every text of a value: one of them may be a key or a code.
pub(crate) fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        _ => {}
    }
}

/// The value of a call's or a reply's struct, which is always an object.
pub(crate) fn object(value: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        _ => Map::new(),
    }
}

impl std::fmt::Debug for Request {
    /// Shows neither the path nor the parameters, which may hold a token or a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Reply {
    /// Shows the status alone: the body may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A reader's complaint about one field, as the caller's mistake.
impl From<loose::Mismatch> for Error {
    fn from(mismatch: loose::Mismatch) -> Error {
        Error::invalid_argument(mismatch.field, mismatch.problem)
    }
}
