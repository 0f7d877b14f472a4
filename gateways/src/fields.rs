//! Reads the settings of a gateway, and collects all errors in them.

use seconder::model::Secret;
use serde_json::{Map, Value};
use std::fmt;
use std::ops::RangeInclusive;

/// A setting that a gateway has. The tables of the documents are compared with these.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// The accepted values, as a message states them: "a number of seconds, 1 to 60".
    pub accepted: &'static str,
    /// The default, as the table states it. Empty for a setting that is required.
    pub default: &'static str,
    /// Set if it is stored sealed, and never shown.
    pub sealed: bool,
}

impl Field {
    /// Returns a setting that may be left out.
    pub const fn new(name: &'static str, accepted: &'static str, default: &'static str) -> Field {
        Field { name, accepted, default, sealed: false }
    }

    /// Returns a setting that must be given.
    pub const fn required(name: &'static str, accepted: &'static str) -> Field {
        Field::new(name, accepted, "")
    }

    /// Returns the same setting, but stored sealed and never shown.
    pub const fn secret(self) -> Field {
        Field { sealed: true, ..self }
    }
}

/// A setting that is not accepted. It does not hold the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The setting's name.
    pub field: String,
    /// The error: "is 90", "is missing".
    pub wrong: String,
    /// The accepted values.
    pub accepted: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; accepted: {}", self.field, self.wrong, self.accepted)
    }
}

/// The settings of a gateway while they are read. A value that is not accepted is noted, and the
/// reader continues with the default or without one, so that the operator gets all problems at once.
pub struct Fields<'a> {
    settings: &'a Map<String, Value>,
    known: Vec<Field>,
    problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Begins to read settings. The setting `gateway`, which has selected the gateway, is known.
    pub fn new(settings: &'a Map<String, Value>, known: &[Field]) -> Fields<'a> {
        Fields { settings, known: known.to_vec(), problems: Vec::new() }
    }

    /// Reads the value as it was written; `None` if it is missing or null.
    pub fn value(&mut self, name: &str) -> Option<&'a Value> {
        debug_assert!(self.known.iter().any(|field| field.name == name), "{name} is not declared");
        self.settings.get(name).filter(|value| !value.is_null())
    }

    /// Reads a text that may be missing. An empty one is a problem. A number is the text of its digits: the command line
    /// and files have senders such as 12345.
    pub fn text(&mut self, name: &str) -> Option<&'a str> {
        match self.value(name)? {
            Value::String(text) if text.is_empty() => self.problem(name, "is empty"),
            Value::String(text) => return Some(text),
            Value::Number(number) => return Some(number.as_str()),
            other => self.problem(name, format!("is {}", kind(other))),
        }
        None
    }

    /// Reads a text that must be given.
    pub fn required_text(&mut self, name: &str) -> Option<&'a str> {
        if self.value(name).is_none() {
            self.problem(name, "is missing");
        }
        self.text(name)
    }

    /// Reads a secret that may be missing.
    pub fn secret(&mut self, name: &str) -> Option<Secret> {
        self.text(name).map(Secret::new)
    }

    /// Reads a whole number in a range.
    pub fn number(&mut self, name: &str, range: RangeInclusive<u64>, default: u64) -> u64 {
        match self.value(name).map(|value| (value, value.as_u64())) {
            None => default,
            Some((_, Some(number))) if range.contains(&number) => number,
            Some((Value::Number(number), _)) => {
                self.problem(name, format!("is {number}"));
                default
            }
            Some((other, _)) => {
                self.problem(name, format!("is {}", kind(other)));
                default
            }
        }
    }

    /// Reads `true` or `false`.
    pub fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.value(name) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.problem(name, format!("is {}", kind(other)));
                default
            }
        }
    }

    /// Reads one of several words; `None` if it is missing or another one.
    pub fn one_of(&mut self, name: &str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text(name)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let near = nearest(text, words.iter().copied());
            let near = near.map(|near| format!("; {near} is near")).unwrap_or_default();
            self.problem(name, format!("is {}{near}", shown(text)));
        }
        found
    }

    /// Notes an error in a setting. `wrong` must not have the value of a secret, or a URL, which
    /// may have one.
    pub fn problem(&mut self, name: &str, wrong: impl Into<String>) {
        let known = self.known.iter().find(|field| field.name == name);
        let accepted = known.map_or("", |field| field.accepted).to_owned();
        self.problems.push(Problem { field: name.to_owned(), wrong: wrong.into(), accepted });
    }

    /// Returns whether a problem was noted.
    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Ends reading: notes the settings that the gateway does not have, with the one that was
    /// probably meant.
    ///
    /// # Errors
    /// All problems.
    pub fn finish(mut self) -> Result<(), Vec<Problem>> {
        let names = || self.known.iter().map(|field| field.name);
        let is_known = |name: &str| name == "gateway" || names().any(|known| known == name);
        let unknown = self.settings.keys().filter(|name| !is_known(name));
        let problems: Vec<Problem> = unknown
            .map(|name| Problem {
                field: shown(name),
                wrong: "is not a setting of this gateway".to_owned(),
                accepted: match nearest(name, names()) {
                    Some(near) => near.to_owned(),
                    None => names().collect::<Vec<_>>().join(", "),
                },
            })
            .collect();
        self.problems.extend(problems);
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems) }
    }
}

