//! Bodies that every spelling writes alike.

use super::canonical::escape;
use serde_json::{Map, Value};

/// Rewrites a body so that every spelling of it is the same text: an empty object or list becomes
/// null, and the fields of objects in lists are sorted as they are signed.
pub(crate) fn make_regular(body: &mut Value) {
    if let Value::Object(fields) = body {
        for (name, value) in fields {
            pairs(value, &escape(name));
        }
    }
}

/// Rewrites the value of an encoded key, and returns its pairs.
fn pairs(value: &mut Value, key: &str) -> String {
    let text = match value {
        Value::Object(fields) if !fields.is_empty() => return object(fields, key),
        Value::Array(items) if !items.is_empty() => {
            let item = format!("{key}%5B%5D");
            let pairs: Vec<String> = items.iter_mut().map(|value| pairs(value, &item)).collect();
            return pairs.join("&");
        }
        Value::Object(_) | Value::Array(_) | Value::Null => {
            *value = Value::Null;
            String::new()
        }
        Value::String(text) => escape(text),
        scalar => escape(&scalar.to_string()),
    };
    format!("{key}={text}")
}

fn object(fields: &mut Map<String, Value>, key: &str) -> String {
    let mut parts: Vec<(String, String, Value)> = std::mem::take(fields)
        .into_iter()
        .map(|(name, mut value)| {
            (pairs(&mut value, &format!("{key}%5B{}%5D", escape(&name))), name, value)
        })
        .collect();
    // A name with `[]` in it counts as a list, because signers look for that in the key.
    if key.contains("%5B%5D") {
        parts.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    }
    let mut pairs = Vec::with_capacity(parts.len());
    for (part, name, value) in parts {
        pairs.push(part);
        fields.insert(name, value);
    }
    pairs.sort_unstable();
    pairs.join("&")
}
