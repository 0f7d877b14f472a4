//! Documentation in the words of Python.

use super::{PYTHON, class};
use crate::Result;
use crate::model::{Field, Interface, Overrides};
use crate::text::{Docs, sentences};

/// Sentences that a signature says.
const SKIPPED: [&str; 2] = ["Default: true", "Default: false"];

/// Says in Python what declarations say in Rust.
pub(super) struct Translator<'a> {
    interface: &'a Interface,
    /// The class that the text is in, whose members need no other name.
    class: &'a str,
}

impl<'a> Translator<'a> {
    pub(super) fn new(interface: &'a Interface, class: &'a str) -> Translator<'a> {
        Translator { interface, class }
    }

    /// The paragraphs of an item. An override stands for its documentation.
    pub(super) fn paragraphs(&self, docs: &Docs, overrides: &Overrides) -> Result<Vec<String>> {
        let own = overrides.words(PYTHON).map(Docs::parse);
        let mut translated = Vec::new();
        for paragraph in &own.as_ref().unwrap_or(docs).0 {
            let is_said = |sentence: &String| SKIPPED.iter().any(|one| sentence.starts_with(one));
            let kept: Vec<String> =
                sentences(paragraph).into_iter().filter(|sentence| !is_said(sentence)).collect();
            if !kept.is_empty() {
                translated.push(self.translate(&kept.join(" "))?);
            }
        }
        Ok(translated)
    }

    /// The sentences of a field, on one line.
    pub(super) fn field(&self, field: &Field) -> Result<String> {
        let at = |e: String| format!("{}: {e}", field.rust);
        Ok(self.paragraphs(&field.docs, &field.overrides).map_err(at)?.join(" "))
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
                translated += &code_of(code);
                rest = after;
            } else {
                translated += &rest[..1];
                rest = &rest[1..];
            }
        }
        Ok(with_sections(&(translated + rest)))
    }

    /// The role that refers to what an item of Rust is in Python.
    fn link(&self, path: &str) -> Result<String> {
        let parts: Vec<&str> = path.split("::").collect();
        let is_type = |part: &&str| part.starts_with(|c: char| c.is_uppercase());
        let from = parts.iter().position(is_type).unwrap_or(0);
        let found = match &parts[from..] {
            ["Error", variant] => Some(format!(":class:`seconder.{}`", exception(variant))),
            ["Rejection", field] => Some(format!("``{field}``")),
            ["Settings", option] => Some(format!("``{option}`` of :func:`seconder.open`")),
            ["Names", field] => Some(format!(":attr:`seconder.Names.{field}`")),
            [name] => self.type_link(name),
            [name, member] => self.member_link(name, member),
            _ => None,
        };
        found.ok_or_else(|| format!("Python has nothing for the link {path}: use other words"))
    }

    fn type_link(&self, name: &str) -> Option<String> {
        if let Some(call) = self.interface.calls.iter().find(|call| call.declared.name == name) {
            return Some(self.method(&call.name));
        }
        let class = match self.interface.structs.get(name) {
            Some(declared) => class(declared),
            None => self.interface.find_enum(name)?.name.as_str(),
        };
        Some(format!(":class:`seconder.{class}`"))
    }

    fn member_link(&self, name: &str, member: &str) -> Option<String> {
        if let Some(call) = self.interface.calls.iter().find(|call| call.declared.name == name) {
            return Some(format!("``{member}`` of {}", self.method(&call.name)));
        }
        if let Some(found) = self.interface.find_enum(name) {
            let variant = found.variants.iter().find(|variant| variant.rust == member)?;
            return Some(self.member("attr", name, &variant.name.to_uppercase()));
        }
        let declared = self.interface.structs.get(name)?;
        let role = match declared.fields.iter().any(|field| field.rust == member) {
            true => "attr",
            false => "meth",
        };
        Some(self.member(role, class(declared), member))
    }

    fn method(&self, name: &str) -> String {
        match self.class {
            "Service" => format!(":meth:`{name}`"),
            _ => format!(":meth:`seconder.Service.{name}`"),
        }
    }

    fn member(&self, role: &str, class: &str, member: &str) -> String {
        match (role, self.class == class) {
            ("attr", true) => format!("``{member}``"),
            (_, true) => format!(":{role}:`{member}`"),
            (_, false) => format!(":{role}:`seconder.{class}.{member}`"),
        }
    }
}

fn code_of(code: &str) -> String {
    match code {
        "None" => "None".to_owned(),
        "Debug" => "``repr``".to_owned(),
        other => format!("``{other}``"),
    }
}

/// The name of the exception for an error.
pub(super) fn exception(variant: &str) -> String {
    match variant {
        // The bare names do not say that they are exceptions.
        "Storage" | "Internal" => format!("{variant}Error"),
        other => other.to_owned(),
    }
}

/// The text with `section 4.1` in place of `interface 4.1`.
fn with_sections(text: &str) -> String {
    let mut parts = text.split("interface ");
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_number = part.starts_with(|c: char| c.is_ascii_digit());
        replaced += if is_number { "section " } else { "interface " };
        replaced += part;
    }
    replaced
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
    fn links_and_code_are_those_of_python() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let interface = model::read(&root).unwrap();
        let translator = Translator::new(&interface, "Service");
        let translate = |text: &str| translator.translate(text).unwrap();
        assert_eq!(translate("See [`Verify`](super::Verify)."), "See :meth:`verify`.");
        assert_eq!(
            translate("[`Factors`], `de`, `None`"),
            ":class:`seconder.Factors`, ``de``, None"
        );
        assert_eq!(translate("(interface 4.1)"), "(section 4.1)");
        assert_eq!(translate("[`Error::Storage`]"), ":class:`seconder.StorageError`");
        let install = translate("[`UserCreated::install_message`]");
        assert_eq!(install, ":attr:`seconder.UserCreated.install_message`");
        let data = translate("[`RegisterActivity::data`](super::RegisterActivity::data)");
        assert_eq!(data, "``data`` of :meth:`register_activity`");
        assert_eq!(translate("[`Stage::Dns`]"), ":attr:`seconder.Stage.DNS`");
        let translator = Translator::new(&interface, "Approval");
        let translated = translator.translate("[`Approval::approved_by`], [`Verify`]").unwrap();
        assert_eq!(translated, ":meth:`approved_by`, :meth:`seconder.Service.verify`");
        assert!(translator.translate("[`Unknown`]").is_err());
    }
}
