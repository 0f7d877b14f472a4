//! Parameters: `user[email]=a%40b.c&logos[][res]=default`.

use super::Wiping;
use crate::{Error, Result};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// No call of the interface needs deeper nesting, so it is rejected.
const DEPTH: usize = 8;
/// No call of the interface needs more pairs, so they are rejected.
pub(crate) const PAIRS: usize = 1000;
/// The number of pairs that one free-form parameter may take.
#[cfg(feature = "remote")]
const FREE_PAIRS: usize = 900;

/// Writes parameters as a query or a form body. Nulls, empty lists and empty objects are left out.
pub fn write(params: &Map<String, Value>) -> String {
    let mut pairs = Vec::new();
    for (name, value) in params {
        flatten(&mut pairs, escape(name), value);
    }
    pairs.join("&")
}

/// Checks that a form can carry a parameter: names that are neither empty, which means a list there,
/// nor contain brackets, which mean nesting, also where they are escaped; and no more nesting and
/// values than are read.
///
/// # Errors
/// The reason why it cannot.
#[cfg(feature = "remote")]
pub(crate) fn check(value: &Value) -> std::result::Result<(), &'static str> {
    // The parameter's own name is the first level.
    match count(value, 1)? {
        // The other parameters of such a call are far fewer.
        0..=FREE_PAIRS => Ok(()),
        _ => Err("has more than 900 values"),
    }
}

#[cfg(feature = "remote")]
fn count(value: &Value, depth: usize) -> std::result::Result<usize, &'static str> {
    let inner: Vec<&Value> = match value {
        Value::Object(fields) => {
            if fields.keys().any(|name| name.is_empty() || name.contains(['[', ']'])) {
                return Err("has a name that is empty or has brackets");
            }
            fields.values().collect()
        }
        Value::Array(items) => items.iter().collect(),
        _ => return Ok(1),
    };
    if depth == DEPTH {
        return Err("is nested deeper than 7 levels");
    }
    inner.into_iter().try_fold(0, |sum, value| Ok(sum + count(value, depth + 1)?))
}

fn flatten(pairs: &mut Vec<String>, name: String, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(pairs, format!("{name}[{}]", escape(key)), value);
            }
        }
        Value::Array(items) => {
            // Numbered as they are written, because a list with a gap would be read as an object.
            let mut index = 0;
            for item in items {
                let written = pairs.len();
                flatten(pairs, format!("{name}[{index}]"), item);
                index += usize::from(pairs.len() > written);
            }
        }
        scalar => {
            if let Some(text) = super::scalar(scalar) {
                pairs.push(format!("{name}={}", escape(&text)));
            }
        }
    }
}

/// Reads a query or a form body. Clients write lists as `a[]`, `a[][k]` (a repeated key starts the
/// next item) and `a[0]`.
///
/// # Errors
/// [`Error::InvalidArgument`] for text that is not UTF-8 once decoded, for a duplicate name, for a
/// name that is used both as a list and as an object, and for more than any call needs.
pub fn read(form: &str) -> Result<Map<String, Value>> {
    let pairs = form.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((unescape(name)?, Zeroizing::new(unescape(value)?)))
    });
    assemble(pairs)
}

/// Assembles parameters from decoded pairs of names, such as `user[email]`, and values.
///
/// # Errors
/// As for [`read`], and the first error of `pairs`.
pub(crate) fn assemble(
    pairs: impl Iterator<Item = Result<(String, Zeroizing<String>)>>,
) -> Result<Map<String, Value>> {
    let mut params = Wiping(Value::Object(Map::new()));
    for (count, pair) in pairs.enumerate() {
        let (name, mut value) = pair?;
        let wrong = |reason: &'static str| Error::invalid_argument("parameters", reason);
        let keys = keys(&name).ok_or_else(|| wrong("have a name whose brackets do not match"))?;
        if count >= PAIRS {
            return Err(wrong("are more than 1000"));
        }
        if keys.len() > DEPTH {
            return Err(wrong("are nested too deep"));
        }
        put(&mut params.0, &keys, &mut value)
            .ok_or_else(|| Error::invalid_argument(shown(keys[0]), "is given twice"))?;
    }
    match params.take() {
        Value::Object(map) => Ok(map.into_iter().map(|(key, value)| (key, lists(value))).collect()),
        _ => Ok(Map::new()),
    }
}

/// The name of a parameter for an error message: it is repeated only if it is a plain name.
pub fn shown(name: &str) -> String {
    let starts_a_name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-[]".contains(&byte);
    match name.len() <= 64
        && name.bytes().all(plain)
        && name.as_bytes().first().is_some_and(starts_a_name)
    {
        true => name.to_owned(),
        false => "parameters".to_owned(),
    }
}

/// `a[b][]` as `a`, `b`, and the empty text.
fn keys(name: &str) -> Option<Vec<&str>> {
    let Some((first, mut rest)) = name.split_once('[') else { return Some(vec![name]) };
    let mut keys = vec![first];
    loop {
        let (key, more) = rest.split_once(']')?;
        keys.push(key);
        match more.strip_prefix('[') {
            Some(more) => rest = more,
            None => return more.is_empty().then_some(keys),
        }
    }
}

