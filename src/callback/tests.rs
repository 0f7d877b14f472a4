//! Recorded callbacks, attempts to forge one, and properties of all.

mod properties;

use super::*;
use crate::calls::ApprovalStatus;
use crate::model::UserId;
use crate::wire::Names;
use std::sync::Arc;
use std::time::Duration;

const URL: &str = "https://app.example/callback";
const NONCE: &str = "1700000000.123456789";
const NOW: u64 = 1_700_000_000;

fn key() -> ApiKey {
    "key".parse().unwrap()
}

fn user(id: &str) -> UserId {
    id.parse().unwrap()
}

fn vectors() -> Vec<Value> {
    let text = include_str!("../../tests/vectors/callback_signature.json");
    serde_json::from_str(text).unwrap()
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().unwrap_or_default()
}

/// Passes a recorded callback to `then` after `change` was applied.
fn with<T>(
    vector: &Value,
    change: impl Fn(&mut Received<'_>),
    then: impl Fn(&ApiKey, &Received<'_>) -> T,
) -> T {
    let query = query(text(vector, "params_json").as_bytes()).unwrap_or_default();
    let body = if text(vector, "method") == "GET" { "" } else { text(vector, "params_json") };
    let mut received = Received {
        url: text(vector, "url"),
        method: text(vector, "method"),
        query: vector["query"].as_str().unwrap_or(&query),
        body: vector["body"].as_str().unwrap_or(body).as_bytes(),
        signature: text(vector, "signature"),
        nonce: text(vector, "nonce"),
    };
    change(&mut received);
    then(&text(vector, "api_key").parse().unwrap(), &received)
}

fn valid() -> Vec<Value> {
    vectors().into_iter().filter(|vector| vector["expect"] == "valid").collect()
}

fn post(body: &[u8], change: impl Fn(&mut Received<'_>)) -> Result<Event> {
    let signature = sign(&key(), NONCE, URL, body).unwrap();
    let mut received = Received { url: URL, ..Received::post(body, &signature, NONCE) };
    change(&mut received);
    verify(&key(), &received)
}

fn get(query: &str, sent: &str) -> Result<Event> {
    let signature = sign_query(&key(), NONCE, URL, query).unwrap();
    verify(&key(), &Received { url: URL, ..Received::get(sent, &signature, NONCE) })
}

#[test]
fn recorded_callbacks() {
    for vector in vectors() {
        let valid = with(&vector, |_| (), |key, received| verify_parameters(key, received).is_ok());
        assert_eq!(valid, text(&vector, "expect") == "valid", "{}", text(&vector, "name"));
    }
}

#[test]
fn recorded_responses_are_events_under_the_names_of_their_service() {
    let names = Names::new("authy").unwrap();
    for vector in valid() {
        let event = with(
            &vector,
            |_| (),
            |key, received| Verifier::new(key.clone()).names(names.clone()).verify(received, 0),
        );
        let name = text(&vector, "name");
        if name.starts_with("approved") {
            let event = event.unwrap();
            assert!(event.approved_by(user("688611")) && !event.approved_by(user("688612")));
            let device = event.device().unwrap();
            assert_eq!((device.id, device.city), (Some(2_102_943), None), "{name}");
            assert_eq!(device.registration_date, Some(1_505_418_165), "{name}");
        } else if name.starts_with("space") {
            assert!(event.unwrap_err().to_string().contains("uuid is required"));
        }
    }
}

#[test]
fn nothing_can_be_changed_or_omitted() {
    for vector in valid() {
        let rejected = |change: &dyn Fn(&mut Received<'_>)| {
            let error = with(&vector, change, verify_parameters).unwrap_err();
            assert!(matches!(error, Error::InvalidCallback { .. }), "{error:?}");
        };
        rejected(&|r| r.signature = "");
        rejected(&|r| r.nonce = "");
        rejected(&|r| (r.signature, r.nonce) = ("", ""));
        rejected(&|r| r.nonce = "1512923418");
        rejected(&|r| r.nonce = "1512923419|POST");
        rejected(&|r| r.method = "PUT");
        rejected(&|r| r.method = "post");
        rejected(&|r| r.method = "");
        let other = if vector["method"] == "GET" { "POST" } else { "GET" };
        rejected(&|r| r.method = other);
        rejected(&|r| r.url = "https://other.example/");
        rejected(&|r| (r.body, r.query) = (br#"{"status":"approved"}"#, "status=approved"));
        rejected(&|r| r.signature = &r.signature[..43]);
    }
}

#[test]
fn an_event_has_the_signed_content() {
    let body = br#"{"svc_id":7,"uuid":"ab-1","status":"approved","device":{"id":3},"x":{"y":[]}}"#;
    let event = post(body, |_| ()).unwrap();
    assert_eq!(event.status, ApprovalStatus::Approved);
    assert_eq!((event.uuid.as_str(), event.user_id), ("ab-1", Some(user("7"))));
    assert_eq!(event.device().as_ref().and_then(|device| device.id), Some(3));
    assert!(event.approved_by(user("7")) && !event.approved_by(user("8")));
    assert!(!event.parameters().contains_key("x"), "empty values are not signed");
    for (key, bad) in [("other", true), ("key", false)] {
        let signature = sign(&super::tests::key(), NONCE, URL, body).unwrap();
        let received = Received { url: URL, ..Received::post(body, &signature, NONCE) };
        assert_eq!(verify(&key.parse().unwrap(), &received).is_err(), bad);
    }
}

#[test]
fn a_device_loses_only_the_fields_that_do_not_fit() {
    let device = |device: &str| {
        let body =
            format!(r#"{{"svc_id":7,"uuid":"ab-1","status":"approved","device":{{{device}}}}}"#);
        post(body.as_bytes(), |_| ()).unwrap().device()
    };
    let found = device(r#""id":"abc","os_type":"ios","registration_date":"2017-09-14""#).unwrap();
    assert_eq!((found.id, found.registration_date), (None, None));
    assert_eq!(found.os_type.as_deref(), Some("ios"));
    assert_eq!(device(r#""id":"abc""#), None, "nothing is left");
}

#[test]
fn only_an_approval_by_the_same_user_counts() {
    let by = |body: &str| post(body.as_bytes(), |_| ()).is_ok_and(|e| e.approved_by(user("7")));
    assert!(by(r#"{"svc_id":"7","uuid":"a","status":"approved"}"#));
    assert!(by(r#"{"svc_id":7,"uuid":"a","status":"approved","device":"a browser"}"#));
    for bad in [
        r#"{"svc_id":7,"uuid":"a","status":"denied"}"#,
        r#"{"svc_id":7,"uuid":"a","status":"APPROVED"}"#,
        r#"{"svc_id":7,"uuid":"a","status":["approved"]}"#,
        r#"{"svc_id":7,"uuid":"a"}"#,
        r#"{"svc_id":8,"uuid":"a","status":"approved"}"#,
        r#"{"svc_id":null,"uuid":"a","status":"approved"}"#,
        r#"{"svc_id":"","uuid":"a","status":"approved"}"#,
        r#"{"svc_id":"7 ","uuid":"a","status":"approved"}"#,
        r#"{"uuid":"a","status":"approved"}"#,
        r#"{"svc_id":7,"status":"approved"}"#,
        r#"{"svc_id":7,"uuid":"a","status":"approved","callback_action":"user_added"}"#,
        r#"{"approval_request":{"svc_id":7,"uuid":"a","status":"approved"}}"#,
    ] {
        assert!(!by(bad), "{bad}");
    }
}

/// A signer that accepts such a body must write its pairs in one of these orders.
#[test]
fn a_body_with_a_duplicate_field_is_rejected() {
    let body = br#"{"status":"denied","status":"approved","svc_id":7,"uuid":"a"}"#;
    assert!(sign(&key(), NONCE, URL, body).is_err());
    for status in ["denied&status=approved", "approved&status=denied", "approved", "denied"] {
        let pairs = format!("status={status}&svc_id=7&uuid=a");
        let signature = signed(&key(), NONCE, "POST", URL, &pairs).unwrap();
        let received = Received { url: URL, ..Received::post(body, &signature, NONCE) };
        assert!(verify(&key(), &received).is_err(), "{status}");
    }
}

/// If a signature does not distinguish two bodies, both have the same meaning or are rejected.
#[test]
fn bodies_with_the_same_signature_do_not_differ_in_meaning() {
    let with = |more: &str| format!("{{\"svc_id\":7,\"status\":\"approved\",{more}}}");
    for (one, other) in [
        (r#""uuid":"100e-9""#, r#""uuid":100e-9"#),
        (r#""uuid":"100000000000000000000001""#, r#""uuid":100000000000000000000001"#),
        (r#""uuid":"a","device":{"id":3}"#, r#""uuid":"a","device[id]":3"#),
        (
            r#""uuid":"a","device":{"id":3,"ip":"x"}"#,
            r#""uuid":"a","device":{"id":3},"device[ip]":"x""#,
        ),
        (r#""uuid":"a","device":{"id":{"b":1}}"#, r#""uuid":"a","device":{"id][b":1}"#),
        (r#""uuid":"a","device":{"city":"1.10"}"#, r#""uuid":"a","device":{"city":1.10}"#),
        (r#""uuid":"a","device":{"city":"1e2"}"#, r#""uuid":"a","device":{"city":1e2}"#),
        (r#""uuid":"a","device":{"city":"1E2"}"#, r#""uuid":"a","device":{"city":1E2}"#),
        (r#""uuid":"a","device":{"city":"-0"}"#, r#""uuid":"a","device":{"city":-0}"#),
        (
            r#""uuid":"a","device":{"city":"100000000000000000001"}"#,
            r#""uuid":"a","device":{"city":100000000000000000001}"#,
        ),
        (
            r#""uuid":"a","device":{"city":"-9223372036854775809"}"#,
            r#""uuid":"a","device":{"city":-9223372036854775809}"#,
        ),
        (
            r#""uuid":"a","device":{"id":3,"ip":{"b":1}}"#,
            r#""uuid":"a","device":{"id":3,"ip][b":1}"#,
        ),
        (
            r#""uuid":"a","device":{"id":3,"ip":{"b":1}}"#,
            r#""uuid":"a","device":{"id":3,"ip\u005d\u005bb":1}"#,
        ),
        (
            r#""uuid":"a","device":{"registration_date":"-0"}"#,
            r#""uuid":"a","device":{"registration_date":-0}"#,
        ),
        (
            r#""uuid":"a","device":{"id":"x","city":"1.10"}"#,
            r#""uuid":"a","device":{"id":"x","city":1.10}"#,
        ),
        (r#""uuid":"a","device":["x"]"#, r#""uuid":"a","device":{"":"x"}"#),
        (r#""uuid":"a","device":{"id":"3"}"#, r#""uuid":"a","d\u0065vice":{"\u0069d":3}"#),
    ] {
        let (one, other) = (with(one), with(other));
        assert_eq!(query(one.as_bytes()).unwrap(), query(other.as_bytes()).unwrap());
        let event = post(one.as_bytes(), |_| ()).unwrap();
        match post(other.as_bytes(), |_| ()) {
            // A number and a text are both accepted.
            Err(error) if !other.contains(['[', '\\']) => panic!("{other}: {error:?}"),
            Ok(found) => {
                assert_eq!((&found.uuid, found.device()), (&event.uuid, event.device()), "{other}")
            }
            Err(error) => assert!(matches!(error, Error::InvalidCallback { .. }), "{error:?}"),
        }
    }
    let height = post(with(r#""uuid":"a","device":{"id":3,"height":1.5}"#).as_bytes(), |_| ());
    assert_eq!(height.unwrap().device().unwrap().id, Some(3), "the number is not used");
    for (unsigned, id) in [(r#""device":{"id":3,"":{}}"#, Some(3)), (r#""device[id]":{}"#, None)] {
        let event = post(with(&format!(r#""uuid":"a",{unsigned}"#)).as_bytes(), |_| ()).unwrap();
        assert_eq!(event.device().and_then(|device| device.id), id, "{unsigned}");
    }
}

#[test]
fn a_user_has_one_name_and_is_not_an_object() {
    let names = Names::new("acme").unwrap();
    let as_acme = |body: &str| {
        let signature = sign(&key(), NONCE, URL, body.as_bytes()).unwrap();
        let verifier = Verifier::new(key()).url(URL).names(names.clone());
        verifier.verify(&Received::post(body.as_bytes(), &signature, NONCE), NOW)
    };
    let body = |user: &str| format!(r#"{{{user},"uuid":"a","status":"approved"}}"#);
    assert!(as_acme(&body(r#""acme_id":7"#)).unwrap().approved_by(user("7")));
    assert!(as_acme(&body(r#""acme_id":8,"svc_id":7"#)).is_err());
    assert!(!as_acme(&body(r#""acme_id":{"a":7}"#)).unwrap().approved_by(user("7")));
    let device = body(r#""acme_id":7,"device":{"acme_id":1,"svc_id":2,"id":3}"#);
    assert!(as_acme(&device).unwrap().approved_by(user("7")), "a device affects no decision");
    let nested = post(body(r#""svc_id":{"a":7}"#).as_bytes(), |_| ()).unwrap();
    assert_eq!(nested.user_id, None);
}

#[test]
fn events_are_compared_by_content() {
    let event_of = |body: &[u8]| post(body, |_| ()).unwrap();
    let event = event_of(br#"{"uuid":"a","status":"approved","more":1}"#);
    assert_eq!(event, event_of(br#" { "more":1, "status":"approved","uuid":"a", "x":{} } "#));
    assert_ne!(event, event_of(br#"{"uuid":"a","status":"approved","more":2}"#));
    assert_ne!(event, event_of(br#"{"uuid":"a","status":"denied","more":1}"#));
}

/// The signed text is parsed: in the order that was received, it could mean another list.
#[test]
fn a_query_means_what_was_signed_in_whatever_order_it_is_received() {
    let by_whole_key = "d[][x]=1&d[][x]=3&d[][y]=2&d[][y]=4&status=denied&uuid=a";
    let escaped = by_whole_key.replace('[', "%5B").replace(']', "%5D");
    let signature = signed(&key(), NONCE, "GET", URL, &escaped).unwrap();
    let parameters = |query: &str| {
        let received = Received { url: URL, ..Received::get(query, &signature, NONCE) };
        verify_parameters(&key(), &received).unwrap()
    };
    let other = "uuid=a&d[][x]=1&d[][y]=2&d[][x]=3&d[][y]=4&status=denied";
    assert_eq!(parameters(by_whole_key), parameters(other));
    assert_eq!(parameters(other)["d"], serde_json::json!([{"x":"1"},{"x":"3","y":"2"},{"y":"4"}]));
}

#[test]
fn a_query_can_be_an_event() {
    let sent = "device%5Bid%5D=&status=approved&svc_id=7&uuid=a";
    assert!(get(sent, sent).unwrap().approved_by(user("7")));
    assert!(get(sent, "uuid=a&svc_id=7&status=%61pproved&device[id]=").is_ok());
    for changed in [
        "",
        "device%5Bid%5D=&status=approved&svc_id=8&uuid=a",
        "device%5Bid%5D=&status=approved&svc_id=7&uuid=a&more=1",
        "status=approved&svc_id=7&uuid=a",
    ] {
        assert!(get(sent, changed).is_err(), "{changed}");
    }
    let twice = "status=denied&status=approved&svc_id=7&uuid=a";
    assert!(get(twice, twice).is_err(), "it is ambiguous");
}

#[test]
fn a_list_keeps_its_order() {
    let one = "l%5B%5D=1&l%5B%5D=2&status=denied&uuid=a";
    assert!(get(one, one).is_ok());
    assert!(get(one, "l%5B%5D=2&l%5B%5D=1&status=denied&uuid=a").is_err());
    let list = |l: &str| format!(r#"{{"uuid":"a","status":"denied","l":{l}}}"#);
    let hashes = query(list(r#"[{"x":1,"y":2},{"x":3,"y":4}]"#).as_bytes()).unwrap();
    let event = get(&hashes, &hashes).unwrap();
    assert_eq!(event.parameters()["l"], serde_json::json!([{"x":"1","y":"2"},{"x":"3","y":"4"}]));
    let other = query(list(r#"[{"x":1},{"x":3,"y":2},{"y":4}]"#).as_bytes()).unwrap();
    assert!(get(&hashes, &other).is_err());
}

#[test]
fn several_urls_can_be_configured_and_no_other_is_accepted() {
    let body = br#"{"svc_id":7,"uuid":"a","status":"approved"}"#;
    let verifier = Verifier::new(key()).url("https://old.example/").url(URL);
    let check = |sent_to: &str, claimed: &str| {
        let signature = sign(&key(), NONCE, sent_to, body).unwrap();
        let received = Received { url: claimed, ..Received::post(body, &signature, NONCE) };
        verifier.verify(&received, 0)
    };
    assert!(check(URL, "").is_ok() && check("https://old.example/", "").is_ok());
    assert!(check(URL, URL).is_ok());
    let with_parameters = format!("{URL}?from=2fa");
    assert!(check(&with_parameters, &with_parameters).is_ok());
    for (sent_to, claimed) in [
        ("http://app.example/callback", ""),
        ("https://evil.example/", "https://evil.example/"),
        (URL, "https://old.example/"),
    ] {
        assert!(matches!(check(sent_to, claimed), Err(Error::InvalidCallback { .. })), "{sent_to}");
    }
    let signature = sign(&key(), NONCE, URL, body).unwrap();
    let nowhere = Verifier::new(key()).verify(&Received::post(body, &signature, NONCE), 0);
    assert!(matches!(nowhere, Err(Error::InvalidArgument { .. })));
}

#[test]
fn stale_callbacks_are_rejected() {
    let body = br#"{"svc_id":7,"uuid":"a","status":"approved"}"#;
    let verifier = Verifier::new(key()).url(URL).fresh(Duration::from_secs(300));
    let check = |nonce: &str, now| {
        let signature = sign(&key(), nonce, URL, body).unwrap();
        verifier.verify(&Received::post(body, &signature, nonce), now)
    };
    for now in [NOW - 300, NOW, NOW + 300] {
        assert!(check(NONCE, now).is_ok() && check("1700000000", now).is_ok());
    }
    for now in [0, NOW - 301, NOW + 301, u64::MAX] {
        assert!(matches!(check(NONCE, now), Err(Error::InvalidCallback { .. })), "{now}");
    }
    for nonce in ["soon", ".5", "-1", "+1700000000", " 1700000000", "1700000000x", "1700000000 ."] {
        assert!(check(nonce, NOW).is_err(), "{nonce}");
    }
    assert!(check("99999999999999999999", u64::MAX).is_err());
}

#[test]
fn replays_are_rejected_and_forgeries_are_not_remembered() {
    let body = br#"{"svc_id":7,"uuid":"a","status":"approved"}"#;
    let memory = Arc::new(replay::Memory::new(1));
    let verifier = Verifier::new(key()).url(URL).fresh(Duration::from_secs(300));
    let verifier = verifier.replay(Arc::clone(&memory));
    let signature = sign(&key(), NONCE, URL, body).unwrap();
    let forged = sign(&"other".parse().unwrap(), NONCE, URL, body).unwrap();
    assert!(verifier.verify(&Received::post(body, &forged, NONCE), NOW).is_err());
    assert!(verifier.verify(&Received::post(body, &signature, NONCE), NOW + 301).is_err());
    assert!(verifier.verify(&Received::post(body, &signature, NONCE), NOW).is_ok());
    let spaced = br#" {"uuid":"a","svc_id":7, "status":"approved"}"#;
    for again in [body.as_slice(), spaced] {
        let error = verifier.clone().verify(&Received::post(again, &signature, NONCE), NOW + 300);
        assert!(
            matches!(error, Err(Error::InvalidCallback { message }) if message.contains("before"))
        );
    }
    let next = sign(&key(), "1700000001", URL, body).unwrap();
    let next = Received::post(body, &next, "1700000001");
    assert!(matches!(verifier.verify(&next, NOW), Err(Error::RateLimited { .. })), "it is full");
}

#[test]
fn unsignable_input_is_rejected() {
    assert!(sign(&key(), "", URL, b"{}").is_err() && sign(&key(), "a|b", URL, b"{}").is_err());
    assert!(sign(&key(), NONCE, "", b"{}").is_err() && sign(&key(), NONCE, "a|b", b"{}").is_err());
    assert!(sign(&key(), NONCE, URL, b"[]").is_err());
    assert!(sign_query(&key(), NONCE, URL, "%zz").is_err());
}
