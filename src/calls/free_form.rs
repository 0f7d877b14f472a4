//! What is checked of parameters that hold any JSON object.

use crate::{Error, Result};
use serde::Serialize;
use serde_json::Value;

/// The size limit of a free-form parameter, in bytes of JSON.
const LARGEST: usize = 16 * 1024;
/// How deep a free-form parameter may be nested. A callback returns some, nested in a few objects
/// more, and a signature covers 64 levels.
const DEEPEST: usize = 32;

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
