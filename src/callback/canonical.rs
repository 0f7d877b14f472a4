//! The canonical form of a callback's parameters: the text that both sides sign (interface 5.5,
//! step 3).
//!
//! Nested bodies are flattened as the original service flattens them: hashes as `a[b]=…`, lists as
//! `a[]=…` in the order of the document, null as `a=`, and numbers as they are written. Empty
//! hashes and lists are omitted, as are values that contain only these. Finished pairs are sorted
//! bytewise at each level. Duplicate names are rejected, because they make the body ambiguous.

use super::invalid_callback;
use crate::wire::{form, json};
use crate::{Error, Result};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// The maximum nesting. No callback of the interface is nested as deeply.
const DEPTH: usize = 64;
/// The maximum size in bytes, which no callback reaches. A key is repeated for each value below it,
/// so a small body from an unknown sender could otherwise require a huge canonical form.
const LONGEST: usize = 4 * 1024 * 1024;

/// The decoded names and the raw values of an object.
pub(super) type Fields<'a> = Vec<(Cow<'a, str>, &'a str)>;

/// The canonical parameters of a JSON body, and its fields, which must not be trusted yet.
///
/// # Errors
/// [`Error::InvalidCallback`] if [`json::read`](crate::wire::json::read) rejects the body, if it is
/// not an object, or if it exceeds the limits of a callback.
pub(super) fn of_json(text: &str) -> Result<(String, Fields<'_>)> {
    let bad = || {
        invalid_callback(
            "the body is not a JSON object, has a duplicate field, or exceeds the limits",
        )
    };
    let raw: &RawValue = serde_json::from_str(text).map_err(|_| bad())?;
    Walk::over(raw.get()).ok_or_else(bad)
}

/// The canonical parameters of a query or a form body: each pair is encoded again, and all are
/// sorted by key. The items of a list keep their order, which has a meaning.
pub(super) fn of_form(form: &str) -> Result<String> {
    Ok(joined(&sorted(pairs(form)?, true)))
}

/// The texts that a signer may have signed for a query or a form body: sorted as by [`of_form`],
/// sorted by the whole key, and in the order in which the pairs were sent.
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
        return Err(Error::invalid_argument("parameters", "exceed the limits of a callback"));
    }
    sent().map(pair).collect()
}

/// Sorts the pairs by key. With `lists`, compares only up to the first `[]`, which keeps the items
/// of each list in order.
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

fn escape(text: &str) -> String {
    let mut escaped = Vec::with_capacity(text.len());
    escape_to(&mut escaped, text);
    String::from_utf8(escaped).unwrap_or_default()
}

/// Form-encodes text: a space becomes `+`, and all except letters, digits and `-._~` become `%XX`.
fn escape_to(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| !form::is_plain(*byte)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b' ' => out.push(b'+'),
            byte => out.extend_from_slice(&form::escaped(byte)),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Writes the pairs of a well-formed JSON text in one pass. It works on the text, because numbers
/// are signed as they are written, which a parsed value no longer shows.
struct Walk<'a> {
    rest: &'a str,
    /// The encoded key of the next value.
    key: Vec<u8>,
    /// The output, which is pure ASCII.
    pairs: Vec<u8>,
    /// The fields of the enclosing objects.
    fields: Fields<'a>,
    depth: usize,
    /// How many bytes may still be written.
    left: usize,
}

impl<'a> Walk<'a> {
    /// The pairs, and the fields of the outermost object. `None` if the text is not an object, has
    /// a duplicate field, is nested too deeply, or requires too much output.
    fn over(text: &'a str) -> Option<(String, Fields<'a>)> {
        let (key, pairs) = (Vec::with_capacity(128), Vec::with_capacity(2 * text.len()));
        let (rest, fields) = (text, Vec::with_capacity(32));
        let mut walk = Walk { rest, key, pairs, fields, depth: 0, left: LONGEST };
        walk.rest.starts_with('{').then(|| walk.object())??;
        Some((String::from_utf8(walk.pairs).ok()?, walk.fields))
    }

