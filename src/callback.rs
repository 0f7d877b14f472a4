//! Callbacks: what a service posts when a user answered an approval request (interface 5.5 and 6).
//!
//! Nothing of a callback is to be believed before its signature held, so [`verify`] alone gives an
//! [`Event`].

mod canonical;

use crate::calls::{ApprovalStatus, Device};
use crate::model::{ApprovalId, Secret, UserId};
use crate::wire::{form, json, loose};
use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

/// A callback as it was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The callback URL as it is configured with the service: scheme included, no parameters.
    /// Never take it from the request's `Host`.
    pub url: &'a str,
    /// The request's method: `POST` or `GET`.
    pub method: &'a str,
    /// The raw query of a GET, without the `?`; for a POST, empty.
    pub query: &'a str,
    /// The raw body of a POST, JSON or form; for a GET, empty.
    pub body: &'a [u8],
    /// The header `X-Svc-Signature`; empty when it was missing.
    pub signature: &'a str,
    /// The header `X-Svc-Signature-Nonce`; empty when it was missing.
    pub nonce: &'a str,
}

/// An answer to an approval request, told by the service itself.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The approval request.
    pub uuid: ApprovalId,
    /// How the user answered.
    pub status: ApprovalStatus,
    /// The user who answered, where the service tells. Compare it with the user who logs in.
    pub svc_id: Option<UserId>,
    /// The device that answered, where the service tells.
    pub device: Option<Device>,
    /// Everything that was received.
    pub parameters: Map<String, Value>,
}

/// Checks a callback's signature and reads it. The same callback can be received twice: keep the
/// `uuid` of what was acted upon.
///
/// # Errors
/// [`Error::Forged`] with the reason.
pub fn verify(api_key: &Secret, received: &Received<'_>) -> Result<Event> {
    #[derive(Deserialize)]
    struct Body {
        uuid: ApprovalId,
        status: ApprovalStatus,
        svc_id: Option<UserId>,
        device: Option<Device>,
    }
    let parameters = verify_parameters(api_key, received)?;
    let body: Body = loose::read(parameters.clone())
        .map_err(|mismatch| forged(&format!("it is signed, but {mismatch}")))?;
    let Body { uuid, status, svc_id, device } = body;
    Ok(Event { uuid, status, svc_id, device, parameters })
}

/// Checks a callback's signature, whatever its parameters mean.
///
/// # Errors
/// [`Error::Forged`] with the reason.
pub fn verify_parameters(api_key: &Secret, received: &Received<'_>) -> Result<Map<String, Value>> {
    let Received { url, method, query, body, signature, nonce } = *received;
    if api_key.expose().is_empty() {
        return Err(Error::invalid("api_key", "must not be empty: every signature would hold"));
    }
    if signature.is_empty() || nonce.is_empty() {
        return Err(forged("it has no signature, or no nonce"));
    }
    if nonce.contains('|') || url.contains(['|', '?', '#']) {
        return Err(forged("the nonce or the URL has a character that neither can have"));
    }
    let carrier = match method {
        "GET" => Carrier::Form(query),
        "POST" if is_json(body) => Carrier::Json(body),
        "POST" => Carrier::Form(std::str::from_utf8(body).map_err(|_| forged("not UTF-8"))?),
        _ => return Err(forged("its method is neither GET nor POST")),
    };
    let unreadable = |_| forged("its parameters cannot be read");
    let (canonical, parameters) = match carrier {
        Carrier::Json(body) => (canonical::of_json(body)?, json::read(body).map_err(unreadable)?),
        Carrier::Form(text) => {
            let parameters = Value::Object(form::read(text).map_err(unreadable)?);
            (canonical::of_form(text).map_err(unreadable)?, parameters)
        }
    };
    let holds = |canonical: &str| {
        let wanted = signature_of(api_key, nonce, method, url, canonical);
        bool::from(wanted.as_bytes().ct_eq(signature.as_bytes()))
    };
    // What a service sends as a form is canonical already, and its order of lists is known there.
    let as_sent = matches!(carrier, Carrier::Form(text) if holds(text));
    match parameters {
        Value::Object(parameters) if holds(&canonical) || as_sent => Ok(parameters),
        _ => Err(forged("the signature does not hold for this URL, method and parameters")),
    }
}

