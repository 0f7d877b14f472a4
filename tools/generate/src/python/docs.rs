//! Names of Python in documentation.

use super::groups::Group;
use super::{PYTHON, class};
use crate::docs::{Language, Translator};
use crate::model::{Call, Enum, Field, Interface, Struct, Variant};

/// The text in a class of Python, whose members need no other name there.
pub(super) struct Within<'a> {
    pub(super) interface: &'a Interface,
    pub(super) class: &'a str,
}

impl<'a> Within<'a> {
    pub(super) fn translator(&'a self) -> Translator<'a> {
        Translator::without_names(self.interface, self)
    }

    fn member(&self, role: &str, module: &str, class: &str, member: &str) -> String {
        match (role, self.class == class) {
            ("attr", true) => format!("``{member}``"),
            (_, true) => format!(":{role}:`{member}`"),
            (_, false) => format!(":{role}:`{module}.{class}.{member}`"),
        }
    }

    /// The module of a struct's class.
    fn module(&self, declared: &Struct) -> &'static str {
        match self.interface.is_input(&declared.name) {
            true => "seconder.typed",
            false => "seconder.results",
        }
    }
}

impl Language for Within<'_> {
    fn overrides(&self) -> &'static [&'static str] {
        &[PYTHON]
    }

    fn skipped(&self) -> &'static [&'static str] {
        // The signature says what the default is.
        &["Default: true", "Default: false"]
    }

    fn other(&self, path: &str) -> Option<&'static str> {
        (path == "Rejection::fields").then_some("``fields``")
    }

    fn status(&self, variant: &str) -> String {
        format!(":class:`seconder.{}`", exception(variant))
    }

    fn setting(&self, name: &str) -> String {
        format!("``{name}`` of :func:`seconder.open`")
    }

    fn call(&self, call: &Call) -> String {
        let group = Group::of(call);
        self.member("meth", group.module, group.holder, &call.name)
    }

    fn parameter(&self, call: &Call, name: &str) -> String {
        format!("``{name}`` of {}", self.call(call))
    }

    fn type_of(&self, declared: &Struct) -> String {
        format!(":class:`{}.{}`", self.module(declared), class(declared))
    }

    fn accessor<'f>(&self, field: &'f Field) -> &'f str {
        &field.name
    }

    fn value(&self, declared: &Struct, accessor: &str) -> String {
        let is_field = declared.fields.iter().any(|field| field.name == accessor);
        let role = if is_field { "attr" } else { "meth" };
        self.member(role, self.module(declared), class(declared), accessor)
    }

    fn enumeration(&self, found: &Enum) -> Option<String> {
        Some(format!(":class:`seconder.enums.{}`", found.name))
    }

    fn variant(&self, found: &Enum, variant: &Variant) -> Option<String> {
        Some(self.member("attr", "seconder.enums", &found.name, &variant.name.to_uppercase()))
    }

    fn code(&self, code: &str, _: bool) -> String {
        match code {
            "None" => "None".to_owned(),
            "Debug" => "``repr``".to_owned(),
            other => format!("``{other}``"),
        }
    }

    fn finish(&self, text: String) -> String {
        with_sections(&text)
    }
}

/// The name of the exception for an error.
pub(super) fn exception(variant: &str) -> String {
    match variant {
        // The bare names do not say that they are exceptions.
        "Storage" | "Internal" => format!("{variant}Error"),
        // Every wrong code raises it. A user's is no error in Rust.
        "TokenWrong" => "TokenInvalid".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;
    use std::path::Path;

    #[test]
    fn links_and_code_are_those_of_python() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let interface = model::read(&root).unwrap();
        let within = Within { interface: &interface, class: "Service" };
        let translator = within.translator();
        let translate = |text: &str| translator.translate(text).unwrap();
        assert_eq!(translate("See [`Verify`](super::Verify)."), "See :meth:`verify`.");
        assert_eq!(
            translate("[`Factors`], `de`, `None`"),
            ":class:`seconder.results.Factors`, ``de``, None"
        );
        assert_eq!(translate("(interface 4.1)"), "(section 4.1)");
        assert_eq!(translate("[`Error::Storage`]"), ":class:`seconder.StorageError`");
        let install = translate("[`UserCreated::install_message`]");
        assert_eq!(install, ":attr:`seconder.results.UserCreated.install_message`");
        let data = translate("[`RegisterActivity::data`](super::RegisterActivity::data)");
        assert_eq!(data, "``data`` of :meth:`register_activity`");
        assert_eq!(translate("[`Stage::Dns`]"), ":attr:`seconder.enums.Stage.DNS`");
        let within = Within { interface: &interface, class: "Approval" };
        let translator = within.translator();
        let translated = translator.translate("[`Approval::approved_by`], [`Verify`]").unwrap();
        assert_eq!(translated, ":meth:`approved_by`, :meth:`seconder.Service.verify`");
        let translated = translator.translate("[`UnlockUser`]").unwrap();
        assert_eq!(translated, ":meth:`seconder.admin.Admin.unlock_user`");
        assert!(translator.translate("[`Unknown`]").is_err());
    }
}
