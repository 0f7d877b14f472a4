//! What a callback says, once its signature held.

use super::forged;
use crate::calls::{ApprovalStatus, Device};
use crate::model::{ApprovalId, UserId};
use crate::wire::{Names, loose, object};
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What the field `callback_action` says of an answer (interface 6 names no other event).
const ANSWERED: &str = "approval_request_status";

/// An answer to an approval request, told by the service itself.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The approval request.
    pub uuid: ApprovalId,
    /// How the user answered.
    pub status: ApprovalStatus,
    /// The user who answered, where the service tells. Compare it with the user who logs in: see
    /// [`Event::approved_by`].
    pub svc_id: Option<UserId>,
    /// The device that answered, where the service tells.
    pub device: Option<Device>,
    /// Everything that was received and signed. Empty objects and lists are left out, because no
    /// signature covers them. Nor does one cover whether a value is a number or its text, null or
    /// an empty text, how the fields of objects in a list are grouped, or whether a name with
    /// brackets is a name or nesting: decide on none of these.
    pub parameters: Map<String, Value>,
}

impl Event {
    /// Whether this user said yes. False also when the service does not tell who did.
    pub fn approved_by(&self, svc_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.svc_id == Some(svc_id)
    }

    /// Reads parameters whose signature held. A query writes null as the empty text and the
    /// signature cannot tell the two apart, so an empty text is as good as none here.
    pub(super) fn read(parameters: Map<String, Value>, names: &Names) -> Result<Event> {
        #[derive(Deserialize)]
        struct Body {
            uuid: ApprovalId,
            status: ApprovalStatus,
            svc_id: Option<UserId>,
            callback_action: Option<String>,
        }
        let mut fields = told(&parameters, names)?;
        let device = fields.shift_remove("device");
        if fields.get("uuid").is_some_and(Value::is_f64) {
            return Err(unsure("its uuid is no whole number"));
        }
        let body: Body = loose::read(fields)
            .map_err(|mismatch| forged(format!("it is signed, but {mismatch}")))?;
        let Body { uuid, status, svc_id, callback_action } = body;
        if callback_action.is_some_and(|action| action != ANSWERED) {
            return Err(forged("it is signed, but it is no answer to an approval request"));
        }
        let device = match device {
            Some(Value::Object(device)) => read_device(device)?,
            _ => None,
        };
        Ok(Event { uuid, status, svc_id, device, parameters })
    }
}

/// The fields that may be read here, by the names of the interface document: what is nested is not,
/// but for the device. This is the one place that knows what the service calls them.
fn told(parameters: &Map<String, Value>, names: &Names) -> Result<Map<String, Value>> {
    if parameters.keys().any(|name| name.starts_with("device[")) {
        return Err(unsure("its device is in names with brackets"));
    }
    let plain = |value: &Value| !value.is_object() && !value.is_array();
    let fields = parameters.iter().filter(|(name, value)| *name == "device" || plain(value));
    let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
    let mut body = Value::Object(fields.collect());
    names
        .body_from_wire(&mut body)
        .map_err(|_| forged("it is signed, but it names its user twice"))?;
    blank_is_none(&mut body);
    Ok(match body {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

/// The device decides nothing, so one that cannot be read does not lose the answer. One that says
/// nothing is none: a signature does not tell an object that has no known name from a list.
fn read_device(fields: Map<String, Value>) -> Result<Option<Device>> {
    if fields.keys().any(|name| name.contains(['[', ']'])) {
        return Err(unsure("a name of its device has brackets"));
    }
    let fractions = fields.iter().filter(|(_, value)| value.is_f64());
    let fractions: Vec<String> = fractions.map(|(name, _)| name.clone()).collect();
    let device: Option<Device> = loose::read(fields).ok();
    if !fractions.is_empty() {
        let said = device.as_ref().map(object).unwrap_or_default();
        if fractions.iter().any(|name| said.contains_key(name)) {
            return Err(unsure("its device has a number for a text"));
        }
    }
    Ok(device.filter(|device| *device != Device::default()))
}

/// What another body of the same signature would say otherwise: a signature covers neither whether
/// brackets are nesting nor whether a number was a text, and of a fraction the text is forgotten.
fn unsure(reason: &str) -> Error {
    forged(format!("it is signed, but {reason}"))
}

fn blank_is_none(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => *value = Value::Null,
        Value::Object(fields) => fields.values_mut().for_each(blank_is_none),
        _ => {}
    }
}
