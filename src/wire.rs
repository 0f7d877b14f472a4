//! The messages between client and service. Every call is reduced to two values, a [`Request`] and
//! a [`Reply`]. The formats are pairs of functions that read and write these, and do not depend on
//! the calls.

pub mod form;
pub mod json;
pub mod loose;
mod names;
pub mod older;
#[cfg(feature = "xml")]
pub mod xml;

pub use names::Names;

use crate::{Error, Result};
use serde_json::{Map, Value};
use std::time::Duration;
use zeroize::Zeroize;

/// The header of a request that a service has forwarded.
#[cfg(any(feature = "engine", feature = "remote"))]
pub(crate) const FORWARDED: &str = "seconder-forwarded";
/// The beginning of the paths of operations, which the name of one follows. No path of a call begins like it, with any
/// names. Requests are POST, with the parameters as a JSON object in the body.
pub const OPERATOR_PATH: &str = "/-/operator/";
/// The header that names the application that an operation or a call is about, by its id. Default: the only one that the
/// token is for, or else the one for which the service was started.
pub const OPERATOR_APP: &str = "seconder-app";

/// A call as it is sent to a service.
#[derive(Clone, PartialEq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path after the base URL, beginning with `/`, with its fields percent-encoded.
    pub path: String,
    /// The parameters that are not part of the path.
    pub params: Map<String, Value>,
    /// The generation of the interface that the client speaks, which decides where it puts the API
    /// key.
    pub generation: Generation,
}

/// A service's response to a request.
#[derive(Clone, PartialEq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The parsed body.
    pub body: Value,
    /// The time that the service asks to wait (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// The generation of the interface that was requested.
    pub generation: Generation,
    /// For the log of a service: the failure in it, or in something it depends on. It is not sent.
    pub failure: Option<String>,
}

/// A format of requests and replies: the `{FORMAT}` of a path (interface 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// XML.
    #[cfg(feature = "xml")]
    Xml,
}

/// The two generations of the interface (interface 9). A service accepts the requests of both. Which
/// bodies it replies with is a setting of the application and not a matter of the request, because
/// clients in use send the key as a parameter and expect the current bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// The key in a header, and `success` as a flag in most replies.
    #[default]
    Current,
    /// The key as the query parameter `api_key`, and the replies of 2012, in which `success` is
    /// text.
    Older,
}

impl Generation {
    /// Returns the generation's name, which is the same in all language interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Generation::Current => "current",
            Generation::Older => "older",
        }
    }
}

impl std::str::FromStr for Generation {
    type Err = Error;
    fn from_str(name: &str) -> Result<Generation> {
        [Generation::Current, Generation::Older]
            .into_iter()
            .find(|generation| generation.name() == name)
            .ok_or_else(|| Error::invalid_argument("generation", "must be current or older"))
    }
}

crate::model::serde_by!(from_text, serialize_str(name): Generation);

impl Format {
    /// Returns the word in the path.
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            #[cfg(feature = "xml")]
            Format::Xml => "xml",
        }
    }

    /// Returns the format requested by a path.
    pub fn named(name: &str) -> Option<Format> {
        let formats = [
            Format::Json,
            #[cfg(feature = "xml")]
            Format::Xml,
        ];
        formats.into_iter().find(|format| format.name() == name)
    }

    /// Returns the media type of a body.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json; charset=utf-8",
            #[cfg(feature = "xml")]
            Format::Xml => "application/xml; charset=utf-8",
        }
    }

    /// Parses a body.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] if it is not of this format.
    pub fn read(self, bytes: &[u8]) -> Result<Value> {
        match self {
            Format::Json => json::read(bytes),
            #[cfg(feature = "xml")]
            Format::Xml => xml::read(bytes),
        }
    }

    /// Serialises a body.
    pub fn write(self, value: &Value) -> Vec<u8> {
        match self {
            Format::Json => json::write(value),
            #[cfg(feature = "xml")]
            Format::Xml => xml::write(value),
        }
    }
}

impl Reply {
    /// Creates a reply with this status and body.
    pub fn new(status: u16, body: Value) -> Reply {
        Reply { status, body, retry_after: None, generation: Generation::Current, failure: None }
    }

    /// Creates a reply with the result of parsing its body.
    ///
    /// # Errors
    /// [`Error::InvalidResponse`] for a body that could not be parsed, unless the status suffices.
    pub fn read(status: u16, body: Result<Value>) -> Result<Reply> {
        match body {
            Ok(body) => Ok(Reply::new(status, body)),
            // Proxies in front of a service send these statuses with bodies of their own, such as
            // HTML. The status is clear without the body.
            Err(_) if status == 429 || status >= 500 => {
                Ok(Reply::new(status, Value::Object(Map::new())))
            }
            Err(Error::InvalidResponse { message }) => {
                Err(Error::invalid_response(format!("status {status}, {message}")))
            }
            Err(other) => Err(other),
        }
    }

    /// Returns the text of a top-level field. A number is returned as it is written.
    pub fn text(&self, field: &str) -> Option<String> {
        scalar(self.body.get(field)?)
    }
}

/// Returns whether a path is that of an operation of operators, in which no names are converted.
#[cfg(feature = "remote")]
pub(crate) fn is_operation(path: &str) -> bool {
    path.starts_with(OPERATOR_PATH)
}

/// Returns a scalar as text, as in forms and XML. `None` for null, lists and objects.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns whether XML can have a character.
pub(crate) fn is_in_xml(character: char) -> bool {
    (character >= ' ' || "\t\n\r".contains(character)) && !"\u{fffe}\u{ffff}".contains(character)
}

/// A value whose texts are wiped when it is dropped, unless it was taken: for values that are still
/// being read when an error can end the reading.
pub(crate) struct Wiping(pub(crate) Value);

impl Wiping {
    pub(crate) fn take(&mut self) -> Value {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Wiping {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Returns whether a body reports an error, no matter what else it contains. Null and empty values
/// report nothing: services send `"errors": {}` with a success.
pub(crate) fn has_error(body: &Map<String, Value>) -> bool {
    let is_present = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    ["errors", "error_code"].into_iter().filter_map(|name| body.get(name)).any(is_present)
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

/// Converts a call's or a reply's struct, which is always an object, to its fields.
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

/// A mismatch in a request is an invalid argument of its caller.
impl From<loose::Mismatch> for Error {
    fn from(mismatch: loose::Mismatch) -> Error {
        Error::invalid_argument(mismatch.field, mismatch.problem)
    }
}
