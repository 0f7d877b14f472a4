//! JSON bodies. Duplicate keys are rejected, because they make a body ambiguous.

use super::Wiping;
use crate::{Error, Result};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// UTF-8's byte-order mark. Some frameworks write it before every body, and RFC 8259, section 8.1,
/// allows a reader to ignore it.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Parses a body, with or without a byte-order mark.
///
/// # Errors
/// [`Error::InvalidResponse`] if it is not one JSON text in UTF-8, or has a duplicate key.
pub fn read(bytes: &[u8]) -> Result<Value> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Strict
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|e| Error::invalid_response(format!("not JSON ({})", place(&e))))
}

/// Serialises a body.
pub fn write(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Writes an object.
#[cfg(feature = "remote")]
pub(crate) fn write_object(fields: &Map<String, Value>) -> Vec<u8> {
    // A map with keys of text can always be written.
    serde_json::to_vec(fields).unwrap_or_default()
}

/// Where parsing stopped. The text itself is not shown, because it may contain a secret.
fn place(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("truncated or malformed at line {} column {}", error.line(), error.column()),
    }
}

/// Parses values as serde_json does, but rejects duplicate keys.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Wiping(Value::Array(Vec::new()));
        while let Some(item) = items.next_element_seed(Strict)? {
            if let Value::Array(list) = &mut list.0 {
                list.push(item);
            }
        }
        Ok(list.take())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Wiping(Value::Object(Map::new()));
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Strict)?;
            let before = map.0.as_object_mut().and_then(|map| map.insert(key, value));
            if before.map(Wiping).is_some() {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(map.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let text = r#"{"a":[1,-2,"x",null,true],"b":{"c":9223372036854775807}}"#;
        assert_eq!(write(&read(text.as_bytes()).unwrap()), text.as_bytes());
    }

    #[test]
    fn one_byte_order_mark_is_ignored() {
        assert_eq!(read("\u{feff}{\"a\":1}".as_bytes()).unwrap(), serde_json::json!({"a": 1}));
        for bad in ["\u{feff}", "\u{feff}\u{feff}{}", "{}\u{feff}", " \u{feff}{}"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ambiguous_and_malformed_bodies_are_rejected() {
        let twice = r#"{"token":"is invalid","token":"is valid"}"#;
        let nested = r#"{"a":[{"b":1,"b":2}]}"#;
        for bad in [twice, nested, "", "{", "{}x", "<html>", "nul"] {
            assert!(matches!(read(bad.as_bytes()), Err(Error::InvalidResponse { .. })), "{bad}");
        }
        assert!(read(b"\"\xff\"").is_err());
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
    }
}
