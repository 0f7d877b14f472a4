//! Documentation in the words of C.

use super::parameter::inner;
use super::{C, Plan};
use crate::Result;
use crate::model::{Field, Overrides, Struct, Type};
use crate::text::{Docs, constant, sentences};
use std::collections::BTreeSet;

/// Links to items of Rust that are no declarations of calls, and what C has in their place.
const OTHER_LINKS: [(&str, &str); 2] =
    [("Ok", "SECONDER_OK"), ("Rejection::fields", "seconder_error_field_name()")];

/// The word for a value that the service does not provide.
pub(super) const ABSENT: &str = "`None`";

/// Says in C what declarations say in Rust.
pub(super) struct Translator<'a> {
    plan: &'a Plan<'a>,
    /// Names that C has too, so that they stay code.
    names: BTreeSet<&'a str>,
}

impl<'a> Translator<'a> {
    pub(super) fn new(plan: &'a Plan<'a>, declared: &'a Struct) -> Translator<'a> {
        let mut names = BTreeSet::new();
        for field in &declared.fields {
            names.insert(field.name.as_str());
            // A reply inside a reply has names of its own.
            let is_part = !matches!(field.kind, Type::Optional(_));
            if let Some(inner) = inner(plan, field).filter(|_| is_part) {
                names.extend(inner.fields.iter().map(|field| field.name.as_str()));
            }
        }
        Translator { plan, names }
    }

    /// The paragraphs of an item. An override has the words of C already.
    pub(super) fn paragraphs(&self, docs: &Docs, overrides: &Overrides) -> Result<Vec<String>> {
        if let Some(words) = overrides.words(C) {
            return Ok(Docs::parse(words).0);
        }
        let mut translated = Vec::new();
        for paragraph in &docs.0 {
            let kept: Vec<String> =
                sentences(paragraph).into_iter().filter(|one| !is_of_rust(one)).collect();
            if !kept.is_empty() {
                translated.push(self.translate(&kept.join(" "))?);
            }
        }
        Ok(translated)
    }

    /// The sentences of a field, on one line. `absent` is what C has in place of `None`.
    pub(super) fn field(&self, field: &Field, absent: &str) -> Result<String> {
        let at = |e: String| format!("{}: {e}", field.rust);
        let paragraphs = self.paragraphs(&field.docs, &field.overrides).map_err(at)?;
        Ok(paragraphs.join(" ").replace(ABSENT, absent))
    }

    pub(super) fn translate(&self, text: &str) -> Result<String> {
        let (mut translated, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['[', '`', '*']) {
            translated += &rest[..at];
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("**") {
                rest = after;
            } else if rest.starts_with("[`") {
                let (label, after) = split(&rest[2..], "`]")?;
                let (path, after) = match after.strip_prefix('(') {
                    Some(after) => split(after, ")")?,
                    None => (label, after),
                };
                translated += &self.link(path)?;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('`') {
                let (code, after) = split(after, "`")?;
                translated += &self.code(code);
                rest = after;
            } else {
                translated += &rest[..1];
                rest = &rest[1..];
            }
        }
        Ok(translated + rest)
    }

    fn code(&self, code: &str) -> String {
        match self.names.contains(code) || code == "None" || code.contains('<') {
            true => format!("`{code}`"),
            false => format!("\"{code}\""),
        }
    }

    /// The name in C of an item of Rust.
    fn link(&self, path: &str) -> Result<String> {
        let parts: Vec<&str> = path.split("::").collect();
        let is_type = |part: &&str| part.starts_with(|c: char| c.is_uppercase());
        let from = parts.iter().position(is_type).unwrap_or(0);
        let parts = &parts[from..];
        let other = OTHER_LINKS.iter().find(|(known, _)| *known == parts.join("::"));
        if let Some((_, c)) = other {
            return Ok((*c).to_owned());
        }
        let found = match parts {
            ["Error", variant] => Some(format!("SECONDER_{}", constant(variant))),
            ["Settings", option] => Some(format!("`{option}` of seconder_open_options")),
            [name] => self.type_link(name),
            [name, member] => self.member_link(name, member),
            _ => None,
        };
        found.ok_or_else(|| format!("C has nothing for the link {path}: give it words of its own"))
    }

    fn type_link(&self, name: &str) -> Option<String> {
        let mut calls = self.plan.interface.calls.iter();
        match calls.find(|call| call.declared.name == name) {
            Some(call) => Some(format!("seconder_{}()", call.name)),
            None => Some(self.plan.type_name(self.plan.interface.structs.get(name)?)),
        }
    }

    fn member_link(&self, name: &str, member: &str) -> Option<String> {
        let interface = self.plan.interface;
        if let Some(call) = interface.calls.iter().find(|call| call.declared.name == name) {
            let options = format!("seconder_{}_options", call.name);
            return Some(format!("`{member}` of {options}"));
        }
        let declared = interface.structs.get(name)?;
        let kind = self.plan.type_name(declared);
        match declared.fields.iter().find(|field| field.rust == member) {
            Some(field) => Some(format!("{kind}_{}()", super::reply::accessor(field))),
            // A function that is written by hand.
            None if declared.overrides.has(C, "keeps") => Some(format!("{kind}_{member}()")),
            None => None,
        }
    }
}

/// Returns whether a sentence is about Rust alone: C has no `Debug`.
fn is_of_rust(sentence: &str) -> bool {
    ["`Debug`", "Default: true", "Default: false"].iter().any(|start| sentence.starts_with(start))
}

fn split<'a>(text: &'a str, end: &str) -> Result<(&'a str, &'a str)> {
    text.split_once(end).ok_or_else(|| format!("{end} is missing in: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;
    use std::path::Path;

    #[test]
    fn links_and_code_are_those_of_c() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let interface = model::read(&root).unwrap();
        let plan = Plan::new(&interface).unwrap();
        let call = &interface.calls[0];
        let translator = Translator::new(&plan, &call.declared);
        let translate = |text: &str| translator.translate(text).unwrap();
        assert_eq!(translate("See [`Verify`](super::Verify)."), "See seconder_verify().");
        assert_eq!(translate("[`super::Factors`], `de`"), "seconder_factors, \"de\"");
        assert_eq!(translate("**Set** `new_only`"), "Set `new_only`");
        assert_eq!(translate("[`Error::InvalidResponse`]"), "SECONDER_INVALID_RESPONSE");
        let install = "[`UserCreated::install_message`]";
        assert_eq!(translate(install), "seconder_user_created_install_message()");
        assert!(translator.translate("[`Verdict::Right`]").is_err());
    }
}
