//! Texts with placeholders such as `{{to}}`.

use super::values::{NAMES, Name, Values};
use crate::fields::{nearest, shown};
use seconder::wire::form;

/// The place of a text in a request, which decides how values in it are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The path or the query of the URL.
    Url,
    /// A header. Control characters cannot be escaped there.
    Header,
    /// A body that is a form.
    Form,
    /// A body in JSON, inside a string.
    Json,
    /// A body in XML, as text or inside the value of an attribute.
    Xml,
    /// A body of plain text, where no character has a meaning.
    Text,
}

/// The formats for which a value is escaped before it is escaped for its place, such as XML in a
/// parameter of a form: `{{text|xml}}`.
const INNER: [(&str, Place); 3] = [("json", Place::Json), ("url", Place::Url), ("xml", Place::Xml)];

/// A value has control characters, which a header cannot hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsendable;

/// A text with placeholders. It has no `Debug`, because an operator may write a secret in it.
#[derive(Clone)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone)]
pub(super) enum Part {
    Literal(String),
    Value(Name, Option<Place>),
}

impl Template {
    /// Reads a text. The placeholders are the placeholders of messages, and these settings of the
    /// gateway.
    ///
    /// # Errors
    /// The error, without more of the text than a placeholder.
    pub(super) fn read(text: &str, settings: &[&str]) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (inside, after) =
                after.split_once("}}").ok_or("has {{ without }} after it".to_owned())?;
            parts.push(Part::Literal(before.to_owned()));
            parts.push(placeholder(inside, settings)?);
            rest = after;
        }
        parts.push(Part::Literal(rest.to_owned()));
        parts.retain(|part| !matches!(part, Part::Literal(text) if text.is_empty()));
        Ok(Template(parts))
    }

    /// Returns the parts, for checks of the places of placeholders.
    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Returns the text, if it has no placeholder.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the same template for a form, with the literal text encoded.
    pub(super) fn encoded(mut self) -> Template {
        for part in &mut self.0 {
            if let Part::Literal(text) = part {
                *text = form::escape(text);
            }
        }
        self
    }

    /// Returns the text with an `x` for each value, for checks of the text around them.
    pub(super) fn sample(&self) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Literal(text) => text.as_str(),
            Part::Value(..) => "x",
        });
        parts.collect()
    }

    /// Returns the text with the values in it.
    pub(super) fn render(&self, place: Place, values: &Values<'_>) -> Result<String, Unsendable> {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Value(name, inner) => {
                    let value = values.get(*name);
                    let value = match inner {
                        Some(inner) => escape(&value, *inner, *name)?,
                        None => value.into_owned(),
                    };
                    out.push_str(&escape(&value, place, *name)?);
                }
            }
        }
        Ok(out)
    }
}

fn placeholder(inside: &str, settings: &[&str]) -> Result<Part, String> {
    let (name, inner) = match inside.split_once('|') {
        Some((name, inner)) => (name.trim(), Some(inner.trim())),
        None => (inside.trim(), None),
    };
    let of_message = NAMES.iter().find(|(known, _)| *known == name).map(|(_, name)| *name);
    let of_setting = || settings.iter().position(|known| *known == name).map(Name::Setting);
    // A preset may have a setting that takes the place of a value of the message.
    let Some(found) = of_setting().or(of_message) else {
        let names = NAMES.iter().map(|(known, _)| *known).chain(settings.iter().copied());
        let near = nearest(name, names);
        let near = near.map(|near| format!("; {{{{{near}}}}} is near")).unwrap_or_default();
        return Err(format!("has the unknown placeholder {}{near}", shown(name)));
    };
    let inner = match inner {
        None => None,
        Some(inner) => {
            let known = INNER.iter().find(|(known, _)| *known == inner);
            let unknown = || format!("has {} after |, where json, url or xml may be", shown(inner));
            Some(known.ok_or_else(unknown)?.1)
        }
    };
    Ok(Part::Value(found, inner))
}

/// Escapes a value, so that a parser of the surrounding text reads back that value and nothing else.
fn escape(value: &str, place: Place, name: Name) -> Result<String, Unsendable> {
    Ok(match place {
        Place::Url | Place::Form => form::escape(value),
        Place::Header if value.chars().any(char::is_control) => return Err(Unsendable),
        Place::Header => value.to_owned(),
        Place::Json => {
            let quoted = serde_json::Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        }
        Place::Xml if name.is_markup() => value.to_owned(),
        Place::Xml => value.chars().map(xml).collect(),
        Place::Text => value.chars().filter(|c| is_plain(*c, name)).collect(),
    })
}

/// Returns a character in XML. Line breaks and tabs are written as references, because a parser changes them in
/// attributes. Characters that XML cannot hold are left out.
pub(super) fn xml(c: char) -> String {
    match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&apos;".to_owned(),
        '\t' | '\n' | '\r' => format!("&#{};", u32::from(c)),
        c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => String::new(),
        c => c.to_string(),
    }
}

/// Returns whether a character is plain. The lines of a message are kept, because browsers look for codes in its last
/// one.
fn is_plain(c: char, name: Name) -> bool {
    !c.is_control() || (c == '\n' && matches!(name, Name::Text | Name::SpokenText))
}
