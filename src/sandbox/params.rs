//! The parameters of a test's operations on a sandbox.

use crate::model::UserId;
use crate::wire::{form, json};
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

/// The longest time that passes or is waited for, in seconds: ten years.
const LONGEST: f64 = 315_360_000.0;

/// The parameters of a request, each of them a known one.
pub(super) struct Params(Map<String, Value>);

pub(super) fn invalid(
    parameter: impl Into<Cow<'static, str>>,
    reason: impl Into<Cow<'static, str>>,
) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into() }
}

impl Params {
    /// Reads the query, and a body that is a JSON object or a form.
    pub(super) fn read(query: &str, body: &[u8], known: &[&str]) -> Result<Params> {
        let mut params = form::read(query)?;
        let text = std::str::from_utf8(body).map_err(|_| invalid("body", "must be UTF-8"))?;
        let in_body = match text.trim() {
            "" => Map::new(),
            text if text.starts_with(['{', '[']) => match json::read(text.as_bytes()) {
                Ok(Value::Object(fields)) => fields,
                _ => return Err(invalid("body", "must be a JSON object, or a form")),
            },
            other => form::read(other)?,
        };
        for (name, value) in in_body {
            if params.insert(name.clone(), value).is_some() {
                return Err(invalid(form::shown(&name), "is given twice"));
            }
        }
        Params::known(params, known)
    }

    /// Takes parameters that all have known names.
    pub(super) fn known(mut params: Map<String, Value>, known: &[&str]) -> Result<Params> {
        if let Some(name) = params.keys().find(|name| !known.contains(&name.as_str())) {
            let reason = match known {
                [] => "is unknown: there are no parameters".to_owned(),
                some => format!("is unknown: there are {}", some.join(", ")),
            };
            return Err(invalid(form::shown(name), reason));
        }
        params.retain(|_, value| !value.is_null());
        Ok(Params(params))
    }

    /// Reads a text, or a number as text.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<Cow<'_, str>>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str().into())),
            Some(Value::Number(number)) => Ok(Some(number.to_string().into())),
            Some(_) => Err(invalid(name, "must be a text or a number")),
        }
    }

    pub(super) fn parsed<T: FromStr>(
        &self,
        name: &'static str,
        what: &'static str,
    ) -> Result<Option<T>> {
        let parsed = self.text(name)?.map(|text| text.parse().map_err(|_| invalid(name, what)));
        parsed.transpose()
    }

    pub(super) fn user_id(&self) -> Result<Option<UserId>> {
        self.parsed("user_id", "must be the id of a user")
    }

    pub(super) fn flag(&self, name: &'static str) -> Result<Option<bool>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(_) => Err(invalid(name, "must be true or false")),
        }
    }

    /// Reads a time in seconds, with no negative part.
    pub(super) fn seconds(&self, name: &'static str) -> Result<Option<Duration>> {
        let seconds: Option<f64> = self.parsed(name, "must be a number of seconds")?;
        let checked = seconds.map(|seconds| match (0.0..=LONGEST).contains(&seconds) {
            true => Ok(Duration::from_secs_f64(seconds)),
            false => Err(invalid(name, "must be 0 to 315360000 seconds: time passes forwards")),
        });
        checked.transpose()
    }

    /// Reads a time in Unix seconds.
    pub(super) fn time(&self, name: &'static str) -> Result<Option<Duration>> {
        let what = "must be a time in Unix seconds, from 1970 to 2200";
        let seconds: Option<f64> = self.parsed(name, what)?;
        let checked = seconds.map(|seconds| match (0.0..7_258_118_400.0).contains(&seconds) {
            // Clients have it as a floating-point number, which has microseconds.
            true => Ok(Duration::from_micros((seconds * 1e6).round() as u64)),
            false => Err(invalid(name, what)),
        });
        checked.transpose()
    }

    /// Reads a list of texts, as JSON or separated by commas.
    pub(super) fn list(&self, name: &'static str) -> Result<Vec<String>> {
        let wrong = || invalid(name, "must be a list of names");
        match self.0.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(text
                .split(',')
                .map(|part| part.trim().to_owned())
                .filter(|part| !part.is_empty())
                .collect()),
            Some(Value::Array(list)) => {
                list.iter().map(|part| part.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }
}