/// The signature of a JSON body that is posted to `url` (interface 5.5).
///
/// # Errors
/// [`Error::Forged`] when the body is not a JSON object.
pub fn sign(api_key: &Secret, nonce: &str, url: &str, body: &[u8]) -> Result<String> {
    Ok(signature_of(api_key, nonce, "POST", url, &canonical::of_json(body)?))
}

#[derive(Clone, Copy)]
enum Carrier<'a> {
    Json(&'a [u8]),
    Form(&'a str),
}

fn is_json(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

fn signature_of(key: &Secret, nonce: &str, method: &str, url: &str, params: &str) -> String {
    // HMAC takes a key of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(key.expose().as_bytes()) else {
        return String::new();
    };
    for part in [nonce, "|", method, "|", url, "|", params] {
        mac.update(part.as_bytes());
    }
    STANDARD.encode(mac.finalize().into_bytes())
}

fn forged(message: &str) -> Error {
    Error::Forged { message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors() -> Vec<Value> {
        let text = include_str!("../tests/vectors/callback_signature.json");
        serde_json::from_str(text).unwrap()
    }

    fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
        vector[field].as_str().unwrap_or_default()
    }

    fn check(vector: &Value, change: impl Fn(&mut Received<'_>)) -> Result<Map<String, Value>> {
        let canonical = canonical::of_json(text(vector, "params_json").as_bytes());
        let canonical = canonical.unwrap_or_default();
        let body = if text(vector, "method") == "GET" { "" } else { text(vector, "params_json") };
        let mut received = Received {
            url: text(vector, "url"),
            method: text(vector, "method"),
            query: vector["query"].as_str().unwrap_or(&canonical),
            body: vector["body"].as_str().unwrap_or(body).as_bytes(),
            signature: text(vector, "signature"),
            nonce: text(vector, "nonce"),
        };
        change(&mut received);
        verify_parameters(&Secret::new(text(vector, "api_key")), &received)
    }

    #[test]
    fn recorded_callbacks() {
        for vector in vectors() {
            let held = check(&vector, |_| ()).is_ok();
            assert_eq!(held, text(&vector, "expect") == "valid", "{}", text(&vector, "name"));
        }
    }

    #[test]
    fn nothing_can_be_changed_or_left_out() {
        for vector in vectors().iter().filter(|vector| vector["expect"] == "valid") {
            assert!(check(vector, |r| r.signature = "").is_err());
            assert!(check(vector, |r| r.nonce = "").is_err());
            assert!(check(vector, |r| r.nonce = "1512923418").is_err());
            assert!(check(vector, |r| r.method = "PUT").is_err());
            assert!(check(vector, |r| r.method = "post").is_err());
            let other = if vector["method"] == "GET" { "POST" } else { "GET" };
            assert!(check(vector, |r| r.method = other).is_err());
            assert!(check(vector, |r| r.url = "https://elsewhere.example/").is_err());
            assert!(
                check(vector, |r| {
                    (r.body, r.query) = (br#"{"status":"approved"}"#, "status=approved");
                })
                .is_err()
            );
        }
    }

    #[test]
    fn an_event_is_what_was_signed() {
        let key = Secret::new("key");
        let url = "https://app.example/callback";
        let body = br#"{"svc_id":7,"uuid":"ab-1","status":"approved","device":{"id":3}}"#;
        let signature = sign(&key, "1", url, body).unwrap();
        let received =
            Received { url, method: "POST", query: "", body, signature: &signature, nonce: "1" };
        let event = verify(&key, &received).unwrap();
        assert_eq!(event.status, ApprovalStatus::Approved);
        assert_eq!((event.uuid.as_str(), event.svc_id.map(UserId::get)), ("ab-1", Some(7)));
        assert!(verify(&Secret::new("other"), &received).is_err());
        assert!(verify(&Secret::new(""), &received).is_err());
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_though_it_is_signed() {
        let key = Secret::new("key");
        let body = br#"{"uuid":"a","status":"denied","status":"approved"}"#;
        let signature = sign(&key, "1", "https://a.example/", body).unwrap();
        let received = Received {
            url: "https://a.example/",
            method: "POST",
            query: "",
            body,
            signature: &signature,
            nonce: "1",
        };
        assert!(verify(&key, &received).is_err());
    }
}
