//! The content of a callback whose signature was verified.

use super::invalid_callback;
use super::parameters::{Kept, Parameters};
use crate::calls::{ApprovalStatus, Device};
use crate::model::{ApprovalId, UserId};
use crate::wire::{Names, loose};
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The `callback_action` of a response (interface 6 defines no other event).
const RESPONDED: &str = "approval_request_status";

/// A response to an approval request, reported and signed by the service.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug)]
pub struct Event {
    /// The approval request.
    pub uuid: ApprovalId,
    /// The user's response.
    pub status: ApprovalStatus,
    /// The user who responded, if the service provides it. Compare it with the user who is logging
    /// in: see [`Event::approved_by`].
    pub user_id: Option<UserId>,
    signed: Kept,
    names: Arc<Names>,
}

impl Event {
    /// Returns whether this user approved the request. Also false if the service does not provide the user.
    pub fn approved_by(&self, user_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.user_id == Some(user_id)
    }

    /// Returns the device that responded, if the service provides it; parsed on each call. It does
    /// not affect any decision, so a field of an unexpected type is left out, and a device without
    /// any known field is `None`.
    pub fn device(&self) -> Option<Device> {
        let device = self.parameters().remove("device")?;
        let mut body =
            own_names(Map::from_iter([("device".to_owned(), device)]), &self.names).ok()?;
        match body.remove("device") {
            // For the signature, an object without known names may as well be a list.
            Some(Value::Object(device)) => {
                Some(loose::read_what_fits(device)).filter(|device| *device != Device::default())
            }
            _ => None,
        }
    }

    /// Everything that was received and signed, parsed on each call. Empty objects and lists are
    /// omitted, because the signature does not cover them. Neither does it cover whether a value is
    /// a number or its text, whether it is null or an empty text (in a list, also whether it is an
    /// empty list), how the fields of objects in a list are grouped, or whether brackets in a name
    /// are part of it or mean nesting. Base no decision on any of these.
    pub fn parameters(&self) -> Map<String, Value> {
        self.signed.all()
    }

    /// Parses a callback after its signature was verified. A query represents null as an empty
    /// text, and the signature does not distinguish the two, so an empty text is treated as absent.
    pub(super) fn read(received: Parameters<'_>, names: &Arc<Names>) -> Result<Event> {
        #[derive(Deserialize)]
        struct Body {
            uuid: ApprovalId,
            status: ApprovalStatus,
            #[serde(rename = "svc_id")]
            user_id: Option<UserId>,
            callback_action: Option<String>,
        }
        let mut fields = deciding_fields(&received, names)?;
        if let Some(Value::Object(device)) = fields.remove("device") {
            check_device(&device)?;
        }
        let body: Body = loose::read(fields)
            .map_err(|mismatch| invalid_callback(format!("correctly signed, but {mismatch}")))?;
        let Body { uuid, status, user_id, callback_action } = body;
        if callback_action.is_some_and(|action| action != RESPONDED) {
            return Err(invalid_callback(
                "correctly signed, but not a response to an approval request",
            ));
        }
        Ok(Event { uuid, status, user_id, signed: received.kept(), names: Arc::clone(names) })
    }
}

/// Compares the content, independently of the names that the service uses.
impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        let decides = |event: &Event| (event.uuid.clone(), event.status, event.user_id);
        decides(self) == decides(other) && self.signed == other.signed
    }
}

/// Returns the fields that affect the decision, by the names of the interface document. Nested
/// values do not affect it, but the device is included if it must be checked for ambiguity.
fn deciding_fields(received: &Parameters<'_>, names: &Names) -> Result<Map<String, Value>> {
    if received.any_begins("device[") {
        return Err(ambiguous("its device is in names with brackets"));
    }
    let mut fields = Map::new();
    let mut add = |name: &str, may_nest: bool| match received.field(name) {
        Some(Value::Object(_) | Value::Array(_)) if !may_nest => {}
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => {}
    };
    for name in ["uuid", "status", "svc_id", "callback_action", names.user_field()] {
        add(name, false);
    }
    if !received.reads_one_way("device") {
        add("device", true);
    }
    own_names(fields, names)
}

/// Renames the fields to the names in the interface document. Nothing else in this module depends
/// on the names that the service uses.
fn own_names(fields: Map<String, Value>, names: &Names) -> Result<Map<String, Value>> {
    let mut body = Value::Object(fields);
    names
        .body_from_wire(&mut body)
        .map_err(|_| invalid_callback("correctly signed, but it names its user twice"))?;
    blank_is_none(&mut body);
    Ok(match body {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

/// Rejects a device that another body with the same signature could represent differently.
fn check_device(fields: &Map<String, Value>) -> Result<()> {
    match fields.keys().any(|name| name.contains(['[', ']'])) {
        true => Err(ambiguous("a name in its device has brackets")),
        false => Ok(()),
    }
}

/// Returns the error for a callback that another body with the same signature could represent differently. A signature
/// does not cover whether brackets mean nesting. Neither does it cover whether a number was a text, but these read
/// alike, because numbers are kept as they are written.
fn ambiguous(reason: &str) -> Error {
    invalid_callback(format!("correctly signed, but {reason}"))
}

fn blank_is_none(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() => *value = Value::Null,
        Value::Object(fields) => fields.values_mut().for_each(blank_is_none),
        _ => {}
    }
}
