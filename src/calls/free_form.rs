//! Checks of parameters that hold any JSON object.

use crate::wire::{is_in_xml, loose};
use crate::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value};

/// The size limit of a free-form parameter, in bytes of JSON.
const LARGEST: usize = 16 * 1024;
/// The deepest nesting of a free-form parameter. A callback returns some, nested in a few objects
/// more, and a signature covers 64 levels.
const DEEPEST: usize = 32;

/// Rejects a free-form parameter that replies would not return unchanged: a name that serde_json takes for
/// a number or text of its own, and characters that XML cannot have, without which two names may be one.
pub(super) fn is_kept(parameter: &'static str, fields: &Map<String, Value>) -> Result<()> {
    fn problem(value: &Value) -> Option<&'static str> {
        match value {
            Value::Object(fields) => of_fields(fields),
            Value::Array(items) => items.iter().find_map(problem),
            Value::String(text) => of_text(text),
            _ => None,
        }
    }
    fn of_fields(fields: &Map<String, Value>) -> Option<&'static str> {
        fields.iter().find_map(|(name, value)| match name.starts_with(loose::RESERVED) {
            true => Some("has a name that is reserved"),
            false => of_text(name).or_else(|| problem(value)),
        })
    }
    fn of_text(text: &str) -> Option<&'static str> {
        let is_kept = text.chars().all(is_in_xml);
        (!is_kept)
            .then_some("must not have characters that XML cannot have, such as U+0000 or U+0001")
    }
    match of_fields(fields) {
        None => Ok(()),
        Some(problem) => Err(Error::invalid_argument(parameter, problem)),
    }
}

/// Rejects a free-form parameter that is larger, or nested deeper, than services accept.
pub(super) fn is_small(parameter: &'static str, value: &impl Serialize) -> Result<()> {
    fn depth(value: &Value) -> usize {
        let inner = match value {
            Value::Object(fields) => fields.values().map(depth).max(),
            Value::Array(items) => items.iter().map(depth).max(),
            _ => return 0,
        };
        1 + inner.unwrap_or_default()
    }
    let value = serde_json::to_value(value).unwrap_or_default();
    if value.to_string().len() > LARGEST {
        return Err(Error::invalid_argument(parameter, "must not be larger than 16 KiB"));
    }
    match depth(&value) <= DEEPEST {
        true => Ok(()),
        false => {
            Err(Error::invalid_argument(parameter, "must not be nested deeper than 32 levels"))
        }
    }
}
