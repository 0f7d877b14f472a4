//! What fuzzing feeds, and what must hold whatever it is fed. `make fuzz` runs each target on new
//! inputs, and `tests/fuzz_corpus.rs` on those that are kept.

#![allow(clippy::unwrap_used, reason = "a panic is what a target reports")]

use seconder::callback::{self, Received};
use seconder::model::{
    Action, ApprovalId, CountryCode, DisplayText, Email, PhoneNumber, Secret, Token, UserId,
    VerificationCode,
};
use seconder::otp::Totp;
use seconder::wire::{Names, form, json, xml};
use serde_json::Value;
use std::str::FromStr;

/// A target, and the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 8] = [
    ("json", json),
    ("xml", xml),
    ("form", form),
    ("callback", callback),
    ("values", values),
    ("calls", calls),
    ("retry_after", retry_after),
    ("name_server", name_server),
];

/// What is read is written so that it is read again as the same.
pub fn json(data: &[u8]) {
    if let Ok(value) = json::read(data) {
        assert_eq!(json::read(&json::write(&value)).unwrap(), value);
    }
}

/// What is read can be written and read again; what was written once is written the same again.
pub fn xml(data: &[u8]) {
    if let Ok(value) = xml::read(data) {
        let written = xml::write(&value);
        let again = xml::read(&written).unwrap();
        assert_eq!(xml::write(&again), written);
    }
}

/// What is read is written so that it is read again as the same.
pub fn form(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(params) = form::read(text)
        && !has_bracket(&Value::Object(params.clone()))
    {
        assert_eq!(form::read(&form::write(&params)).unwrap(), params);
    }
}

/// A bracket in a name that is no part of its structure cannot be told from one that is.
fn has_bracket(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.is_empty() || key.contains(['[', ']']) || has_bracket(value)),
        Value::Array(items) => items.iter().any(has_bracket),
        _ => false,
    }
}

/// Whatever is received, only what was signed is believed, and a signature is for all of it.
pub fn callback(data: &[u8]) {
    let key = Secret::new("key");
    let (head, body) = data.split_at(data.len().min(1));
    let method = if head.first().is_some_and(|byte| byte % 2 == 0) { "POST" } else { "GET" };
    let text = String::from_utf8_lossy(body);
    let received = |signature| Received {
        url: "https://app.example/callback",
        method,
        query: if method == "GET" { &text } else { "" },
        body: if method == "POST" { body } else { b"" },
        signature,
        nonce: "1",
    };
    assert!(callback::verify(&key, &received(&text)).is_err());
    let read = json::read(body).is_ok_and(|value| value.is_object());
    let deep_or_long =
        body.len() > 1000 || body.iter().filter(|byte| b"[{".contains(byte)).count() > 60;
    assert!(
        deep_or_long || callback::query(body).is_ok() == read,
        "what is signed is what is read"
    );
    if let Ok(signature) = callback::sign(&key, "1", "https://app.example/callback", body) {
        let held = callback::verify_parameters(&key, &received(&signature)).is_ok();
        assert_eq!(held, method == "POST");
        let other = Secret::new("another key");
        assert!(callback::verify_parameters(&other, &received(&signature)).is_err());
    }
}

/// What is taken is taken as it is, and nothing that can end in a path leaves it.
pub fn values(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = |held: Option<String>| {
        if let Some(held) = held {
            assert_eq!(held, text);
            assert!(held.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{held}");
        }
    };
    path(Token::from_str(text).ok().map(|token| token.as_str().to_owned()));
    path(VerificationCode::from_str(text).ok().map(|code| code.as_str().to_owned()));
    path(UserId::from_str(text).ok().map(|id| id.to_string()));
    path(ApprovalId::from_str(text).ok().map(|id| id.to_string()));
    path(CountryCode::from_str(text).ok().map(|code| code.to_string()));
    for plain in [
        PhoneNumber::from_str(text).ok().map(|number| number.as_str().to_owned()),
        Email::from_str(text).ok().map(|email| email.as_str().to_owned()),
        Action::from_str(text).ok().map(|action| action.as_str().to_owned()),
        DisplayText::from_str(text).ok().map(|line| line.as_str().to_owned()),
    ]
    .into_iter()
    .flatten()
    {
        assert_eq!(plain, text);
    }
    let _ = (Totp::from_uri(text), Names::new(text));
}

/// Whatever is asked of a service, it answers; and no wrong token is right.
pub fn calls(data: &[u8]) {
    use seconder::calls::{ROUTES, dispatch};
    use seconder::wire::{Format, Generation};
    let Some((choice, rest)) = data.split_first() else { return };
    let route = ROUTES[usize::from(*choice) % ROUTES.len()];
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let Ok(params) = form::read(text) else { return };
    let service = seconder::open("sandbox:?accept=999999999999").unwrap();
    let request = route.request(Format::Json, Generation::Current, params);
    let asked_right = text.contains("999999999999");
    if let Some((_, reply)) = dispatch(&service, request) {
        let right = reply.body.get("token").is_some_and(|token| token == "is valid");
        assert!(!right || asked_right);
    }
}

/// Whatever a service asks to wait, it is a time.
pub fn retry_after(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (after, date) = text.split_once('\n').map_or((text, None), |(a, d)| (a, Some(d)));
    if let Some(wait) = seconder::remote::retry_after(after, date) {
        let seconds = after.bytes().all(|byte| byte.is_ascii_digit());
        assert!(seconds || date.is_some(), "{wait:?}");
    }
}

/// Whatever a name server answers, each address is written in the answer.
pub fn name_server(data: &[u8]) {
    for address in seconder::remote::addresses_in("a.b", data) {
        let bytes = match address {
            std::net::IpAddr::V4(address) => address.octets().to_vec(),
            std::net::IpAddr::V6(address) => address.octets().to_vec(),
        };
        assert!(data.windows(bytes.len()).any(|window| window == bytes), "{address}");
    }
}