/// Returns the word that was probably meant, if one differs by a few letters only.
pub(super) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_ascii_lowercase().chars().take(64).collect();
    let near = words.into_iter().map(|known| (distance(&word, known), known)).min()?;
    (near.0 <= (word.len() / 3).max(1)).then_some(near.1)
}

/// Returns the number of letters that must be added, removed or replaced to turn one word into the other.
fn distance(word: &[char], known: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (line, letter) in (1..).zip(known.chars()) {
        let mut before = row[0];
        row[0] = line;
        for column in 1..row.len() {
            let replaced = before + usize::from(word[column - 1] != letter);
            before = row[column];
            row[column] = replaced.min(before + 1).min(row[column - 1] + 1);
        }
    }
    row[word.len()]
}

/// Quotes and shortens a text that an operator wrote, for a message of one line.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 40;
    let plain = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c });
    let more = if text.chars().count() > MOST { "…" } else { "" };
    format!("`{}{more}`", plain.collect::<String>())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KNOWN: &[Field] = &[
        Field::required("url", "an https: URL"),
        Field::new("timeout", "seconds, 1 to 60", "10"),
        Field::new("allow_http", "true or false", "false"),
        Field::new("method", "GET, POST or PUT", "POST"),
        Field::new("password", "a text", "none").secret(),
    ];

    fn problems(settings: Value) -> Vec<String> {
        let settings = settings.as_object().unwrap().clone();
        let mut fields = Fields::new(&settings, KNOWN);
        fields.required_text("url");
        fields.number("timeout", 1..=60, 10);
        fields.flag("allow_http", false);
        fields.one_of("method", &["GET", "POST", "PUT"]);
        fields.secret("password");
        let problems = fields.finish().err().unwrap_or_default();
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let found = problems(json!({"gateway": "http", "timeout": 90, "allow_http": "yes",
            "method": "PUSH", "password": true, "pasword": "hunter2", "x": 1}));
        assert_eq!(
            found,
            [
                "url is missing; accepted: an https: URL",
                "timeout is 90; accepted: seconds, 1 to 60",
                "allow_http is a text; accepted: true or false",
                "method is `PUSH`; accepted: GET, POST or PUT",
                "password is true or false; accepted: a text",
                "`pasword` is not a setting of this gateway; accepted: password",
                "`x` is not a setting of this gateway; accepted: url, timeout, allow_http, method, \
                 password",
            ]
        );
    }

    #[test]
    fn a_number_is_the_text_of_its_digits() {
        let settings = json!({"url": 12345, "password": 1.50});
        let mut fields = Fields::new(settings.as_object().unwrap(), KNOWN);
        assert_eq!(fields.required_text("url"), Some("12345"));
        assert!(fields.secret("password").is_some_and(|secret| secret.expose().starts_with("1.5")));
        fields.finish().unwrap();
    }

    #[test]
    fn numbers_are_whole_and_in_their_range() {
        for bad in [json!(0), json!(-1), json!(61), json!(1.5), json!("5"), json!([])] {
            assert_eq!(problems(json!({"url": "https:", "timeout": bad})).len(), 1, "{bad}");
        }
        for fine in [json!(1), json!(60), json!(null)] {
            assert!(problems(json!({"url": "https:", "timeout": fine})).is_empty(), "{fine}");
        }
    }

    #[test]
    fn what_was_probably_meant_is_named() {
        let words = ["timeout", "password", "url"];
        assert_eq!(nearest("time_out", words), Some("timeout"));
        assert_eq!(nearest("URL", words), Some("url"));
        assert_eq!(nearest("passwort", words), Some("password"));
        assert_eq!(nearest("colour", words), None);
    }

    #[test]
    fn what_an_operator_wrote_is_shown_in_one_short_line() {
        assert_eq!(shown("a\nb"), "`a b`");
        assert_eq!(shown(&"x".repeat(41)), format!("`{}…`", "x".repeat(40)));
    }
}
