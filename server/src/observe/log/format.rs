//! The format of lines on standard error.

use super::entry::{Entry, Level, Value};
use std::fmt::Write;
use std::time::SystemTime;
use time::OffsetDateTime;

/// Adds a line as people read it. It has no time: terminals show it as it happens.
pub(super) fn human(line: &Entry, text: &mut String) {
    *text += "seconder: ";
    if line.level <= Level::Warning {
        *text += line.level.name();
        *text += ": ";
    }
    *text += &line.message;
    for (name, value) in &line.fields {
        // A text can always be written.
        let _ = match value {
            Value::Text(value) if !is_word(value) => write!(text, " {name}={value:?}"),
            Value::Text(value) => write!(text, " {name}={value}"),
            Value::Name(value) => write!(text, " {name}={value}"),
            Value::Number(value) => write!(text, " {name}={value}"),
        };
    }
    *text += "\n";
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"=".contains(&byte))
}

/// Adds a line as an object.
pub(super) fn json(line: &Entry, text: &mut String) {
    *text += r#"{"time":""#;
    *text += &timestamp(line.time);
    *text += r#"","level":""#;
    *text += line.level.name();
    *text += r#"","message":"#;
    string(&line.message, text);
    for (name, value) in &line.fields {
        let _ = write!(text, r#","{name}":"#);
        match value {
            Value::Text(value) => string(value, text),
            Value::Name(value) => string(value, text),
            Value::Number(value) => drop(write!(text, "{value}")),
        }
    }
    *text += "}\n";
}

fn string(value: &str, text: &mut String) {
    *text += &serde_json::Value::from(value).to_string();
}

/// Formats a time by RFC 3339, with microseconds.
fn timestamp(time: SystemTime) -> String {
    let at = OffsetDateTime::from(time);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.microsecond()
    )
}
