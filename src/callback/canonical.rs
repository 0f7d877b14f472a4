//! The parameters of a callback as one text that both sides write alike (interface 5.5, step 3).
//!
//! Nested bodies are flattened as the original service flattens them: hashes as `a[b]=…`, lists as
//! `a[]=…` in the order of the document, null as `a=`, numbers as they are written, empty hashes
//! and lists not at all, nor what holds nothing but these. Finished pairs are sorted bytewise at
//! each level.

use crate::wire::form;
use crate::{Error, Result};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// Deeper than any callback of the interface.
const DEPTH: usize = 64;
/// More bytes than any callback has. A key is written again for each value below it, so a small
/// body could otherwise ask for a huge text before anybody knew who sent it.
const LONGEST: usize = 4 * 1024 * 1024;

/// The canonical parameters of a JSON body.
pub(super) fn of_json(body: &[u8]) -> Result<String> {
    let bad = |_| Error::Forged { message: "the body is not JSON".into() };
    let body = std::str::from_utf8(body).map_err(|e| bad(e.to_string()))?;
    let raw: &RawValue = serde_json::from_str(body).map_err(|e| bad(e.to_string()))?;
    let left = Cell::new(LONGEST);
    let pairs = Pairs { depth: 0, left: &left };
    let mut pairs = pairs.fields(raw).map_err(|e| bad(e.to_string()))?;
    pairs.sort_unstable();
    Ok(pairs.join("&"))
}

/// The canonical parameters of a query or a form body: each pair written anew, and sorted by key.
/// What stands in a list keeps its order, because it is the order of the list.
pub(super) fn of_form(form: &str) -> Result<String> {
    Ok(joined(&sorted(pairs(form)?, true)))
}

/// The texts that a signer can have meant by a query or a form body: sorted as [`of_form`] has it,
/// sorted by the whole key, and in the order in which it was sent.
pub(super) fn orders_of_form(form: &str) -> Result<[String; 3]> {
    let sent = pairs(form)?;
    let by_whole_key = sorted(sent.clone(), false);
    Ok([joined(&sorted(sent.clone(), true)), joined(&by_whole_key), joined(&sent)])
}

type Pair = (String, String);

fn pairs(form: &str) -> Result<Vec<Pair>> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((escape(&form::unescape(name)?) + "=", escape(&form::unescape(value)?)))
    };
    let sent = || form.split('&').filter(|pair| !pair.is_empty());
    if form.len() > LONGEST || sent().nth(form::PAIRS).is_some() {
        return Err(Error::invalid("parameters", "are more than any callback has"));
    }
    sent().map(pair).collect()
}

/// Sorts the pairs by their keys; where `lists` stay whole, by the part before the first `[]`.
fn sorted(mut pairs: Vec<Pair>, lists: bool) -> Vec<Pair> {
    let key = |name: &str| match name.find("%5B%5D") {
        Some(at) if lists => at + "%5B%5D".len(),
        _ => name.len(),
    };
    pairs.sort_by(|(a, _), (b, _)| a[..key(a)].cmp(&b[..key(b)]));
    pairs
}

fn joined(pairs: &[Pair]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}{value}")).collect();
    pairs.join("&")
}

/// Form-encoding: a space is `+`, and all but letters, digits and `-._~` is `%XX`.
fn escape(text: &str) -> String {
    form::escape(text).replace("%20", "+")
}

/// Writes the pairs of one level. Numbers are taken as they are written, which a parsed value
/// would have forgotten.
#[derive(Clone, Copy)]
struct Pairs<'a> {
    depth: usize,
    /// How many bytes may still be written.
    left: &'a Cell<usize>,
}

