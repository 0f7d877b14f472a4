//! Callbacks as other implementations sign them: a signer that writes the parameters as each version
//! of Rails does, compared with what the verifier accepts and with what the engine sends.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{self, ada};
use base64::Engine as _;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use seconder::callback::{self, Event, Received, Verifier};
use seconder::engine::{ApprovalResponse, DeviceType, Post, RespondToApproval, SignedCallback};
use seconder::model::ApiKey;
use seconder::{Error, Handle, Settings, calls};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

const URL: &str = "https://app.example/callback";
const NONCE: &str = "1700000000.5";

/// The signers: the versions of `Hash#to_query` in Rails, and two that omit everything empty.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Signer {
    Rails3,
    Rails4,
    Rails521,
    Plain,
    PlainInOrder,
}
use Signer::{Plain, PlainInOrder, Rails3, Rails4, Rails521};

const SIGNERS: [Signer; 5] = [Rails3, Rails4, Rails521, Plain, PlainInOrder];

impl Signer {
    /// The text that is signed.
    fn text(self, body: &Value) -> String {
        self.object(body.as_object().unwrap(), None).unwrap_or_default()
    }

    /// `Hash#to_query`. `None` if it is omitted.
    fn object(self, fields: &Map<String, Value>, namespace: Option<&str>) -> Option<String> {
        let part = |(name, value): (&String, &Value)| {
            let key = match namespace {
                Some(namespace) => format!("{namespace}[{name}]"),
                None => name.clone(),
            };
            match is_empty(value) && self != Rails3 {
                true => None,
                false => self.value(value, &key),
            }
        };
        let mut parts: Vec<String> = fields.iter().filter_map(part).collect();
        let in_list = namespace.is_some_and(|namespace| namespace.contains("[]"));
        if !(in_list && matches!(self, Rails521 | PlainInOrder)) {
            parts.sort();
        }
        (!parts.is_empty() || !self.is_plain()).then(|| parts.join("&"))
    }

