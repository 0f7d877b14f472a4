//! The fuzz targets, each with the properties that must hold for every input. `make fuzz` runs each
//! target on new inputs, and `tests/fuzz_corpus.rs` on the stored corpus.

#![allow(clippy::unwrap_used, reason = "a target reports failures by panicking")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seconder::callback::{self, Received};
use seconder::engine::{SourceFormat, SourceOptions, UserRecord};
use seconder::model::{
    Action, ApiKey, ApprovalId, CountryCode, DisplayText, Email, PhoneNumber, Token, UserId,
    VerificationCode,
};
use seconder::otp::Totp;
use seconder::wire::{Names, form, json, xml};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::str::FromStr;

/// The name of a target's corpus, and the target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 9] = [
    ("json", json),
    ("xml", xml),
    ("form", form),
    ("callback", callback),
    ("values", values),
    ("calls", calls),
    ("retry_after", retry_after),
    ("name_server", name_server),
    ("source", source),
];

/// JSON that is read has every text and every digit that was written, and reads back as the same value.
pub fn json(data: &[u8]) {
    if let Ok(value) = json::read(data) {
        let text = std::str::from_utf8(data).unwrap().trim_start_matches('\u{feff}');
        is_as_written(&value, text.trim());
        assert_eq!(json::read(&json::write(&value)).unwrap(), value);
    }
}

/// Compares a value with its text, as serde_json takes it apart.
fn is_as_written(value: &Value, text: &str) {
    match value {
        Value::Object(fields) => {
            let written: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
            assert_eq!(written.len(), fields.len());
            fields.iter().for_each(|(name, value)| is_as_written(value, written[name].get()));
        }
        Value::Array(items) => {
            let written: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            assert_eq!(written.len(), items.len());
            items.iter().zip(written).for_each(|(value, text)| is_as_written(value, text.get()));
        }
        Value::String(kept) if text.starts_with('"') => {
            assert_eq!(*kept, serde_json::from_str::<String>(text).unwrap());
        }
        Value::String(kept) => assert_eq!(kept, text),
        other => assert_eq!(other.to_string(), text),
    }
}

/// XML that is read can be written and read again, and writing it again changes nothing.
pub fn xml(data: &[u8]) {
    if let Ok(value) = xml::read(data) {
        let written = xml::write(&value);
        let again = xml::read(&written).unwrap();
        assert_eq!(xml::write(&again), written);
    }
}

/// A form that is read and written reads back as the same parameters.
pub fn form(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(params) = form::read(text)
        && !has_bracket(&Value::Object(params.clone()))
    {
        assert_eq!(form::read(&form::write(&params)).unwrap(), params);
    }
}

/// Whether a name has a bracket. A form cannot distinguish it from the brackets of its structure.
fn has_bracket(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.is_empty() || key.contains(['[', ']']) || has_bracket(value)),
        Value::Array(items) => items.iter().any(has_bracket),
        _ => false,
    }
}

/// A callback verifies only with the signature of its whole contents, and only with the same key.
pub fn callback(data: &[u8]) {
    let key: ApiKey = "key".parse().unwrap();
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
    // Depth and size are bounded for signing, so a body beyond a bound can be read but not signed.
    let deep_or_long =
        body.len() > 1000 || body.iter().filter(|byte| b"[{".contains(byte)).count() > 60;
    assert!(
        deep_or_long || callback::query(body).is_ok() == read,
        "a body can be signed if and only if it can be read"
    );
    if let Ok(signature) = callback::sign(&key, "1", "https://app.example/callback", body) {
        // `sign` signs a POST, so the signature is not valid for a GET.
        let verified = callback::verify_parameters(&key, &received(&signature)).is_ok();
        assert_eq!(verified, method == "POST");
        let other: ApiKey = "another-key".parse().unwrap();
        assert!(callback::verify_parameters(&other, &received(&signature)).is_err());
    }
}

/// A value is accepted unchanged or not at all, and one for a path has no character that could
/// leave its segment.
pub fn values(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = |value: Option<String>| {
        if let Some(value) = value {
            assert_eq!(value, text);
            assert!(value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{value}");
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
        DisplayText::from_str(text).ok().map(|text| text.as_str().to_owned()),
    ]
    .into_iter()
    .flatten()
    {
        assert_eq!(plain, text);
    }
    // These must not panic.
    let _ = (Totp::from_uri(text), Names::new(text));
}

/// The service handles any parameters without a panic, and never accepts a wrong token.
pub fn calls(data: &[u8]) {
    use seconder::calls::{ROUTES, dispatch};
    use seconder::wire::{Format, Generation};
    let Some((choice, rest)) = data.split_first() else { return };
    let route = ROUTES[usize::from(*choice) % ROUTES.len()];
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let Ok(params) = form::read(text) else { return };
    let service = seconder::open("sandbox:?accept=999999999999").unwrap();
    let request = route.request(Format::Json, Generation::Current, params);
    let has_right_token = text.contains("999999999999");
    if let Some((_, reply)) = dispatch(&service, request, Generation::Current) {
        let right = reply.body.get("token").is_some_and(|token| token == "is valid");
        assert!(!right || has_right_token);
    }
}

/// A `Retry-After` header is accepted only as a number of seconds, or as a date beside the date of
/// the response.
pub fn retry_after(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (after, date) = text.split_once('\n').map_or((text, None), |(a, d)| (a, Some(d)));
    if let Some(wait) = seconder::remote::retry_after(after, date) {
        let seconds = after.bytes().all(|byte| byte.is_ascii_digit());
        assert!(seconds || date.is_some(), "{wait:?}");
    }
}

/// Each address that is read from a name server's response occurs in its bytes.
pub fn name_server(data: &[u8]) {
    for address in seconder::remote::addresses_in("a.b", data) {
        let bytes = match address {
            std::net::IpAddr::V4(address) => address.octets().to_vec(),
            std::net::IpAddr::V6(address) => address.octets().to_vec(),
        };
        assert!(data.windows(bytes.len()).any(|window| window == bytes), "{address}");
    }
}

/// A file of another program is read as users, each with apps. What is read of an export of Google Authenticator has the
/// secrets that are in it.
pub fn source(data: &[u8]) {
    let options = |user: Option<&str>| SourceOptions {
        user: user.map(str::to_owned),
        ..SourceOptions::default()
    };
    for format in SourceFormat::ALL {
        for user in [None, Some("ada")] {
            let lines = format.read(data, &options(user)).unwrap_or_default();
            for fields in lines.into_iter().filter_map(|(_, fields)| fields.ok()) {
                assert!(!fields["authenticators"].as_array().unwrap().is_empty());
                drop(UserRecord::read(fields, &Names::default(), &mut None));
            }
        }
    }
    let payload = STANDARD.encode(data).replace('+', "%2B");
    let uri = format!("otpauth-migration://offline?data={payload}");
    for (_, fields) in SourceFormat::Otpauth.read(uri.as_bytes(), &options(Some("ada"))).unwrap() {
        let Ok(fields) = fields else { continue };
        let data: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        for app in fields["authenticators"].as_array().unwrap() {
            assert!(data.contains(app["secret_hex"].as_str().unwrap()));
        }
    }
}