impl Pairs<'_> {
    fn fields(self, raw: &RawValue) -> serde_json::Result<Vec<String>> {
        let Fields(fields) = serde_json::from_str(raw.get())?;
        let pair = |(name, value): &(Cow<str>, &RawValue)| self.value(&escape(name), value);
        fields.iter().map(pair).filter_map(Result::transpose).collect()
    }

    /// The pairs of a value under a key, joined; none for an empty hash or list.
    fn value(self, key: &str, raw: &RawValue) -> serde_json::Result<Option<String>> {
        if self.depth > DEPTH {
            return Err(serde_json::Error::custom("nested too deep"));
        }
        let left = self.left.get().checked_sub(key.len() + 16);
        self.left.set(left.ok_or_else(|| serde_json::Error::custom("too much"))?);
        let inner = Pairs { depth: self.depth + 1, ..self };
        let text = match raw.get().as_bytes()[0] {
            b'{' => {
                let Fields(fields) = serde_json::from_str(raw.get())?;
                let pair = |(name, value): &(Cow<str>, &RawValue)| {
                    inner.value(&format!("{key}%5B{}%5D", escape(name)), value)
                };
                let pairs = fields.iter().map(pair).filter_map(Result::transpose);
                let mut pairs = pairs.collect::<serde_json::Result<Vec<_>>>()?;
                pairs.sort_unstable();
                return Ok((!pairs.is_empty()).then(|| pairs.join("&")));
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(raw.get())?;
                let key = format!("{key}%5B%5D");
                let pairs = items.iter().map(|item| inner.value(&key, item));
                let pairs =
                    pairs.filter_map(Result::transpose).collect::<serde_json::Result<Vec<_>>>()?;
                return Ok((!pairs.is_empty()).then(|| pairs.join("&")));
            }
            b'"' => escape(&serde_json::from_str::<Cow<str>>(raw.get())?),
            b'n' => String::new(),
            _ => escape(raw.get()),
        };
        Ok(Some(format!("{key}={text}")))
    }
}

/// The fields of an object in the order of the document.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields<'de>, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some(pair) = map.next_entry::<String, &RawValue>()? {
                    fields.push((pair.0.into(), pair.1));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattens_as_the_original_service_does() {
        for (body, wanted) in [
            (
                r#"{"b":1,"a":{"d":[3,1,2],"c":null}}"#,
                "a%5Bc%5D=&a%5Bd%5D%5B%5D=3&a%5Bd%5D%5B%5D=1&a%5Bd%5D%5B%5D=2&b=1",
            ),
            (
                r#"{"a":{},"b":[],"c":true,"d":[{"y":1,"x":2}]}"#,
                "c=true&d%5B%5D%5Bx%5D=2&d%5B%5D%5By%5D=1",
            ),
            (
                r#"{"n":123456789012345678901234567890,"f":1.0}"#,
                "f=1.0&n=123456789012345678901234567890",
            ),
            (r#"{"a b":"c*ü|"}"#, "a+b=c%2A%C3%BC%7C"),
            ("{}", ""),
            (r#"{"a":{"b":{}},"c":1}"#, "c=1"),
            (r#"{"a":{"b":{"d":[]}}}"#, ""),
            (r#"{"a":[[]],"c":1}"#, "c=1"),
            (
                r#"{"a":[{}],"b":[[],2,{"x":[]},[[3]]],"c":1}"#,
                "b%5B%5D=2&b%5B%5D%5B%5D%5B%5D=3&c=1",
            ),
        ] {
            assert_eq!(of_json(body.as_bytes()).unwrap(), wanted);
        }
    }

    #[test]
    fn a_query_is_sorted_by_key_and_keeps_the_order_of_lists() {
        assert_eq!(
            of_form("b=2&a%5B%5D=9&a[]=1&c=x%20y").unwrap(),
            "a%5B%5D=9&a%5B%5D=1&b=2&c=x+y"
        );
        let hashes = "d%5B%5D%5Bx%5D=1&d%5B%5D%5By%5D=2&d%5B%5D%5Bx%5D=3&d%5B%5D%5By%5D=4";
        assert_eq!(of_form(hashes).unwrap(), hashes);
        assert_eq!(of_json(br#"{"d":[{"y":2,"x":1},{"x":3,"y":4}]}"#).unwrap(), hashes);
    }

    #[test]
    fn refuses_what_is_no_object() {
        for bad in ["", "[]", "1", "{", "{}x", "\u{1}"] {
            assert!(of_json(bad.as_bytes()).is_err(), "{bad}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500));
        assert!(of_json(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_small_body_cannot_ask_for_a_huge_text() {
        let body = format!("{{\"{}\":[{}1]}}", "k".repeat(100_000), "1,".repeat(100_000));
        assert!(of_json(body.as_bytes()).is_err());
        let pairs = |count: usize| vec!["a[]=1"; count].join("&&");
        assert!(of_form(&pairs(1000)).is_ok() && of_form(&pairs(1001)).is_err());
        assert!(
            of_form(&"a".repeat(LONGEST)).is_ok() && of_form(&"a".repeat(LONGEST + 1)).is_err()
        );
    }
}
