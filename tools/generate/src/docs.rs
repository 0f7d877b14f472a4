//! Documentation of declarations in the words of another language.

use crate::Result;
use crate::model::{Call, Enum, Field, Interface, Overrides, Struct, Type, Variant};
use crate::text::{Docs, sentences};
use std::collections::BTreeSet;

/// The word for a value that the service does not provide.
pub(crate) const ABSENT: &str = "`None`";

/// The names of a language for items of Rust that documentation links to.
pub(crate) trait Language {
    /// The languages whose overrides apply. The first that has one decides.
    fn overrides(&self) -> &'static [&'static str];

    /// Beginnings of sentences that are about Rust alone.
    fn skipped(&self) -> &'static [&'static str];

    /// An item that is no declaration of a call.
    fn other(&self, path: &str) -> Option<&'static str>;

    /// The status of a call that fails with a variant of `Error`.
    fn status(&self, variant: &str) -> String;

    /// An option of opening a service.
    fn setting(&self, name: &str) -> String;

    fn call(&self, call: &Call) -> String;

    fn parameter(&self, call: &Call, name: &str) -> String;

    fn type_of(&self, declared: &Struct) -> String;

    /// The function that reads a field, without its type.
    fn accessor<'a>(&self, field: &'a Field) -> &'a str;

    /// A function that reads a value of a reply, with its type.
    fn value(&self, declared: &Struct, accessor: &str) -> String;

    /// An enum, if the language has enums of names.
    fn enumeration(&self, _: &Enum) -> Option<String> {
        None
    }

    /// A value of an enum.
    fn variant(&self, _: &Enum, _: &Variant) -> Option<String> {
        None
    }

    /// Code in a sentence, which may be a name that the language has too.
    fn code(&self, code: &str, is_name: bool) -> String {
        match is_name || code == "None" || code.contains('<') {
            true => format!("`{code}`"),
            false => format!("\"{code}\""),
        }
    }

    /// The translated text, with what else differs in the language.
    fn finish(&self, text: String) -> String {
        text
    }
}

/// Translates what a declaration says of items of Rust.
pub(crate) struct Translator<'a> {
    interface: &'a Interface,
    language: &'a dyn Language,
    /// Names that the language has too, so that they stay code.
    names: BTreeSet<&'a str>,
    /// All of it has the names of the language, because the C layer declares it.
    is_of_c: bool,
}

