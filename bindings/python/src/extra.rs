//! Keeps the fields of a response that the interface does not define.

use seconder::calls::{Call, CheckApproval, ConfirmAuthenticator, RequestCall, RequestSms, Verify};
use serde_json::{Map, Value};

/// The fields of a body that the reply represents in another way, or omits when they are false.
/// They are not unknown fields, even if the reply does not have them.
fn represented<C: Call>() -> &'static [&'static str] {
    match C::ROUTE.name {
        name if name == Verify::ROUTE.name => &["success", "token"],
        name if name == ConfirmAuthenticator::ROUTE.name => &["success", "token"],
        name if name == RequestSms::ROUTE.name => &["success", "ignored"],
        name if name == RequestCall::ROUTE.name => &["success", "ignored"],
        name if name == CheckApproval::ROUTE.name => &["success", "_svc_id"],
        _ => &["success"],
    }
}

/// Adds to the reply, as `extra`, the fields of `body` that it does not have.
pub(crate) fn keep<C: Call>(reply: &mut Value, mut body: Map<String, Value>) {
    let Value::Object(reply) = reply else { return };
    if let Some(Value::Object(inner)) = C::REPLY_OBJECT.and_then(|name| body.shift_remove(name)) {
        body.extend(inner);
    }
    body.retain(|name, _| !represented::<C>().contains(&name.as_str()));
    fields(reply, body);
}

fn fields(known: &mut Map<String, Value>, received: Map<String, Value>) {
    let mut extra = Map::new();
    for (name, value) in received {
        match known.get_mut(&name) {
            Some(known) => within(known, value),
            None => drop(extra.insert(name, value)),
        }
    }
    if !extra.is_empty() {
        known.insert("extra".into(), extra.into());
    }
}

/// Looks for unknown fields in the objects within a known field. Lists are compared only if the
/// reply has every item, since the items match by position.
fn within(known: &mut Value, received: Value) {
    match (known, received) {
        (Value::Object(known), Value::Object(received)) => fields(known, received),
        (Value::Array(known), Value::Array(received)) if known.len() == received.len() => {
            known.iter_mut().zip(received).for_each(|(known, value)| within(known, value));
        }
        _ => {}
    }
}
