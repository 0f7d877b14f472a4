//! Texts of messages: the choice of language and template, and the values inserted in it.

mod countries;
mod kind;
mod languages;
mod notices;
mod own;
mod template;

pub(in crate::engine) use kind::Kind;
pub(in crate::engine) use notices::notices;
pub use own::Texts;

use crate::model::OtpDomain;
use languages::{ENGLISH, Language};
use serde::{Deserialize, Serialize};
use std::fmt;
use template::{Piece, pieces};

/// Begins a part of a text whose direction is its own (FSI), and ends it (PDI).
const ISOLATE: &str = "\u{2068}";
const END_ISOLATE: &str = "\u{2069}";

/// The text of a message without its code, and without how long that is valid, because a message that
/// is repeated says how long is left then.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::engine) struct Wording {
    /// The language and, if it is known, the region: `de`, `pt-BR`.
    pub(in crate::engine) language: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Text(String),
    Code,
    Validity,
    Minutes,
}

/// The values that are inserted in a template.
#[derive(Clone, Copy, Default)]
pub(in crate::engine) struct Values<'a> {
    pub(in crate::engine) app: &'a str,
    /// The message of an action, for the kinds that have one.
    pub(in crate::engine) action: &'a str,
    /// The link of the install message.
    pub(in crate::engine) link: &'a str,
    /// The domain of the last line of an SMS with a code, which browsers read.
    pub(in crate::engine) domain: Option<&'a OtpDomain>,
}

/// A language, and its region if it is known.
#[derive(Clone, PartialEq, Eq)]
struct Tag {
    language: String,
    region: Option<String>,
}

impl Tag {
    /// Reads a locale in a program's notation: `pt-BR`, `pt_BR.UTF-8`, `zh-Hant`.
    fn read(text: &str) -> Option<Tag> {
        let tag = text.split(['.', '@']).next().unwrap_or_default();
        let mut subtags = tag.split(['-', '_']);
        let language = subtags.next().filter(|first| is_letters(first))?.to_ascii_lowercase();
        // The name that Hebrew had before 1989, which some phones still have.
        let language = if language == "iw" { "he".to_owned() } else { language };
        let rest: Vec<&str> = subtags.collect();
        let number = |subtag: &str| subtag.len() == 3 && subtag.bytes().all(|b| b.is_ascii_digit());
        let region = rest.iter().find(|subtag| is_letters(subtag) || number(subtag));
        let has = |script: &str| rest.iter().any(|subtag| subtag.eq_ignore_ascii_case(script));
        let region = region.map(|region| region.to_ascii_uppercase());
        let region = region.or_else(|| has("hant").then(|| "TW".to_owned()));
        // The script that a tag names decides the characters, in any region.
        let region = region.filter(|region| !(has("hans") && is_traditional(region)));
        Some(Tag { language, region })
    }

    fn english() -> Tag {
        Tag { language: ENGLISH.tag.to_owned(), region: None }
    }

    /// Returns the language that is built in. Texts in simplified characters are not used for
    /// Taiwan, Hong Kong and Macao.
    fn built_in(&self) -> Option<&'static Language> {
        let traditional = self.region.as_deref().is_some_and(is_traditional);
        languages::of(&self.language).filter(|language| language.tag != "zh" || !traditional)
    }
}

/// Returns whether Chinese is written in traditional characters there.
fn is_traditional(region: &str) -> bool {
    matches!(region, "TW" | "HK" | "MO")
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.region {
            Some(region) => write!(f, "{}-{region}", self.language),
            None => f.write_str(&self.language),
        }
    }
}

