//! What a callback says, once its signature held.

use super::invalid_callback;
use super::parameters::{Kept, Parameters};
use crate::calls::{ApprovalStatus, Device};
use crate::model::{ApprovalId, UserId};
use crate::wire::{Names, loose, object};
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What the field `callback_action` says of an answer (interface 6 names no other event).
const ANSWERED: &str = "approval_request_status";

/// An answer to an approval request, told by the service itself.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug)]
pub struct Event {
    /// The approval request.
    pub uuid: ApprovalId,
    /// How the user answered.
    pub status: ApprovalStatus,
    /// The user who answered, where the service tells. Compare it with the user who logs in: see
    /// [`Event::approved_by`].
    pub user_id: Option<UserId>,
    signed: Kept,
    names: Arc<Names>,
}

impl Event {
    /// Whether this user said yes. False also when the service does not tell who did.
    pub fn approved_by(&self, user_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.user_id == Some(user_id)
    }

    /// The device that answered, where the service tells; read anew each time. It decides nothing,
    /// so one that cannot be read is none.
    pub fn device(&self) -> Option<Device> {
        let device = self.parameters().remove("device")?;
        let mut body =
            own_names(Map::from_iter([("device".to_owned(), device)]), &self.names).ok()?;
        match body.remove("device") {
            // A signature does not tell an object that has no known name from a list.
            Some(Value::Object(device)) => {
                loose::read(device).ok().filter(|device| *device != Device::default())
            }
            _ => None,
        }
    }

    /// Everything that was received and signed, read anew each time. Empty objects and lists are
    /// left out, because no signature covers them. Nor does one cover whether a value is a number or
    /// its text, null or an empty text, how the fields of objects in a list are grouped, or whether
    /// a name with brackets is a name or nesting: decide on none of these.
    pub fn parameters(&self) -> Map<String, Value> {
        self.signed.all()
    }

    /// Reads what was received, after its signature held. A query writes null as the empty text and
    /// the signature cannot tell the two apart, so an empty text is as good as none here.
    pub(super) fn read(received: Parameters<'_>, names: &Arc<Names>) -> Result<Event> {
        #[derive(Deserialize)]
        struct Body {
            uuid: ApprovalId,
            status: ApprovalStatus,
            #[serde(rename = "svc_id")]
            user_id: Option<UserId>,
            callback_action: Option<String>,
        }
        let mut fields = told(&received, names)?;
        if let Some(Value::Object(device)) = fields.remove("device") {
            check_device(device)?;
        }
        if fields.get("uuid").is_some_and(Value::is_f64) {
            return Err(unsure("its uuid is no whole number"));
        }
        let body: Body = loose::read(fields)
            .map_err(|mismatch| invalid_callback(format!("it is signed, but {mismatch}")))?;
        let Body { uuid, status, user_id, callback_action } = body;
        if callback_action.is_some_and(|action| action != ANSWERED) {
            return Err(invalid_callback(
                "it is signed, but it is no answer to an approval request",
            ));
        }
        Ok(Event { uuid, status, user_id, signed: received.kept(), names: Arc::clone(names) })
    }
}

/// By what is said, whatever the service calls it.
impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        let decides = |event: &Event| (event.uuid.clone(), event.status, event.user_id);
        decides(self) == decides(other) && self.signed == other.signed
    }
}

/// The fields that decide, by the names of the interface document: what is nested does not, but a
/// device is among them when it needs a closer look.
fn told(received: &Parameters<'_>, names: &Names) -> Result<Map<String, Value>> {
    if received.any_begins("device[") {
        return Err(unsure("its device is in names with brackets"));
    }
    let mut fields = Map::new();
    let mut tell = |name: &str, may_nest: bool| match received.field(name) {
        Some(Value::Object(_) | Value::Array(_)) if !may_nest => {}
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => {}
    };
    for name in ["uuid", "status", "svc_id", "callback_action", names.user_field()] {
        tell(name, false);
    }
    if !received.reads_one_way("device") {
        tell("device", true);
    }
    own_names(fields, names)
}

/// The fields by the names of the interface document. This is the one place that knows what the
/// service calls them.
fn own_names(fields: Map<String, Value>, names: &Names) -> Result<Map<String, Value>> {
    let mut body = Value::Object(fields);
    names
        .body_from_wire(&mut body)
        .map_err(|_| invalid_callback("it is signed, but it names its user twice"))?;
    blank_is_none(&mut body);
    Ok(match body {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

/// Refuses a device that another body of the same signature would tell otherwise.
fn check_device(fields: Map<String, Value>) -> Result<()> {
    if fields.keys().any(|name| name.contains(['[', ']'])) {
        return Err(unsure("a name of its device has brackets"));
    }
    let fractions = fields.iter().filter(|(_, value)| value.is_f64());
    let fractions: Vec<String> = fractions.map(|(name, _)| name.clone()).collect();
    let said = loose::read(fields).map(|device: Device| object(&device)).unwrap_or_default();
    match fractions.iter().any(|name| said.contains_key(name)) {
        true => Err(unsure("its device has a number for a text")),
        false => Ok(()),
    }
}

/// What another body of the same signature would say otherwise: a signature covers neither whether
/// brackets are nesting nor whether a number was a text, and of a fraction the text is forgotten.
fn unsure(reason: &str) -> Error {
    invalid_callback(format!("it is signed, but {reason}"))
}

fn blank_is_none(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => *value = Value::Null,
        Value::Object(fields) => fields.values_mut().for_each(blank_is_none),
        _ => {}
    }
}