    /// `Object#to_query`.
    fn value(self, value: &Value, key: &str) -> Option<String> {
        let text = match value {
            Value::Object(fields) => return self.object(fields, Some(key)),
            Value::Array(items) if items.is_empty() && matches!(self, Rails4 | Rails521) => {
                return self.value(&Value::Null, &format!("{key}[]"));
            }
            Value::Array(items) => {
                let key = format!("{key}[]");
                let parts: Vec<String> =
                    items.iter().filter_map(|item| self.value(item, &key)).collect();
                return (!parts.is_empty() || !self.is_plain()).then(|| parts.join("&"));
            }
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(format!("{}={}", escape(key), escape(&text)))
    }

    fn is_plain(self) -> bool {
        matches!(self, Plain | PlainInOrder)
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// `CGI.escape`
fn escape(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn key() -> ApiKey {
    "key".parse().unwrap()
}

fn signature(method: &str, text: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"key").unwrap();
    mac.update(format!("{NONCE}|{method}|{URL}|{text}").as_bytes());
    base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes())
}

fn posted(body: &[u8], text: &str) -> Result<Event, Error> {
    let signature = signature("POST", text);
    Verifier::new(key()).url(URL).verify(&Received::post(body, &signature, NONCE), 0)
}

fn got(query: &str, text: &str) -> Result<Event, Error> {
    let signature = signature("GET", text);
    Verifier::new(key()).url(URL).verify(&Received::get(query, &signature, NONCE), 0)
}

/// An approval with these further fields.
fn with(more: &str) -> Value {
    serde_json::from_str(&format!(r#"{{"uuid":"a","status":"approved","svc_id":7,{more}}}"#))
        .unwrap()
}

#[test]
fn the_signers_write_what_rails_writes() {
    let list = r#""l":[{"y":1,"x":{"b":2,"a":3}},{"x":4}]"#;
    let y_first = "l%5B%5D%5By%5D=1&l%5B%5D%5Bx%5D%5Bb%5D=2&l%5B%5D%5Bx%5D%5Ba%5D=3";
    let x_first = "l%5B%5D%5Bx%5D%5Ba%5D=3&l%5B%5D%5Bx%5D%5Bb%5D=2&l%5B%5D%5By%5D=1";
    let rest = "status=approved&svc_id=7&uuid=a";
    for (signer, more, wanted) in [
        (Rails521, list, format!("{y_first}&l%5B%5D%5Bx%5D=4&{rest}")),
        (Rails4, list, format!("{x_first}&l%5B%5D%5Bx%5D=4&{rest}")),
        (Rails4, r#""l":[1,{},2],"e":{}"#, format!("l%5B%5D=1&&l%5B%5D=2&{rest}")),
        (Rails4, r#""e":{"f":{}},"g":{"h":[]}"#, format!("&&{rest}")),
        (Rails4, r#""l":[[],{}]"#, format!("l%5B%5D%5B%5D=&&{rest}")),
        (Rails3, r#""e":{},"l":[[]]"#, format!("&&{rest}")),
        (Plain, r#""e":{"f":{}},"l":[{},1,[]]"#, format!("l%5B%5D=1&{rest}")),
    ] {
        let text = signer.text(&with(more));
        assert_eq!(text, wanted, "{signer:?} {more}");
        let event = posted(with(more).to_string().as_bytes(), &text).unwrap();
        assert!(event.approved_by("7".parse().unwrap()), "{signer:?} {more}");
        // The query that is sent by GET is the text itself.
        assert!(got(&text, &text).unwrap().approved_by("7".parse().unwrap()), "{signer:?} {more}");
    }
    let in_order = format!("{rest}&{y_first}");
    assert!(got(&in_order, &format!("{x_first}&{rest}")).is_ok(), "signed by an older Rails");
    assert!(got(&in_order, &format!("{rest}&&{y_first}")).is_err(), "an & that was not sent");
}

/// Names that look like the text of other pairs, and names that occur at the top level.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,2}",
        Just("status".to_owned()),
        Just("uuid".to_owned()),
        Just("svc_id".to_owned()),
        Just(String::new()),
        Just("[]".to_owned()),
        Just("]&status=denied".to_owned()),
        Just("x][status".to_owned()),
        Just("status]".to_owned()),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..20_u64).prop_map(Value::from),
        Just(Value::from("denied")),
        Just(Value::from("x&status=denied")),
        "[ -~]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            objects(inner),
        ]
    })
}

fn objects(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((name(), inner), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// A response whose fields are in any order.
fn response() -> impl Strategy<Value = Value> {
    let fields = (objects(tree()), 7..9_u64, "[ab]", prop_oneof![Just("approved"), Just("denied")]);
    fields.prop_flat_map(|(more, user, uuid, status)| {
        let mut fields: Vec<(String, Value)> = vec![
            ("svc_id".into(), user.into()),
            ("uuid".into(), uuid.into()),
            ("status".into(), status.into()),
            ("approval_request".into(), json!({ "transaction": more })),
            ("l".into(), json!([more, {}, [more]])),
        ];
        fields.extend(more.as_object().cloned().unwrap_or_default());
        let mut seen = std::collections::HashSet::new();
        fields.retain(|(name, _)| seen.insert(name.clone()));
        Just(fields).prop_shuffle().prop_map(|fields| Value::Object(fields.into_iter().collect()))
    })
}

/// What a program decides by.
fn decides(event: &Event) -> (String, calls::ApprovalStatus, Option<seconder::model::UserId>) {
    (event.uuid.as_str().to_owned(), event.status, event.user_id)
}

/// Changes to a captured body that could let it mean something else under the same signature.
fn forgeries(body: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let fields = body.as_object().unwrap();
    for (field, other) in
        [("status", "approved"), ("status", "denied"), ("uuid", "c"), ("svc_id", "9")]
    {
        let was = &fields[field];
        for nested in
            [json!([was]), json!([[was]]), json!({ "": was }), json!([{}, was]), json!({})]
        {
            let mut changed = fields.clone();
            changed.insert(field.into(), nested.clone());
            all.push(changed.clone());
            for name in ["[]", "]", "&", "%26", "=", "+", " "] {
                let mut beside = fields.clone();
                beside.insert(format!("{field}{name}"), was.clone());
                beside.insert(field.into(), other.into());
                all.push(beside);
            }
            changed.insert(field.into(), other.into());
            changed.insert("z".into(), json!([{ field: was }, nested]));
            all.push(changed);
        }
        let mut swapped = fields.clone();
        swapped.insert(field.into(), other.into());
        all.push(swapped.clone());
        swapped.shift_remove(field);
        all.push(swapped.clone());
        for (name, value) in fields {
            let mut moved = swapped.clone();
            moved.insert(name.clone(), json!([{ field: was }, value]));
            moved.insert(field.into(), value.clone());
            all.push(moved);
        }
    }
    all.into_iter().map(Value::Object).collect()
}

proptest! {
    // Each case has a hundred forgeries.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_callback_is_accepted_whichever_version_signed_it(body in response()) {
        for signer in SIGNERS {
            let text = signer.text(&body);
            let event = posted(body.to_string().as_bytes(), &text);
            prop_assert!(event.is_ok(), "{signer:?}: {body} {text}");
            prop_assert_eq!(event.unwrap().user_id.map(|id| id.get()), body["svc_id"].as_u64());
        }
    }

    #[test]
    fn no_other_body_decides_differently(
        body in response(), other in response(), signer in prop::sample::select(&SIGNERS[..]),
    ) {
        let text = signer.text(&body);
        let event = posted(body.to_string().as_bytes(), &text).unwrap();
        for forged in forgeries(&body).into_iter().chain([other]) {
            if let Ok(found) = posted(forged.to_string().as_bytes(), &text) {
                prop_assert_eq!(decides(&found), decides(&event), "{}", forged);
            }
            let query = Rails521.text(&forged);
            if let Ok(found) = got(&query, &text) {
                prop_assert_eq!(decides(&found), decides(&event), "{}", query);
            }
        }
    }
}

#[test]
fn the_device_of_a_callback_is_a_text_or_a_number() {
    for device in ["\"cea50e20-3aeb\"", "2102943", "\"2102943\"", "null"] {
        let body = with(&format!(r#""device_uuid":{device},"signature":"""#));
        let event = posted(body.to_string().as_bytes(), &Rails521.text(&body)).unwrap();
        assert_eq!(event.parameters()["device_uuid"].to_string(), device);
    }
}

/// An application that keeps the callbacks that it receives.
struct Keep(Arc<Mutex<Vec<SignedCallback>>>);

impl Post for Keep {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        self.0.lock().unwrap().push(callback.clone());
        Ok(())
    }
}

/// The callbacks for a user's responses to requests with these details.
fn responses_to(details: Vec<Value>) -> Vec<SignedCallback> {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let folder = tempfile::tempdir().unwrap();
    let service = Settings::new(&fresh::url(&folder.path().join("callbacks.db")))
        .callback_url(URL)
        .post(Keep(Arc::clone(&sent)))
        .open()
        .unwrap();
    let (engine, user) = (service.engine().unwrap(), ada(&service));
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    for (number, value) in details.iter().enumerate() {
        let logo = |res: &str| calls::Logo { res: res.into(), url: "https://a.example/l".into() };
        let call = calls::CreateApproval {
            details: object(value),
            hidden_details: object(&json!({ "more": [value, {}], "none": {} })),
            logos: if number % 2 == 0 { vec![logo("default"), logo("low")] } else { Vec::new() },
            ..calls::CreateApproval::new(user, "Log in?".parse().unwrap())
        };
        let approval = engine
            .respond_to_approval(&RespondToApproval {
                uuid: service.handle(&call).unwrap().uuid,
                device_id: device.device_id,
                device_secret: device.secret.clone(),
                response: ApprovalResponse::Approve,
                number: None,
            })
            .unwrap();
        assert_eq!(approval.status, calls::ApprovalStatus::Approved);
    }
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    assert_eq!(sent.len(), details.len());
    let key = &engine.api_key();
    for callback in &sent {
        let [(_, signature), (_, nonce), _] = &callback.headers[..] else { panic!("headers") };
        let received = Received { url: URL, ..Received::post(&callback.body, signature, nonce) };
        assert!(callback::verify(key, &received).unwrap().approved_by(user));
    }
    sent
}

fn has_empties(value: &Value) -> bool {
    let within = match value {
        Value::Object(fields) => fields.values().any(has_empties),
        Value::Array(items) => items.iter().any(has_empties),
        _ => false,
    };
    is_empty(value) || within
}

fn is_regular(callback: &SignedCallback) {
    let body: Value = serde_json::from_slice(&callback.body).unwrap();
    let signed = callback::query(&callback.body).unwrap();
    for signer in SIGNERS {
        assert_eq!(signer.text(&body), signed, "{signer:?}: {body}");
    }
    assert!(!has_empties(&body), "{body}");
}

#[test]
fn every_signer_writes_the_engines_callbacks_alike() {
    let details = json!({
        "items": [{"z": 1, "a": {"d": [], "c": {}}, "B": "x"}, {}, [], [{"2": 1, "10": 2}]],
        "empty": {"deep": {"deeper": []}},
        "a[]": {"z": 1, "a": 2},
        "place": "Oslo",
    });
    let sent = responses_to(vec![details, json!({})]);
    sent.iter().for_each(is_regular);
    let body: Value = serde_json::from_slice(&sent[0].body).unwrap();
    assert_eq!(body["device_uuid"], "1");
    assert_eq!(body["signature"], "");
    let transaction = &body["approval_request"]["transaction"];
    assert_eq!(
        transaction["details"].to_string(),
        r#"{"items":[{"B":"x","a":{"c":null,"d":null},"z":1},null,null,[{"10":2,"2":1}]],"empty":{"deep":{"deeper":null}},"a[]":{"a":2,"z":1},"place":"Oslo"}"#
    );
    assert!(transaction["hidden_details"]["none"].is_null());
    let logos = &body["approval_request"]["logos"];
    assert_eq!(logos[0], json!({"res": "default", "url": "https://a.example/l"}));
    let body: Value = serde_json::from_slice(&sent[1].body).unwrap();
    let request = &body["approval_request"];
    assert!(request["transaction"]["details"].is_null() && request["logos"].is_null());
}

#[test]
fn every_signer_writes_any_details_alike() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::default();
    let details = (0..100).map(|_| objects(tree()).new_tree(&mut runner).unwrap().current());
    responses_to(details.collect()).iter().for_each(is_regular);
}
