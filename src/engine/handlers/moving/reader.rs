//! The fields of an object that people wrote, of which each is read once and in the forms that tables have.

use crate::engine::model::records::LockedFactors;
use crate::engine::model::records::Problem;
use crate::wire::wipe;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::str::FromStr;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The most problems of a user that are reported.
const MOST: usize = 20;
/// The most characters of the name of a field that are repeated.
const LONGEST: usize = 100;

/// The fields that are left of a line, or of an object in it.
pub(super) struct Fields<'a> {
    pub(super) left: Map<String, Value>,
    /// The prefix of the names of these fields.
    pub(super) place: String,
    pub(super) problems: &'a mut Vec<Problem>,
}

/// What nobody has read may be a secret.
impl Drop for Fields<'_> {
    fn drop(&mut self) {
        self.left.values_mut().for_each(wipe);
    }
}

impl<'a> Fields<'a> {
    pub(super) fn new(
        left: Map<String, Value>,
        place: String,
        problems: &'a mut Vec<Problem>,
    ) -> Fields<'a> {
        Fields { left, place, problems }
    }

    pub(super) fn problem(&mut self, name: &str, reason: &str) {
        self.add(Problem::new(format!("{}{name}", self.place), reason));
    }

    /// Adds a problem, unless there are many: a line can have hundreds of thousands, and each is longer than what
    /// causes it.
    pub(super) fn add(&mut self, mut problem: Problem) {
        if self.problems.len() < MOST {
            let end = problem.field.char_indices().nth(LONGEST).map(|(end, _)| end);
            problem.field.truncate(end.unwrap_or(problem.field.len()));
            self.problems.push(problem);
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        self.left.get(name).is_some_and(|value| !is_empty(value))
    }

    /// Takes a value. An empty column of CSV counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let has = self.has(name);
        self.left.remove(name).filter(|_| has)
    }

    /// Reports the fields that are left: a name that was mistyped must not be overlooked.
    pub(super) fn end(&mut self, known: &[&str]) {
        let left: Vec<String> = self.left.keys().cloned().collect();
        let unknown = left.iter().filter(|name| !known.contains(&name.as_str()));
        for name in unknown {
            self.problem(name, &format!("is unknown: the fields are {}", known.join(", ")));
        }
    }

    /// Reads a text or a number, as text; `None` if it is absent.
    pub(super) fn word(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => {
                self.problem(name, "must be text");
                None
            }
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        if !self.has(name) {
            self.problem(name, "is missing");
        }
        self.word(name)
    }

    pub(super) fn parsed<T: FromStr<Err = Error>>(&mut self, name: &str) -> Option<T> {
        let text = self.word(name)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                let field = format!("{}{name}", self.place);
                self.add(Problem::of(&error, &field));
                None
            }
        }
    }

    pub(super) fn required<T: FromStr<Err = Error>>(&mut self, name: &str) -> Option<T> {
        if !self.has(name) {
            self.problem(name, "is missing");
        }
        self.parsed(name)
    }

    pub(super) fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.word(name)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.problem(name, "must be a whole number");
        }
        number
    }

    /// Reads a flag in the forms of JSON, and of databases and spreadsheets.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let text = match self.take(name) {
            None => return false,
            Some(Value::Bool(flag)) => return flag,
            Some(Value::String(text)) => text.to_ascii_lowercase(),
            Some(other) => other.to_string(),
        };
        match &*text {
            "true" | "t" | "yes" | "y" | "1" => true,
            "false" | "f" | "no" | "n" | "0" => false,
            _ => {
                self.problem(name, "must be true or false");
                false
            }
        }
    }

    /// Reads a time in milliseconds.
    pub(super) fn time(&mut self, name: &str) -> Option<i64> {
        let text = self.word(name)?;
        if let Ok(seconds) = text.parse::<i64>() {
            return Some(seconds.saturating_mul(1000));
        }
        let parsed = OffsetDateTime::parse(&text.replacen(' ', "T", 1), &Rfc3339).ok();
        let time =
            parsed.and_then(|time| i64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok());
        if time.is_none() {
            self.problem(name, "must be a time such as 2024-05-01T12:30:00Z, or Unix seconds");
        }
        time
    }

    /// Reads a list, also as text in a column of CSV: as JSON, or with spaces in between.
    pub(super) fn values(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(Value::String(text)) if text.trim_start().starts_with('[') => {
                serde_json::from_str(&text).unwrap_or_else(|_| {
                    self.problem(name, "must be a list in JSON");
                    Vec::new()
                })
            }
            Some(Value::String(text)) => text.split_whitespace().map(Value::from).collect(),
            Some(_) => {
                self.problem(name, "must be a list");
                Vec::new()
            }
        }
    }

    pub(super) fn list<T>(&mut self, name: &str, read: impl Fn(&str) -> Result<T>) -> Vec<T> {
        let mut all = Vec::new();
        for (place, value) in self.values(name).into_iter().enumerate() {
            let field = format!("{}{name}[{place}]", self.place);
            match value.as_str().map(&read) {
                Some(Ok(value)) => all.push(value),
                Some(Err(error)) => self.add(Problem::of(&error, &field)),
                None => self.add(Problem::new(field, "must be text")),
            }
        }
        all
    }

    pub(super) fn locked(&mut self) -> LockedFactors {
        let mut locked = LockedFactors::default();
        let reason = "must be codes, authenticators, recovery_codes or account";
        let names = ["codes", "authenticators", "recovery_codes", "account"];
        let known = self.list("locked", |name| {
            let place = names.iter().position(|known| *known == name);
            place.ok_or_else(|| Error::invalid_argument("locked", reason))
        });
        for place in known {
            let LockedFactors { codes, authenticators, recovery_codes, account } = &mut locked;
            *[codes, authenticators, recovery_codes, account][place] = true;
        }
        locked
    }

    /// Reads a list of objects, each with this function.
    pub(super) fn objects<T>(
        &mut self,
        name: &str,
        read: impl Fn(&mut Fields<'_>) -> Option<T>,
    ) -> Vec<T> {
        let mut all = Vec::new();
        for (at, value) in self.values(name).into_iter().enumerate() {
            let place = format!("{}{name}[{at}]", self.place);
            match value {
                Value::Object(fields) => {
                    all.extend(read(&mut Fields::new(fields, format!("{place}."), self.problems)));
                }
                // An app as its URI.
                Value::String(uri) if uri.starts_with("otpauth:") => {
                    let fields = Map::from_iter([("otpauth".to_owned(), uri.into())]);
                    all.extend(read(&mut Fields::new(fields, format!("{place}."), self.problems)));
                }
                _ => self.add(Problem::new(place, "must be an object")),
            }
        }
        all
    }
}