/// Puts a value in its place; `None` if the place is taken.
fn put(slot: &mut Value, keys: &[&str], value: &mut String) -> Option<()> {
    let Some((key, rest)) = keys.split_first() else {
        return slot.is_null().then(|| *slot = Value::String(std::mem::take(value)));
    };
    if key.is_empty() {
        if slot.is_null() {
            *slot = Value::Array(Vec::new());
        }
        let items = slot.as_array_mut()?;
        let full = |item: &Value| rest.first().is_none_or(|key| item.get(*key).is_some());
        if items.last().is_none_or(full) {
            items.push(Value::Null);
        }
        return put(items.last_mut()?, rest, value);
    }
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    put(slot.as_object_mut()?.entry(*key).or_insert(Value::Null), rest, value)
}

/// Turns `{"0": …, "1": …}` into a list, if no index is missing.
fn lists(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let counted = (0..).zip(map.keys()).all(|(n, key)| *key == n.to_string());
            match counted && !map.is_empty() {
                true => map.into_iter().map(|(_, value)| lists(value)).collect(),
                false => map.into_iter().map(|(key, value)| (key, lists(value))).collect(),
            }
        }
        Value::Array(items) => items.into_iter().map(lists).collect(),
        scalar => scalar,
    }
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
pub fn escape(text: &str) -> String {
    // Room for the whole text: a string that had to grow would leave a part of a secret behind.
    let mut out = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        match is_plain(byte) {
            true => out.push(byte.into()),
            false => escaped(byte).iter().for_each(|digit| out.push(char::from(*digit))),
        }
    }
    out
}

/// Returns whether a byte is an unreserved character of RFC 3986.
#[inline(always)]
pub(crate) fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            let ascii = byte as u8;
            plain[byte] =
                ascii.is_ascii_alphanumeric() || matches!(ascii, b'-' | b'.' | b'_' | b'~');
            byte += 1;
        }
        plain
    };
    PLAIN[usize::from(byte)]
}

/// `%XX`.
pub(crate) fn escaped(byte: u8) -> [u8; 3] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Decodes `%XX` and `+`.
///
/// # Errors
/// [`Error::InvalidArgument`] for a `%` without two hexadecimal digits, and if the result is not
/// UTF-8.
pub fn unescape(text: &str) -> Result<String> {
    let bad = || Error::invalid_argument("parameters", "are not percent-encoded UTF-8");
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                hex(bytes.next()).zip(hex(bytes.next())).map(|(h, l)| h << 4 | l).ok_or_else(bad)?
            }
            other => other,
        });
    }
    String::from_utf8(out).map_err(|_| bad())
}

fn hex(digit: Option<u8>) -> Option<u8> {
    (digit? as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_every_way_to_write_a_list() {
        let wanted = json!({"logos": [{"res": "default", "url": "u"}, {"res": "low", "url": "v"}]});
        for form in [
            "logos[][res]=default&logos[][url]=u&logos[][res]=low&logos[][url]=v",
            "logos[0][res]=default&logos[0][url]=u&logos[1][res]=low&logos[1][url]=v",
            "logos%5B%5D%5Bres%5D=default&logos[][url]=u&logos[][res]=low&logos[][url]=v",
        ] {
            assert_eq!(Value::Object(read(form).unwrap()), wanted, "{form}");
        }
        assert_eq!(Value::Object(read("a[]=1&a[]=2").unwrap()), json!({"a": ["1", "2"]}));
        assert_eq!(Value::Object(read("0=1").unwrap()), json!({"0": "1"}));
    }

    #[test]
    fn reads_what_it_writes() {
        let params = json!({"user": {"email": "ada+x@example.com", "näme": "a&b=c%"}, "l": ["1"]});
        let params = params.as_object().unwrap();
        assert_eq!(&read(&write(params)).unwrap(), params);
    }

    #[test]
    fn an_error_says_what_is_too_much() {
        let message = |form: &str| read(form).unwrap_err().to_string();
        let deep = format!("a{}=1", "[b]".repeat(8));
        assert_eq!(message(&deep), "parameters are nested too deep");
        assert_eq!(message(&"a[]=1&".repeat(1001)), "parameters are more than 1000");
        for name in ["a[b", "a[b]c", "a[b]]"] {
            let wanted = "parameters have a name whose brackets do not match";
            assert_eq!(message(&format!("{name}=1")), wanted, "{name}");
        }
    }

    #[test]
    fn an_error_repeats_plain_names_alone() {
        let named = |form: &str| match read(form) {
            Err(Error::InvalidArgument { parameter, .. }) => parameter.into_owned(),
            other => panic!("{form}: {other:?}"),
        };
        assert_eq!(named("svc_id=1&svc_id=2"), "svc_id");
        let long = "a".repeat(65);
        for name in ["a%3E%3Cb", "1a", "", "a%20b", "a%0Db", "%C3%A4", long.as_str()] {
            assert_eq!(named(&format!("{name}=1&{name}=2")), "parameters", "{name}");
        }
    }

    #[test]
    fn ambiguous_forms_are_rejected() {
        for bad in ["a=1&a=2", "a=1&a[b]=2", "a[]=1&a[b]=2", "%zz=1", "a=%ff", "a[b=1", "a[b]c=1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(&format!("a{}=1", "[b]".repeat(100_000))).is_err());
        assert!(read(&"a[]=1&".repeat(2000)).is_err());
    }
}
