//! Settings of gateways as an operator gives them at the command line, and as they are shown.

use super::open;
use crate::invalid;
use seconder::model::Secret;
use seconder::wire::json;
use seconder::{Error, Result};
use seconder_gateways::{Field, Problem};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;

/// The text that is shown in place of a secret.
const SEALED: &str = "(sealed)";
/// The most bytes that are read of settings.
const LONGEST: u64 = 256 * 1024;

/// The settings of a gateway, whose fields this function knows.
pub(crate) struct Given {
    pub(crate) fields: fn(&str) -> Option<Vec<Field>>,
    pub(crate) check: fn(&str) -> std::result::Result<(), Vec<Problem>>,
}

impl Given {
    /// Reads the settings of a file, with the settings that are given one by one in their place.
    pub(crate) fn read(&self, file: Option<String>, settings: &[String]) -> Result<Secret> {
        let mut all = match file {
            Some(file) => object(&read("file", &file)?)?,
            None => Map::new(),
        };
        for setting in settings {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| invalid("KEY=VALUE", format!("has no =: {}", key_of(setting))))?;
            all.insert(key.to_owned(), value_of(key, value)?);
        }
        if all.is_empty() {
            let reason = "are missing: give some as KEY=VALUE, or a file by --file";
            return Err(invalid("settings", reason.to_owned()));
        }
        for secret in self.of(&all).into_iter().filter(|field| field.sealed) {
            let secret = secret.name;
            let inline = format!("{secret}=");
            let inline = settings.iter().filter_map(|setting| setting.strip_prefix(&*inline));
            if inline.into_iter().any(|value| !value.starts_with('@')) {
                let reason =
                    format!("is a secret, which others would see here: give it as {secret}=@FILE");
                return Err(Error::InvalidArgument {
                    parameter: secret.into(),
                    reason: reason.into(),
                });
            }
        }
        let settings = Secret::new(Value::Object(all).to_string());
        (self.check)(settings.expose()).map_err(|problems| {
            let list: Vec<_> = problems.iter().map(ToString::to_string).collect();
            invalid("settings", format!("were not stored:\n  {}", list.join("\n  ")))
        })?;
        Ok(settings)
    }

    fn of(&self, settings: &Map<String, Value>) -> Vec<Field> {
        let name = settings.get("gateway").and_then(Value::as_str).unwrap_or_default();
        (self.fields)(name).unwrap_or_default()
    }

    /// Settings without the secrets. Of a gateway that this program does not know, only the name is
    /// shown.
    pub(crate) fn shown(&self, settings: &Secret) -> Map<String, Value> {
        let settings = object(settings.expose()).unwrap_or_default();
        let own = self.of(&settings);
        let show = |(key, value): (&String, &Value)| {
            let is_open = key == "gateway"
                || own.iter().any(|field| field.name == key.as_str() && !field.sealed);
            let value = match key.as_str() {
                _ if !is_open => SEALED.into(),
                // Any text in them may be a credential.
                "headers" | "body" => without_literals(value),
                "url" => value.as_str().map_or(Value::Null, |url| without_query(url).into()),
                _ => value.clone(),
            };
            (key.clone(), value)
        };
        settings.iter().map(show).collect()
    }
}

/// Checks a number that is to be tried.
pub(crate) fn check_number(number: &str) -> Result<()> {
    let is_number = number.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    let reason = "must be + and 7 to 15 digits: +15550100123";
    if is_number { Ok(()) } else { Err(invalid("NUMBER", reason.to_owned())) }
}

/// Returns the part of a setting that may be shown if it was not understood.
fn key_of(setting: &str) -> &str {
    setting.split(['@', ':']).next().unwrap_or_default()
}

fn value_of(key: &str, value: &str) -> Result<Value> {
    let text = match value.strip_prefix('@') {
        Some(file) => return Ok(Value::String(read(key, file)?.trim_end_matches('\n').to_owned())),
        None => value,
    };
    // A number that begins with + is not a number of JSON, and neither is one with a leading 0.
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => json::read(text.as_bytes()).map_err(|_| Error::InvalidArgument {
            parameter: key.to_owned().into(),
            reason: "has a name twice, or is nested deeper than 127 levels".into(),
        }),
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}

fn read(parameter: &str, file: &str) -> Result<String> {
    let cannot = |error: std::io::Error| Error::InvalidArgument {
        parameter: parameter.to_owned().into(),
        reason: format!("{file} cannot be read: {error}").into(),
    };
    let mut text = String::new();
    let from = open(Path::new(file)).map_err(cannot)?;
    from.take(LONGEST).read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}

fn object(text: &str) -> Result<Map<String, Value>> {
    let wrong = |what: &str| invalid("file", format!("is not a JSON object{what}"));
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        wrong(&format!(", at line {}, column {}", error.line(), error.column()))
    })?;
    match json::read(text.as_bytes()) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(wrong("")),
        Err(_) => Err(wrong(": a name is there twice, or it is nested deeper than 127 levels")),
    }
}

/// Returns a value in which only placeholders are shown.
fn without_literals(value: &Value) -> Value {
    match value {
        Value::String(text) if is_placeholder(text) => value.clone(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), without_literals(value)));
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(without_literals).collect(),
        _ => SEALED.into(),
    }
}

fn is_placeholder(text: &str) -> bool {
    let inner = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    inner.is_some_and(|name| !name.contains(['{', '}']))
}

/// Returns a URL without the parts that may be a credential.
fn without_query(url: &str) -> String {
    let (path, query) = url.split_once('?').map_or((url, ""), |(path, _)| (path, "?"));
    let sealed = if query.is_empty() { "" } else { SEALED };
    let (scheme, rest) = path.split_once("://").unwrap_or(("", path));
    let host = rest.split('/').next().unwrap_or_default();
    match host.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://{SEALED}{}{query}{sealed}", &rest[user.len()..]),
        None => format!("{path}{query}{sealed}"),
    }
}
