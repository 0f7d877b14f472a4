//! The canonical form of a callback's parameters: the text that both sides sign (interface 5.5,
//! step 3).
//!
//! Nested bodies are flattened as the original service flattens them: hashes as `a[b]=…`, lists as
//! `a[]=…` in the order of the document, null as `a=`, and numbers as they are written. Empty
//! hashes and lists are omitted, as are values that contain only these. Finished pairs are sorted
//! bytewise at each level. Duplicate names are rejected, because they make the body ambiguous.
//!
//! This is what this library signs. What it accepts besides is in [`super::spelling`].

use super::spelling::Spelling;
use super::walk::{Flat, flatten};
use super::{invalid_callback, spelling};
use crate::wire::form;
use crate::{Error, Result};
use serde_json::value::RawValue;

/// The maximum size in bytes, which no callback reaches. A key is repeated for each value below it,
/// so a small body from an unknown sender could otherwise require a huge canonical form.
pub(super) const LONGEST: usize = 4 * 1024 * 1024;

/// Returns the canonical parameters of a JSON body, and its fields, which must not be trusted yet.
///
/// # Errors
/// [`Error::InvalidCallback`] if [`json::read`](crate::wire::json::read) rejects the body, if it is
/// not an object, or if it exceeds the limits of a callback.
pub(super) fn of_json(text: &str) -> Result<Flat<'_>> {
    let bad = || {
        invalid_callback(
            "the body is not a JSON object, has a duplicate field, or exceeds the limits",
        )
    };
    let raw: &RawValue = serde_json::from_str(text).map_err(|_| bad())?;
    flatten(raw.get(), Spelling::OWN, LONGEST).ok_or_else(bad)
}

/// Returns the other texts that a signer may have signed for a JSON body, whose canonical form is
/// `flat`.
pub(super) fn others_of_json<'a>(
    text: &'a str,
    flat: &Flat<'_>,
) -> impl Iterator<Item = String> + use<'a> {
    spelling::others(text.trim_ascii(), flat)
}

/// Returns the canonical parameters of a query or a form body: each pair is encoded again, and all
/// are sorted by key. The items of a list keep their order, which has a meaning.
pub(super) fn of_form(form: &str) -> Result<String> {
    Ok(joined(&sorted(pairs(form)?, true)))
}

/// Returns the texts that a signer may have signed for a query or a form body: sorted as by
/// [`of_form`], sorted by the whole key, as it was sent (with each `&`, because empty hashes and
/// lists may have left some), and with the fields of each hash in a list sorted.
pub(super) fn spellings_of_form(form: &str) -> Result<Vec<String>> {
    let pairs = pairs(form)?;
    let canonical = joined(&sorted(pairs.clone(), true));
    let sent = as_sent(form, &pairs);
    let by_whole_key = joined(&sorted(pairs, false));
    let items = items_sorted(&canonical);
    let mut texts = vec![canonical];
    for text in [Some(by_whole_key), Some(sent), items].into_iter().flatten() {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Ok(texts)
}

/// Returns the pairs where they were sent, with each `&` between them.
fn as_sent(form: &str, pairs: &[Pair]) -> String {
    let mut rest = pairs.iter();
    // Into one text: a form of nothing but `&` must not cost much more memory than itself.
    let mut text = String::with_capacity(form.len());
    for (index, part) in form.split('&').enumerate() {
        if index > 0 {
            text.push('&');
        }
        if !part.is_empty()
            && let Some((name, value)) = rest.next()
        {
            text.push_str(name);
            text.push_str(value);
        }
    }
    text
}

/// Returns the form with the fields of each hash in a list sorted. `None` if it has no lists, or writes them in another
/// way than it is signed.
fn items_sorted(canonical: &str) -> Option<String> {
    if !canonical.contains("%5B%5D%5B") {
        return None;
    }
    let fields = form::read(canonical).ok()?;
    let text = serde_json::Value::Object(fields).to_string();
    let sorted = flatten(&text, Spelling::OWN, LONGEST)?.pairs;
    // Reading accepts `a[0]` too, which would become another pair.
    (in_any_order(&sorted) == in_any_order(canonical)).then_some(sorted)
}

fn in_any_order(pairs: &str) -> Vec<&str> {
    let mut pairs: Vec<&str> = pairs.split('&').collect();
    pairs.sort_unstable();
    pairs
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

pub(super) fn escape(text: &str) -> String {
    let mut escaped = Vec::with_capacity(text.len());
    escape_to(&mut escaped, text);
    String::from_utf8(escaped).unwrap_or_default()
}

/// Form-encodes text: a space becomes `+`, and all except letters, digits and `-._~` become `%XX`.
pub(super) fn escape_to(out: &mut Vec<u8>, text: &str) {
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
            assert_eq!(of_json(body).unwrap().pairs, wanted);
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
        assert_eq!(of_json(r#"{"d":[{"y":2,"x":1},{"x":3,"y":4}]}"#).unwrap().pairs, hashes);
    }

    #[test]
    fn anything_but_an_object_is_rejected() {
        for bad in ["", "[]", "1", "{", "{}x", "\u{1}", r#"{"a":"\ud800"}"#] {
            assert!(of_json(bad).is_err(), "{bad}");
        }
        for good in ["1e-999", "1e999", "true", "false", "-0.1e1", &"9".repeat(400)] {
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
        let returned = of_json(body).unwrap().fields;
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