impl<'a> Translator<'a> {
    pub(crate) fn new(
        interface: &'a Interface,
        language: &'a dyn Language,
        declared: &'a Struct,
    ) -> Translator<'a> {
        let mut names = BTreeSet::new();
        for field in &declared.fields {
            names.insert(field.name.as_str());
            // A reply inside a reply has names of its own.
            let is_part = !matches!(field.kind, Type::Optional(_));
            if let Some(inner) = interface.inner(field).filter(|_| is_part) {
                names.extend(inner.fields.iter().map(|field| field.name.as_str()));
            }
        }
        Translator { interface, language, names, is_of_c: declared.is_of_c() }
    }

    /// A translator of text in which no name needs to stay code.
    pub(crate) fn without_names(
        interface: &'a Interface,
        language: &'a dyn Language,
    ) -> Translator<'a> {
        Translator { interface, language, names: BTreeSet::new(), is_of_c: false }
    }

    /// A translator of the options of opening, which refer to each other and to parameters of calls.
    pub(crate) fn of_options(
        interface: &'a Interface,
        language: &'a dyn Language,
    ) -> Translator<'a> {
        let calls = interface.calls.iter().flat_map(|call| &call.declared.fields);
        let mut names: BTreeSet<&str> = calls.map(|field| field.name.as_str()).collect();
        names.extend(interface.options.iter().map(|option| option.name.as_str()));
        names.extend(["sqlite:", "postgres:"]);
        Translator { interface, language, names, is_of_c: false }
    }

    /// The words of the language in place of the documentation, if it has any.
    pub(crate) fn own_words<'o>(&self, overrides: &'o Overrides) -> Option<&'o str> {
        self.language.overrides().iter().find_map(|language| overrides.words(language))
    }

    /// The paragraphs of an item.
    pub(crate) fn paragraphs(&self, docs: &Docs, overrides: &Overrides) -> Result<Vec<String>> {
        self.reworded(docs, overrides, |sentence| sentence)
    }

    /// The paragraphs of an item, of which each sentence is reworded before it is translated.
    pub(crate) fn reworded(
        &self,
        docs: &Docs,
        overrides: &Overrides,
        reword: fn(String) -> String,
    ) -> Result<Vec<String>> {
        let own = self.own_words(overrides).map(Docs::parse);
        let mut translated = Vec::new();
        for paragraph in &own.as_ref().unwrap_or(docs).0 {
            let sentences = sentences(paragraph).into_iter();
            let kept = sentences.filter(|one| !self.is_skipped(one)).map(reword);
            let kept: Vec<String> = kept.collect();
            if !kept.is_empty() {
                translated.push(self.translate(&kept.join(" "))?);
            }
        }
        Ok(translated)
    }

    /// The sentences of a field, on one line. `absent` is what the language has in place of `None`.
    pub(crate) fn field(&self, field: &Field, absent: &str) -> Result<String> {
        let at = |e: String| format!("{}: {e}", field.rust);
        let paragraphs = self.paragraphs(&field.docs, &field.overrides).map_err(at)?;
        Ok(paragraphs.join(" ").replace(ABSENT, absent))
    }

    fn is_skipped(&self, sentence: &str) -> bool {
        self.language.skipped().iter().any(|start| sentence.starts_with(start))
    }

    pub(crate) fn translate(&self, text: &str) -> Result<String> {
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
                translated += &self.language.code(code, self.is_of_c || self.names.contains(code));
                rest = after;
            } else {
                translated += &rest[..1];
                rest = &rest[1..];
            }
        }
        Ok(self.language.finish(translated + rest))
    }

    /// The name in the language of an item of Rust.
    fn link(&self, path: &str) -> Result<String> {
        let parts: Vec<&str> = path.split("::").collect();
        let is_type = |part: &&str| part.starts_with(|c: char| c.is_uppercase());
        let from = parts.iter().position(is_type).unwrap_or(0);
        let parts = &parts[from..];
        if let Some(other) = self.language.other(&parts.join("::")) {
            return Ok(other.to_owned());
        }
        let found = match parts {
            // No error of Rust has the statuses of a code or a browser.
            ["Error" | "Status", variant] => Some(self.language.status(variant)),
            ["Settings", option] => Some(self.language.setting(option)),
            [name] => self.type_link(name),
            [name, member] => self.member_link(name, member),
            _ => None,
        };
        found.ok_or_else(|| format!("nothing is known of the link {path}: use other words"))
    }

    fn type_link(&self, name: &str) -> Option<String> {
        let mut calls = self.interface.calls.iter();
        if let Some(call) = calls.find(|call| call.declared.name == name) {
            return Some(self.language.call(call));
        }
        match self.interface.find_enum(name) {
            Some(found) => self.language.enumeration(found),
            None => Some(self.language.type_of(self.interface.structs.get(name)?)),
        }
    }

    fn member_link(&self, name: &str, member: &str) -> Option<String> {
        let mut calls = self.interface.calls.iter();
        if let Some(call) = calls.find(|call| call.declared.name == name) {
            return Some(self.language.parameter(call, member));
        }
        if let Some(found) = self.interface.find_enum(name) {
            let variant = found.variants.iter().find(|variant| variant.rust == member)?;
            return self.language.variant(found, variant);
        }
        let declared = self.interface.structs.get(name)?;
        let accessor = match declared.fields.iter().find(|field| field.rust == member) {
            Some(field) => self.language.accessor(field),
            // A function that is written by hand.
            None if declared.overrides.has("c", "keeps") => member,
            None => return None,
        };
        Some(self.language.value(declared, accessor))
    }
}

fn split<'a>(text: &'a str, end: &str) -> Result<(&'a str, &'a str)> {
    text.split_once(end).ok_or_else(|| format!("{end} is missing in: {text}"))
}