    /// Writes the pairs of a value, separated by `&`; none for an empty hash or list.
    fn value(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(self.key.len() + 16)?;
        self.depth = (self.depth <= DEPTH).then_some(self.depth + 1)?;
        match self.peek()? {
            b'{' => {
                let outer = self.fields.len();
                self.object()?;
                self.fields.truncate(outer);
            }
            b'[' => self.items()?,
            b'"' => {
                let text = self.text()?;
                self.pair();
                escape_to(&mut self.pairs, &text);
            }
            _ => {
                let ends = |byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                let end = self.rest.bytes().position(ends)?;
                let scalar = self.take(end)?;
                self.pair();
                if scalar != "null" {
                    is_valid_scalar(scalar).then(|| escape_to(&mut self.pairs, scalar))?;
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    fn pair(&mut self) {
        self.pairs.extend_from_slice(&self.key);
        self.pairs.push(b'=');
    }

    /// Writes the pairs of an object, and sorts them when all are finished.
    fn object(&mut self) -> Option<()> {
        let (start, mut parts) = (self.pairs.len(), Vec::with_capacity(16));
        let outer_fields = self.fields.len();
        self.take(1)?;
        while self.peek()? != b'}' {
            if self.peek()? == b',' {
                self.take(1)?;
                self.peek()?;
            }
            let name = self.text()?;
            self.peek().filter(|byte| *byte == b':')?;
            self.take(1)?;
            self.peek()?;
            let (outer, from) = (self.key.len(), self.between(start));
            match self.depth {
                0 => escape_to(&mut self.key, &name),
                _ => {
                    self.key.extend_from_slice(b"%5B");
                    escape_to(&mut self.key, &name);
                    self.key.extend_from_slice(b"%5D");
                }
            }
            let value = self.rest;
            self.value()?;
            self.fields.push((name, &value[..value.len() - self.rest.len()]));
            self.key.truncate(outer);
            if self.end(start, from) {
                parts.push(from..self.pairs.len());
            }
        }
        self.take(1)?;
        self.sort(start, parts);
        are_unique(&self.fields[outer_fields..]).then_some(())
    }

    /// Writes the pairs of a list, in the order of the document.
    fn items(&mut self) -> Option<()> {
        let (start, outer) = (self.pairs.len(), self.key.len());
        self.key.extend_from_slice(b"%5B%5D");
        self.take(1)?;
        while self.peek()? != b']' {
            if self.peek()? == b',' {
                self.take(1)?;
            }
            let from = self.between(start);
            self.value()?;
            self.end(start, from);
        }
        self.take(1)?;
        self.key.truncate(outer);
        Some(())
    }

    /// Writes `&` unless the next pair is the first one, and returns where that pair begins.
    fn between(&mut self, start: usize) -> usize {
        if self.pairs.len() > start {
            self.pairs.push(b'&');
        }
        self.pairs.len()
    }

    /// Whether anything was written from `from` on. If not, removes the `&` before it.
    fn end(&mut self, start: usize, from: usize) -> bool {
        let written = self.pairs.len() > from;
        if !written && from > start {
            self.pairs.pop();
        }
        written
    }

    fn sort(&mut self, start: usize, mut parts: Vec<Range<usize>>) {
        let pairs = &self.pairs;
        if parts.is_sorted_by_key(|part| &pairs[part.clone()]) {
            return;
        }
        parts.sort_unstable_by_key(|part| &pairs[part.clone()]);
        let mut sorted = Vec::with_capacity(pairs.len() - start);
        for part in parts {
            if !sorted.is_empty() {
                sorted.push(b'&');
            }
            sorted.extend_from_slice(&pairs[part]);
        }
        self.pairs.truncate(start);
        self.pairs.append(&mut sorted);
    }

    /// Takes a text and returns it decoded, without its quotes.
    fn text(&mut self) -> Option<Cow<'a, str>> {
        let inner = self.rest.strip_prefix('"')?;
        let mut bytes = inner.bytes();
        let mut end = bytes.position(|byte| matches!(byte, b'"' | b'\\'))?;
        if inner.as_bytes()[end] == b'"' {
            self.rest = &inner[end + 1..];
            return Some(Cow::Borrowed(&inner[..end]));
        }
        while inner.as_bytes()[end] == b'\\' {
            bytes.next()?;
            end += 2 + bytes.position(|byte| matches!(byte, b'"' | b'\\'))?;
        }
        serde_json::from_str(self.take(end + 2)?).ok().map(Cow::Owned)
    }

    /// The next byte that is not whitespace.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.bytes().next()
    }

    fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Whether all names differ. Most objects are so small that comparing all pairs is fastest.
fn are_unique(fields: &[(Cow<'_, str>, &str)]) -> bool {
    if fields.len() > 32 {
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        return names.is_sorted_by(|one, next| one != next);
    }
    let earlier = |at: usize, name: &str| fields[..at].iter().any(|(other, _)| *other == name);
    !fields.iter().enumerate().any(|(at, (name, _))| earlier(at, name))
}

/// Whether [`json::read`] accepts a number or a word. It rejects numbers too large for a double.
fn is_valid_scalar(scalar: &str) -> bool {
    let large = scalar.len() > 300 || scalar.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    !large || matches!(scalar, "true" | "false") || json::read(scalar.as_bytes()).is_ok()
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
            (" { } ", ""),
            ("{\"a\":1\r,\"b\":2\n,\"c\":3\t,\"d\":4 }", "a=1&b=2&c=3&d=4"),
            (r#"{"a":[{},null,[]]}"#, "a%5B%5D="),
            (r#"{"z":[],"y":{"x":{}},"":{"b":1}}"#, "%5Bb%5D=1"),
            (
                "{ \"b\" : [ 1 ,\ttrue ] ,\r\n\"a\\n\\u00fc\":\"\\\"\\\\\" }",
                "a%0A%C3%BC=%22%5C&b%5B%5D=1&b%5B%5D=true",
            ),
            // A finished pair includes its `=`, which sorts before some characters, after others.
            (
                r#"{"a":1,"aA":1,"a1":1,"a[b]":1,"a.b":1,"a b":1}"#,
                "a%5Bb%5D=1&a+b=1&a.b=1&a1=1&a=1&aA=1",
            ),
            (r#"{"a":{"a1":1,"a":1,"aA":1}}"#, "a%5Ba%5D=1&a%5Ba1%5D=1&a%5BaA%5D=1"),
        ] {
            assert_eq!(of_json(body).unwrap().0, wanted);
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
        assert_eq!(of_json(r#"{"d":[{"y":2,"x":1},{"x":3,"y":4}]}"#).unwrap().0, hashes);
    }

    #[test]
    fn anything_but_an_object_is_rejected() {
        for bad in ["", "[]", "1", "{", "{}x", "\u{1}", r#"{"a":"\ud800"}"#] {
            assert!(of_json(bad).is_err(), "{bad}");
        }
        for bad in ["1e999", "-1E400", &"9".repeat(400)] {
            assert!(of_json(&format!("{{\"a\":{bad}}}")).is_err(), "{bad}");
        }
        for good in ["1e-999", "1E+5", "true", "false", "-0.1e1"] {
            assert!(of_json(&format!("{{\"a\":{good}}}")).is_ok(), "{good}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500));
        assert!(of_json(&deep).is_err());
    }

    #[test]
    fn duplicate_names_are_rejected_at_each_level() {
        let many = |last: &str| {
            let names: String = (0..100).map(|n| format!("\"{n}\":1,")).collect();
            format!("{{{names}\"{last}\":{{}}}}")
        };
        let (twice, once) = (many("50"), many("100"));
        for bad in [r#"{"a":1,"b":2,"a":1}"#, r#"{"a":1,"\u0061":{}}"#, r#"{"x":[{"a":1,"a":[]}]}"#]
        {
            assert!(of_json(bad).is_err(), "{bad}");
        }
        assert!(of_json(&twice).is_err() && of_json(&once).is_ok());
        assert!(of_json(r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#).is_ok());
    }

    #[test]
    fn returns_the_fields_of_the_outermost_object() {
        let body = r#" {"a" : [1, {"x":2}] ,"\u0062":"\n","c":{"y":{}},"d":1.0 } "#;
        let fields =
            [("a", r#"[1, {"x":2}]"#), ("b", r#""\n""#), ("c", r#"{"y":{}}"#), ("d", "1.0")];
        let returned = of_json(body).unwrap().1;
        assert_eq!(returned, fields.map(|(name, value)| (name.into(), value)));
    }

    #[test]
    fn a_small_body_cannot_require_a_huge_canonical_form() {
        let body = format!("{{\"{}\":[{}1]}}", "k".repeat(100_000), "1,".repeat(100_000));
        assert!(of_json(&body).is_err());
        let pairs = |count: usize| vec!["a[]=1"; count].join("&&");
        assert!(of_form(&pairs(1000)).is_ok() && of_form(&pairs(1001)).is_err());
        assert!(
            of_form(&"a".repeat(LONGEST)).is_ok() && of_form(&"a".repeat(LONGEST + 1)).is_err()
        );
    }
}
