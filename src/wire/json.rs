//! JSON bodies. Duplicate keys are rejected, because they make a body ambiguous, and numbers are kept as
//! they are written.

use super::Wiping;
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

/// UTF-8's byte-order mark. Some frameworks write it before every body, and RFC 8259, section 8.1,
/// allows a reader to ignore it.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// The maximum nesting, which is also the one of serde_json.
const DEPTH: usize = 127;
const MALFORMED: &str = "malformed";

/// Parses a body, with or without a byte-order mark.
///
/// A number that [`Number`] does not keep as it is written is returned as its text: `1.10`, `1E5`, and
/// integers of more than 64 bits. With serde_json's feature `arbitrary_precision`, which the C library,
/// the Python module and the program have, `Number` keeps nearly all of them.
///
/// # Errors
/// [`Error::InvalidResponse`] if it is not one JSON text in UTF-8, has a duplicate key, or is nested
/// deeper than 127 levels.
pub fn read(bytes: &[u8]) -> Result<Value> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let wrong = |what: &str| Error::invalid_response(format!("not JSON ({what})"));
    let text: &RawValue = serde_json::from_slice(bytes).map_err(|error| wrong(&place(&error)))?;
    value(&mut Scanner(text.get()), DEPTH).map_err(wrong)
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

/// Returns the place where parsing stopped. The text itself is not shown, because it may contain a secret.
fn place(error: &serde_json::Error) -> String {
    format!("truncated or malformed at line {} column {}", error.line(), error.column())
}

/// Reads a value, or returns the reason why it is invalid.
fn value(from: &mut Scanner<'_>, depth: usize) -> Result<Value, &'static str> {
    let inner = || depth.checked_sub(1).ok_or("nested deeper than 127 levels");
    match from.peek().ok_or(MALFORMED)? {
        b'{' => {
            let (inner, mut map) = (inner()?, Wiping(Value::Object(Map::new())));
            from.take(1);
            while from.item(b'}').ok_or(MALFORMED)? {
                let name = from.name().ok_or(MALFORMED)?.into_owned();
                let found = value(from, inner)?;
                let before = map.0.as_object_mut().and_then(|map| map.insert(name, found));
                if before.map(Wiping).is_some() {
                    return Err("duplicate key");
                }
            }
            Ok(map.take())
        }
        b'[' => {
            let (inner, mut list) = (inner()?, Wiping(Value::Array(Vec::new())));
            from.take(1);
            while from.item(b']').ok_or(MALFORMED)? {
                let found = value(from, inner)?;
                if let Value::Array(list) = &mut list.0 {
                    list.push(found);
                }
            }
            Ok(list.take())
        }
        b'"' => Ok(from.text().ok_or(MALFORMED)?.into_owned().into()),
        _ => Ok(match from.word() {
            "null" => Value::Null,
            "true" => true.into(),
            "false" => false.into(),
            written => number(written),
        }),
    }
}

/// Returns the value of a well-formed number.
pub(super) fn number(written: &str) -> Value {
    // The most usual numbers. A number that does not fit 64 bits, or has another spelling, is handled below.
    if let Some(whole) = written.parse::<i64>().ok().filter(|_| written != "-0") {
        return whole.into();
    }
    // `Number` writes some exponents in its own way, and serde some numbers as floats.
    let is_kept = |number: &Number| {
        number.to_string() == written && Number::deserialize(number).is_ok_and(|n| n == *number)
    };
    let number = written.parse().ok().filter(is_kept);
    number.map_or_else(|| written.into(), Value::Number)
}

/// Parses a JSON text that is known to be well-formed, except that escapes may name no characters.
pub(crate) struct Scanner<'a>(pub(crate) &'a str);

impl<'a> Scanner<'a> {
    /// Returns the next byte that is not whitespace.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.bytes().next()
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Finds out whether another item follows in a list or an object, and takes the byte before it or at the end.
    /// `None` at the end of the text.
    pub(crate) fn item(&mut self, end: u8) -> Option<bool> {
        let next = self.peek()?;
        if next == end || next == b',' {
            self.take(1)?;
        }
        Some(next != end)
    }

    /// Takes the name of a field, decoded, and the colon after it.
    pub(crate) fn name(&mut self) -> Option<Cow<'a, str>> {
        self.peek()?;
        let name = self.text()?;
        self.peek().filter(|byte| *byte == b':')?;
        self.take(1)?;
        self.peek()?;
        Some(name)
    }

    /// Takes a text and returns it decoded, without its quotes.
    pub(crate) fn text(&mut self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?;
        let mut bytes = inner.bytes();
        let mut end = bytes.position(|byte| matches!(byte, b'"' | b'\\'))?;
        if inner.as_bytes()[end] == b'"' {
            self.0 = &inner[end + 1..];
            return Some(Cow::Borrowed(&inner[..end]));
        }
        while inner.as_bytes()[end] == b'\\' {
            bytes.next()?;
            end += 2 + bytes.position(|byte| matches!(byte, b'"' | b'\\'))?;
        }
        serde_json::from_str(self.take(end + 2)?).ok().map(Cow::Owned)
    }

    /// Takes a number or a word.
    pub(crate) fn word(&mut self) -> &'a str {
        let ends = |byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
        let end = self.0.bytes().position(ends).unwrap_or(self.0.len());
        self.take(end).unwrap_or_default()
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
    fn numbers_are_kept_as_they_are_written() {
        for written in [
            "0",
            "-0",
            "-1",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "12345678901234567890123456789012345678901234567890",
            "1.5",
            "1.0",
            "1.10",
            "10.00",
            "0.1000000000000000055511151231257827",
            "9007199254740993.0",
            "0.00001",
            "1e-5",
            "1e16",
            "1e+5",
            "1e5",
            "1E5",
            "1e999",
            "-1E-999",
            "100000000000000000000000000000000000000000",
        ] {
            let body = format!("{{\"a\": [ {written} ]}}");
            let value = read(body.as_bytes()).unwrap();
            let kept = crate::wire::scalar(&value["a"][0]);
            assert_eq!(kept.as_deref(), Some(written));
            // The number is also kept when it is read as the parameter of a call, and when it is written and read
            // again.
            let loose: Map<String, Value> =
                crate::wire::loose::read(value.as_object().unwrap().clone()).unwrap();
            assert_eq!(Value::Object(loose), value);
            assert_eq!(read(&write(&value)).unwrap(), value);
            assert_eq!(serde_json::from_slice::<Value>(&write(&value)).unwrap(), value);
        }
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
        let half = r#"{"a":"\ud800"}"#;
        for bad in [
            twice,
            nested,
            half,
            "",
            "{",
            "{}x",
            "<html>",
            "nul",
            "01",
            "1.",
            "+1",
            "[1 2]",
            "{\"a\" 1}",
        ] {
            assert!(matches!(read(bad.as_bytes()), Err(Error::InvalidResponse { .. })), "{bad}");
        }
        assert!(read(b"\"\xff\"").is_err());
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(nested(127).as_bytes()).is_ok());
        let too_deep = read(nested(128).as_bytes()).unwrap_err().to_string();
        assert!(too_deep.contains("nested deeper than 127 levels"), "{too_deep}");
    }
}
