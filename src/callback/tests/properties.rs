//! Properties of all callbacks.

use super::*;
use crate::wire::json;
use proptest::prelude::*;

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            fields(inner).prop_map(Value::Object),
        ]
    })
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((".{0,6}", inner), 0..4).prop_map(|fields| fields.into_iter().collect())
}

/// Returns the text of a callback with a random tree in its details.
fn body() -> impl Strategy<Value = String> {
    (fields(tree()), 1..1000_u64).prop_map(|(details, id)| {
        let transaction = serde_json::json!({ "details": details, "message": "Log in?" });
        serde_json::json!({
            "svc_id": id,
            "uuid": "3f05a350-4b2c",
            "status": "approved",
            "approval_request": { "transaction": transaction },
        })
        .to_string()
    })
}

fn signed_body(body: &str) -> (String, Map<String, Value>) {
    let signature = sign(&key(), NONCE, URL, body.as_bytes()).unwrap();
    let received = Received { url: URL, ..Received::post(body.as_bytes(), &signature, NONCE) };
    let parameters = verify_parameters(&key(), &received).unwrap();
    (signature, parameters)
}

proptest! {
    #[test]
    fn signed_bodies_verify(fields in fields(tree())) {
        let body = Value::Object(fields).to_string();
        let (_, parameters) = signed_body(&body);
        for (name, value) in json::read(body.as_bytes()).unwrap().as_object().unwrap() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                prop_assert_eq!(&parameters[name], value);
            }
        }
        let signed = query(body.as_bytes()).unwrap();
        let again = query(Value::Object(parameters).to_string().as_bytes());
        prop_assert_eq!(again.unwrap(), signed, "no signed value is lost");
    }

    #[test]
    fn a_changed_byte_of_a_body_changes_no_meaning(
        body in body(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let (signature, parameters) = signed_body(&body);
        let mut changed = body.into_bytes();
        let at = at.index(changed.len());
        changed[at] = byte;
        let received = Received { url: URL, ..Received::post(&changed, &signature, NONCE) };
        if let Ok(changed) = verify_parameters(&key(), &received) {
            prop_assert_eq!(changed, parameters);
        }
    }

    #[test]
    fn a_changed_byte_of_a_query_changes_no_meaning(
        body in body(), at in any::<prop::sample::Index>(), byte in 0..128_u8,
    ) {
        let sent = query(body.as_bytes()).unwrap();
        let signature = sign_query(&key(), NONCE, URL, &sent).unwrap();
        let received = Received { url: URL, ..Received::get(&sent, &signature, NONCE) };
        let mut changed = sent.clone().into_bytes();
        let at = at.index(changed.len());
        changed[at] = byte;
        let changed = String::from_utf8(changed).unwrap();
        if let Ok(found) = verify_parameters(&key(), &Received { query: &changed, ..received }) {
            prop_assert_eq!(found, verify_parameters(&key(), &received).unwrap());
        }
    }

    #[test]
    fn a_changed_byte_of_the_rest_is_rejected(
        body in body(), at in any::<prop::sample::Index>(), byte in 0..128_u8,
    ) {
        let (signature, _) = signed_body(&body);
        let received = Received { url: URL, ..Received::post(body.as_bytes(), &signature, NONCE) };
        let changed = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            String::from_utf8(bytes).unwrap()
        };
        let (url, nonce) = (changed(URL), changed(NONCE));
        let (method, signed) = (changed("POST"), changed(&signature));
        for (was, is, other) in [
            (URL, &*url, Received { url: &url, ..received }),
            (NONCE, &*nonce, Received { nonce: &nonce, ..received }),
            ("POST", &*method, Received { method: &method, ..received }),
            (&*signature, &*signed, Received { signature: &signed, ..received }),
        ] {
            prop_assert_eq!(verify_parameters(&key(), &other).is_ok(), was == is);
        }
    }
}
