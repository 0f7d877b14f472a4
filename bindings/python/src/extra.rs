//! What a service said beyond the fields that the interface knows.

use seconder::Call;
use serde_json::{Map, Value};

/// Fields that say how the call went, which the reply's being there says already; and those that
/// a reply leaves out where they say no.
const TOLD: [&str; 4] = ["success", "token", "ignored", "_svc_id"];

/// Keeps what `body` has beyond the reply's own fields, as `extra` of the reply.
pub(crate) fn keep<C: Call>(reply: &mut Value, mut body: Map<String, Value>) {
    let Value::Object(reply) = reply else { return };
    if let Some(Value::Object(inner)) = C::ENVELOPE.and_then(|name| body.shift_remove(name)) {
        body.extend(inner);
    }
    body.retain(|name, _| !TOLD.contains(&name.as_str()));
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
