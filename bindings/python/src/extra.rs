//! What a service said beyond the fields that the interface knows.

use seconder::calls::{Call, CheckApproval, RequestCall, RequestSms, Verify};
use serde_json::{Map, Value};

/// What a body says that the reply holds in another way, or leaves out where it says no.
fn told<C: Call>() -> &'static [&'static str] {
    match C::ROUTE.name {
        name if name == Verify::ROUTE.name => &["success", "token"],
        name if name == RequestSms::ROUTE.name => &["success", "ignored"],
        name if name == RequestCall::ROUTE.name => &["success", "ignored"],
        name if name == CheckApproval::ROUTE.name => &["success", "_svc_id"],
        _ => &["success"],
    }
}

/// Keeps what `body` has beyond the reply's own fields, as `extra` of the reply.
pub(crate) fn keep<C: Call>(reply: &mut Value, mut body: Map<String, Value>) {
    let Value::Object(reply) = reply else { return };
    if let Some(Value::Object(inner)) = C::REPLY_OBJECT.and_then(|name| body.shift_remove(name)) {
        body.extend(inner);
    }
    body.retain(|name, _| !told::<C>().contains(&name.as_str()));
    fields(reply, body);
}

fn fields(known: &mut Map<String, Value>, said: Map<String, Value>) {
    let mut extra = Map::new();
    for (name, value) in said {
        match known.get_mut(&name) {
            Some(known) => within(known, value),
            None => drop(extra.insert(name, value)),
        }
    }
    if !extra.is_empty() {
        known.insert("extra".into(), extra.into());
    }
}

fn within(known: &mut Value, said: Value) {
    match (known, said) {
        (Value::Object(known), Value::Object(said)) => fields(known, said),
        (Value::Array(known), Value::Array(said)) if known.len() == said.len() => {
            known.iter_mut().zip(said).for_each(|(known, said)| within(known, said));
        }
        _ => {}
    }
}
