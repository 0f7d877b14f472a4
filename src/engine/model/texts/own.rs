//! The texts of an application.

use super::kind::Kind;
use super::languages::{self, built_in};
use super::template::{LONGEST, problems, shown};
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// The maximum size of an application's texts as JSON, in bytes.
const LARGEST: usize = 65_536;
/// The number of problems that an error lists.
const MOST_PROBLEMS: usize = 20;

/// The texts of an application, by language and kind. They are stored with it, so every process that opens its database
/// without texts has the same ones. If a text is missing, the built-in one is used.
///
/// They are read from JSON: an object of languages, such as `de` and `pt-BR`, each of which is an object of texts by
/// their kind. The kinds are `sms` and `call`, which have the placeholder `{{code}}`; `sms_action` and `call_action`,
/// for codes with an action message, which have `{{action}}` too; and `install`, which has `{{link}}`. `{{app}}` is the
/// name of the application, `{{validity}}` is the time for which the code is valid, such as "10 minutes", in a language
/// that is built in, and `{{minutes}}` the number of them. A text has 320 characters at most.
///
/// ```
/// # #[cfg(feature = "engine")] {
/// use seconder::engine::Texts;
/// let texts: Texts = r#"{"de": {"sms": "{{code}} ist Ihr Code für {{app}}."}}"#.parse()?;
/// assert_eq!(texts.to_string(), r#"{"de":{"sms":"{{code}} ist Ihr Code für {{app}}."}}"#);
/// let error = r#"{"de": {"sms": "{{cod}}"}}"#.parse::<Texts>().unwrap_err();
/// assert!(error.to_string().contains("de.sms lacks {{code}}"));
/// # }
/// # Ok::<(), seconder::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts(Map<String, Value>);

impl Texts {
    /// Returns the languages, each with the kinds of its texts.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.0.iter().map(|(language, texts)| {
            let kinds = texts.as_object().into_iter().flat_map(Map::keys);
            (language.as_str(), kinds.map(String::as_str).collect())
        })
    }

    /// Returns whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text of a kind in exactly this language.
    pub(super) fn text(&self, language: &str, kind: Kind) -> Option<&str> {
        self.0.get(language)?.get(kind.name())?.as_str()
    }

    /// Returns the stored form; `None` without texts.
    pub(in crate::engine) fn stored(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.to_string())
    }
}

impl FromStr for Texts {
    type Err = Error;

    /// Reads them from JSON; an empty text has none.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with every problem found.
    fn from_str(text: &str) -> Result<Texts> {
        if text.trim().is_empty() {
            return Ok(Texts::default());
        }
        if text.len() > LARGEST {
            return Err(invalid(format!("has {} bytes, not up to {LARGEST}", text.len())));
        }
        let read: Value =
            serde_json::from_str(text).map_err(|error| invalid(format!("is not JSON: {error}")))?;
        let Value::Object(texts) = read else { return Err(invalid(shape())) };
        let problems: Vec<String> =
            texts.iter().flat_map(|(language, texts)| of_language(language, texts)).collect();
        match problems.len() {
            0 => Ok(Texts(texts)),
            1 => Err(invalid(format!("has a problem: {}", problems.concat()))),
            some => {
                let more = if some > MOST_PROBLEMS { "; and more" } else { "" };
                let first = &problems[..some.min(MOST_PROBLEMS)];
                Err(invalid(format!("has {some} problems: {}{more}", first.join("; "))))
            }
        }
    }
}

/// As JSON.
impl fmt::Display for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(&self.0).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

fn invalid(reason: String) -> Error {
    Error::invalid_argument("texts", reason)
}

fn shape() -> String {
    "must be a JSON object of languages, each of them an object of texts, such as \
     {\"de\": {\"sms\": \"{{code}} ist Ihr Code.\"}}"
        .to_owned()
}

fn of_language(language: &str, texts: &Value) -> Vec<String> {
    let at = shown(language);
    let mut found = Vec::new();
    if !is_language(language) {
        found.push(format!(
            "{at} is no language: must be two letters of ISO 639-1, such as those that are built in \
             ({}), with or without a region as in pt-BR",
            built_in()
        ));
    }
    let Some(texts) = texts.as_object() else {
        found.push(format!("{at} {}", shape()));
        return found;
    };
    for (name, text) in texts {
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
            let kinds = Kind::ALL.map(Kind::name).join(", ");
            found.push(format!("{at}.{} is no kind: must be one of {kinds}", shown(name)));
            continue;
        };
        match text.as_str() {
            Some(text) => {
                let language = language.get(..2).unwrap_or_default();
                let problems = problems(text, kind, language);
                found.extend(problems.iter().map(|problem| format!("{at}.{kind} {problem}")));
            }
            None => found.push(format!("{at}.{kind} must be a text of 1 to {LONGEST} characters")),
        }
    }
    found
}

fn is_language(tag: &str) -> bool {
    let (language, region) = match tag.split_once('-') {
        Some((language, region)) => (language, Some(region)),
        None => (tag, None),
    };
    let known = languages::KNOWN.split_whitespace().any(|known| known == language);
    let is_region = |region: &str| {
        region.len() == 2 && region.bytes().all(|b| b.is_ascii_uppercase())
            || region.len() == 3 && region.bytes().all(|b| b.is_ascii_digit())
    };
    known && region.is_none_or(is_region)
}