fn is_letters(subtag: &str) -> bool {
    subtag.len() == 2 && subtag.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns the template of a kind of message: in the language of `locale` if there is one,
/// otherwise in the country's language, otherwise in English. A text of the application comes
/// before the one that is built in.
fn choose<'a>(
    own: &'a Texts,
    kind: Kind,
    locale: Option<&str>,
    calling_code: u16,
) -> (Tag, &'a str) {
    let country = countries::language(calling_code).and_then(Tag::read);
    let wanted = [locale.and_then(Tag::read), country.clone(), Some(Tag::english())];
    for mut tag in wanted.into_iter().flatten() {
        let of_region = tag.region.as_ref().and_then(|_| own.text(&tag.to_string(), kind));
        let found = of_region.or_else(|| own.text(&tag.language, kind));
        if let Some(text) = found.or_else(|| tag.built_in().map(|language| kind.of(language))) {
            let is_same = |country: &Tag| {
                country.language == tag.language
                    && country.built_in().is_some() == tag.built_in().is_some()
            };
            let same = country.filter(is_same);
            tag.region = tag.region.or_else(|| same.and_then(|country| country.region));
            return (tag, text);
        }
    }
    (Tag::english(), kind.of(&ENGLISH))
}

impl Wording {
    /// Composes a message.
    pub(in crate::engine) fn new(
        own: &Texts,
        kind: Kind,
        (locale, calling_code): (Option<&str>, u16),
        values: &Values<'_>,
    ) -> Wording {
        let (tag, template) = choose(own, kind, locale, calling_code);
        // A voice reads in the order in which the text is written.
        let isolated = languages::is_right_to_left(&tag.language) && !kind.is_spoken();
        let mut wording = Wording { language: tag.to_string(), parts: Vec::new() };
        for piece in pieces(template) {
            match piece {
                Piece::Text(text) | Piece::Unclosed(text) => wording.push(text),
                Piece::Placeholder("app") => wording.insert(values.app, isolated),
                Piece::Placeholder("action") => wording.insert(values.action, isolated),
                Piece::Placeholder("about") if !values.action.is_empty() => {
                    wording.push(" (");
                    wording.insert(values.action, isolated);
                    wording.push(")");
                }
                // A mark after a link might be taken for a part of it.
                Piece::Placeholder("link") => wording.push(values.link),
                Piece::Placeholder("code") if isolated => {
                    wording.push(ISOLATE);
                    wording.parts.push(Part::Code);
                    wording.push(END_ISOLATE);
                }
                Piece::Placeholder("code") => wording.parts.push(Part::Code),
                Piece::Placeholder("validity") => wording.parts.push(Part::Validity),
                Piece::Placeholder("minutes") => wording.parts.push(Part::Minutes),
                Piece::Placeholder(_) => {}
            }
        }
        // Browsers look for it in the last line, and accept nothing else there.
        if let (Kind::Sms | Kind::SmsAction, Some(domain)) = (kind, values.domain) {
            wording.push(&format!("\n@{domain} #"));
            wording.parts.push(Part::Code);
        }
        wording
    }

    fn push(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// Inserts a value, which cannot change the text around it: it stays in its line, and in its
    /// direction.
    fn insert(&mut self, value: &str, isolated: bool) {
        if isolated {
            self.push(ISOLATE);
        }
        let plain = value.chars().filter(|c| !template::is_direction(*c));
        let plain: String = plain.map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.push(&plain);
        if isolated {
            self.push(END_ISOLATE);
        }
    }

    /// Returns the text with this code, which is valid for so many seconds. No other copy of it stays in
    /// memory: a text that grows would leave some. A few seconds count for nothing, because some time
    /// has passed since the code was made.
    pub(in crate::engine) fn text(&self, code: &str, seconds: u64) -> String {
        let minutes = (seconds + 10) / 60;
        let language = self.language.split('-').next().and_then(languages::of);
        let validity = language.unwrap_or(&ENGLISH).validity(minutes);
        let minutes = minutes.max(1).to_string();
        let parts = || {
            self.parts.iter().map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Code => code,
                Part::Validity => &validity,
                Part::Minutes => &minutes,
            })
        };
        let mut text = String::with_capacity(parts().map(str::len).sum());
        parts().for_each(|part| text.push_str(part));
        text
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
