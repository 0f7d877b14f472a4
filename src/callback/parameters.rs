//! The signed parameters of a callback. Values are parsed on demand, because most programs use few
//! of them.

use super::canonical;
use super::walk::Fields;
use super::{invalid_callback, unreadable, unsigned};
use crate::Result;
use crate::wire::{form, json};
use serde_json::{Map, Value};

/// Parameters whose signature was verified.
pub(super) enum Parameters<'a> {
    Json { text: &'a str, fields: Fields<'a> },
    Form { text: String, fields: Map<String, Value> },
}

impl<'a> Parameters<'a> {
    /// Parses a JSON body, and checks that the signature `matches` one of its spellings. Parsing
    /// comes first, because a spelling requires well-formed JSON. The result is returned only if
    /// the signature matches.
    pub(super) fn of_json(
        body: &'a [u8],
        matches: impl Fn(&str) -> bool,
    ) -> Result<Parameters<'a>> {
        let text =
            std::str::from_utf8(body).map_err(|_| invalid_callback("the body is not UTF-8"))?;
        let flat = canonical::of_json(text).map_err(unreadable)?;
        let signed = matches(&flat.pairs)
            || canonical::others_of_json(text, &flat).any(|other| matches(&other));
        match signed {
            true => Ok(Parameters::Json { text, fields: flat.fields }),
            false => Err(unsigned()),
        }
    }

    /// Parses the text that the signature `matches`, not the one that was received: the two may be
    /// ordered differently, and could then mean different lists.
    pub(super) fn of_form(text: &str, matches: impl Fn(&str) -> bool) -> Result<Parameters<'a>> {
        let spellings = canonical::spellings_of_form(text).map_err(unreadable)?;
        let text = spellings.into_iter().find(|text| matches(text)).ok_or_else(unsigned)?;
        let fields = form::read(&text).map_err(unreadable)?;
        Ok(Parameters::Form { text, fields })
    }

    /// Returns whether a top-level name begins with `start`.
    pub(super) fn any_begins(&self, start: &str) -> bool {
        match self {
            Parameters::Json { fields, .. } => {
                fields.iter().any(|(name, text)| name.starts_with(start) && value(text).is_some())
            }
            Parameters::Form { fields, .. } => fields.keys().any(|name| name.starts_with(start)),
        }
    }

    /// Returns a top-level parameter. `None` also for an empty object or list, which is not signed.
    pub(super) fn field(&self, wanted: &str) -> Option<Value> {
        match self {
            Parameters::Json { fields, .. } => {
                fields.iter().find(|(name, _)| name == wanted).and_then(|(_, text)| value(text))
            }
            Parameters::Form { fields, .. } => fields.get(wanted).cloned(),
        }
    }

    /// Returns whether this field is certainly the same in every body with the same signature. False if
    /// that needs a closer check.
    pub(super) fn reads_one_way(&self, wanted: &str) -> bool {
        let Parameters::Json { fields, .. } = self else { return false };
        let found = fields.iter().find(|(name, _)| name == wanted);
        found.is_none_or(|(_, text)| reads_one_way(text))
    }

    /// Keeps all parameters, to be parsed later.
    pub(super) fn kept(self) -> Kept {
        match self {
            Parameters::Json { text, .. } => Kept { text: text.into(), is_json: true },
            Parameters::Form { text, .. } => Kept { text: text.into(), is_json: false },
        }
    }

    /// Returns all parameters.
    pub(super) fn all(self) -> Map<String, Value> {
        match self {
            Parameters::Json { text, .. } => all_of_json(text),
            Parameters::Form { fields, .. } => fields,
        }
    }
}

/// Parameters whose signature was verified, as text.
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

/// Returns whether a JSON text has no brackets, which can mean nesting or be part of a name.
fn reads_one_way(text: &str) -> bool {
    !text.contains(['[', ']', '\\'])
}

/// Returns the fields of a body that was already parsed without an error.
fn all_of_json(text: &str) -> Map<String, Value> {
    match value(text) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Returns the part of a JSON value that a signature covers.
fn value(text: &str) -> Option<Value> {
    let mut value = json::read(text.as_bytes()).ok()?;
    keep_signed(&mut value);
    Some(value).filter(is_signed)
}

/// Removes the empty objects and lists inside a value, which no signature covers. Few callbacks
/// have any, and removing fields rebuilds the object, so that is done only if needed.
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
