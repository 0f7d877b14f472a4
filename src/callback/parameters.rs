//! What a callback says, as it was signed. Values are read out of it when they are asked for: most
//! programs ask for few.

use super::canonical::{self, Fields};
use super::{invalid_callback, unreadable, unsigned};
use crate::Result;
use crate::wire::{form, json};
use serde_json::{Map, Value};

/// Parameters whose signature held.
pub(super) enum Parameters<'a> {
    Json { text: &'a str, fields: Fields<'a> },
    Form { text: String, fields: Map<String, Value> },
}

impl<'a> Parameters<'a> {
    /// Reads a JSON body, and asks whether the signature of its canonical form holds. Reading comes
    /// first, so that the canonical form is made of what is known to be well-formed; what was read
    /// is given to nobody before.
    pub(super) fn of_json(body: &'a [u8], holds: impl Fn(&str) -> bool) -> Result<Parameters<'a>> {
        let text = std::str::from_utf8(body).map_err(|_| invalid_callback("it is not UTF-8"))?;
        let (canonical, fields) = canonical::of_json(text).map_err(unreadable)?;
        match holds(&canonical) {
            true => Ok(Parameters::Json { text, fields }),
            false => Err(unsigned()),
        }
    }

    /// Reads what held, and not what was received: were the two ordered differently, they could mean
    /// different lists.
    pub(super) fn of_form(text: &str, holds: impl Fn(&str) -> bool) -> Result<Parameters<'a>> {
        let orders = canonical::orders_of_form(text).map_err(unreadable)?;
        let text = orders.into_iter().find(|order| holds(order)).ok_or_else(unsigned)?;
        let fields = form::read(&text).map_err(unreadable)?;
        Ok(Parameters::Form { text, fields })
    }

    /// Whether one of the names that are not nested begins so.
    pub(super) fn any_begins(&self, start: &str) -> bool {
        match self {
            Parameters::Json { fields, .. } => {
                fields.iter().any(|(name, text)| name.starts_with(start) && value(text).is_some())
            }
            Parameters::Form { fields, .. } => fields.keys().any(|name| name.starts_with(start)),
        }
    }

    /// One of them. An empty object or list is none.
    pub(super) fn field(&self, wanted: &str) -> Option<Value> {
        match self {
            Parameters::Json { fields, .. } => {
                fields.iter().find(|(name, _)| name == wanted).and_then(|(_, text)| value(text))
            }
            Parameters::Form { fields, .. } => fields.get(wanted).cloned(),
        }
    }

    /// Whether no other body of the same signature can tell this field otherwise. False where only a
    /// closer look says so.
    pub(super) fn reads_one_way(&self, wanted: &str) -> bool {
        let Parameters::Json { fields, .. } = self else { return false };
        let found = fields.iter().find(|(name, _)| name == wanted);
        found.is_none_or(|(_, text)| reads_one_way(text))
    }

    /// All of them, to be read later.
    pub(super) fn kept(self) -> Kept {
        match self {
            Parameters::Json { text, .. } => Kept { text: text.into(), is_json: true },
            Parameters::Form { text, .. } => Kept { text: text.into(), is_json: false },
        }
    }

    /// All of them.
    pub(super) fn all(self) -> Map<String, Value> {
        match self {
            Parameters::Json { text, .. } => all_of_json(text),
            Parameters::Form { fields, .. } => fields,
        }
    }
}

/// Parameters whose signature held, as text.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    text: Box<str>,
    is_json: bool,
}

impl Kept {
    pub(super) fn all(&self) -> Map<String, Value> {
        match self.is_json {
            true => all_of_json(&self.text),
            false => form::read(&self.text).unwrap_or_default(),
        }
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.all() == other.all()
    }
}

/// Whether a JSON text has no brackets, which can be nesting or a part of a name, and no number that is
/// not kept as it is written: one with a point, an exponent or a sign, or of more than 18 digits.
fn reads_one_way(text: &str) -> bool {
    let mut outside_texts = text.split('"').step_by(2);
    !text.contains(['[', ']', '\\'])
        && outside_texts.all(|part| part.len() <= 18 && !part.contains(['.', 'e', 'E', '-']))
}

/// The fields of a body that was read without an error.
fn all_of_json(text: &str) -> Map<String, Value> {
    match value(text) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// What a JSON text says that a signature covers.
fn value(text: &str) -> Option<Value> {
    let mut value = json::read(text.as_bytes()).ok()?;
    keep_signed(&mut value);
    Some(value).filter(is_signed)
}

/// Takes out the empty objects and lists inside a value, which no signature covers. Few callbacks
/// have any, and an object that loses a field is put in order anew, so that is looked for first.
fn keep_signed(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(keep_signed);
            if !fields.values().all(is_signed) {
                fields.retain(|_, value| is_signed(value));
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(keep_signed);
            items.retain(is_signed);
        }
        _ => {}
    }
}

fn is_signed(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}
