//! The declarations of the calls, as the generators of all languages use them.

mod attributes;
mod layer;
mod options;
mod read;
mod types;
mod values;
mod words;

pub(crate) use options::{OpenOption, OptionKind};
pub(crate) use read::read;
pub(crate) use types::Type;
pub(crate) use values::Value;

use crate::Result;
use crate::text::Docs;
use std::collections::BTreeMap;

/// Every call of the interface, with the types that it takes and returns.
#[derive(Debug)]
pub(crate) struct Interface {
    /// The calls, in the order of the interface document.
    pub(crate) calls: Vec<Call>,
    /// The replies, and the structs inside parameters and replies, by their names.
    pub(crate) structs: BTreeMap<String, Struct>,
    /// The enums, by their names.
    pub(crate) enums: BTreeMap<String, Enum>,
    /// The enums of other files that the languages with enums have too.
    pub(crate) words: Vec<Enum>,
    /// The error codes of services: the documentation of the list, and the codes.
    pub(crate) codes: (Docs, Vec<Code>),
    /// The options of opening a service.
    pub(crate) options: Vec<OpenOption>,
    /// The handles that the C layer declares itself, with the values that functions read.
    pub(crate) records: Vec<Struct>,
    /// The constants of C.
    pub(crate) constants: Vec<Constant>,
}

/// A call: the struct that declares it, and its `Call` implementation.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its name in every language, such as `create_user`.
    pub(crate) name: String,
    /// The struct. Its fields are the parameters.
    pub(crate) declared: Struct,
    /// The errors that it documents.
    pub(crate) errors: Docs,
    /// The name of the reply's type.
    pub(crate) reply: String,
}

/// A struct with public fields.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    /// The file that declares it, such as `src/calls/create_user.rs`.
    pub(crate) file: String,
    /// The module that declares it, such as `create_user`.
    pub(crate) module: String,
    pub(crate) docs: Docs,
    pub(crate) fields: Vec<Field>,
    /// The names in Rust of fields that are not on the wire, and in no other language. They have their defaults.
    pub(crate) skipped: Vec<String>,
    /// The generic struct, if this is an alias of one: calls with the same parameters.
    pub(crate) generic: Option<String>,
    /// Whether it derives `Default`, so that no field must be known.
    pub(crate) has_default: bool,
    pub(crate) overrides: Overrides,
}

/// A parameter of a call, or a value of a reply.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its name in Rust.
    pub(crate) rust: String,
    /// Its name in the other languages: the one on the wire, except for a user's id.
    pub(crate) name: String,
    /// Its name on the wire.
    pub(crate) wire: String,
    pub(crate) docs: Docs,
    pub(crate) kind: Type,
    /// The value of a parameter that is not given, unless its type is optional.
    pub(crate) default: Default,
    pub(crate) overrides: Overrides,
}

/// The value of a field that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Default {
    /// The field must be there, unless its type is optional.
    Required,
    /// False, 0 or empty.
    Empty,
    /// True.
    Yes,
}

/// An enum of names.
#[derive(Debug)]
pub(crate) struct Enum {
    pub(crate) name: String,
    /// The file that declares it.
    pub(crate) path: String,
    pub(crate) docs: Docs,
    pub(crate) variants: Vec<Variant>,
    /// The variant of its `Default`, if it has one.
    pub(crate) default: Option<String>,
    pub(crate) overrides: Overrides,
}

/// A value of an enum.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Its name in Rust.
    pub(crate) rust: String,
    /// Its name in the interface.
    pub(crate) name: String,
    pub(crate) docs: Docs,
}

/// A number that C programs compare with.
#[derive(Debug)]
pub(crate) struct Constant {
    /// Its name, such as `SECONDER_OK`.
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) is_status: bool,
}

/// An error code of services.
#[derive(Debug)]
pub(crate) struct Code {
    /// The name of its constant.
    pub(crate) name: String,
    pub(crate) text: String,
    /// What it means, in words without a capital and a period.
    pub(crate) meaning: String,
}

/// Departures of one language from what follows from a declaration, by language. They are attributes
/// that the compiler ignores: `#[cfg_attr(false, c = "other words")]` and
/// `#[cfg_attr(false, c(name = "device_info", optional))]`.
#[derive(Clone, Debug, std::default::Default)]
pub(crate) struct Overrides(pub(crate) BTreeMap<String, Override>);

/// The departures of one language.
#[derive(Clone, Debug, std::default::Default)]
pub(crate) struct Override {
    /// Words in place of the documentation.
    pub(crate) words: Option<String>,
    /// Other departures, by name. A name without a value has an empty one.
    pub(crate) notes: BTreeMap<String, String>,
}

impl Interface {
    /// The struct of this name.
    pub(crate) fn get(&self, name: &str) -> Result<&Struct> {
        self.structs.get(name).ok_or_else(|| format!("src/calls: no file declares {name}"))
    }

    /// The struct inside a field: one whose fields are parameters or values too, or one in a list.
    pub(crate) fn inner(&self, field: &Field) -> Option<&Struct> {
        let kind = match field.kind.given() {
            Type::List(inner) => inner,
            other => other,
        };
        match kind {
            Type::Declared(name) => self.structs.get(name),
            _ => None,
        }
    }

    /// Returns whether callers fill the struct in: a parameter is a list of it.
    pub(crate) fn is_input(&self, name: &str) -> bool {
        let mut fields = self.calls.iter().flat_map(|call| &call.declared.fields);
        fields.any(|field| match field.kind.given() {
            Type::List(inner) => **inner == Type::Declared(name.to_owned()),
            _ => false,
        })
    }

    /// An enum, of `src/calls` or of another file.
    pub(crate) fn find_enum(&self, name: &str) -> Option<&Enum> {
        self.enums.get(name).or_else(|| self.words.iter().find(|found| found.name == name))
    }

    /// Fails for an override that a language does not know: a misspelt one would change nothing.
    pub(crate) fn check_notes(&self, language: &str, known: &[&str]) -> Result<()> {
        let calls = self.calls.iter().map(|call| &call.declared);
        for declared in calls.chain(self.structs.values()).chain(&self.records) {
            let fields = declared.fields.iter().map(|field| &field.overrides);
            let all = fields.chain([&declared.overrides]).filter_map(|all| all.0.get(language));
            let mut notes = all.flat_map(|given| given.notes.keys());
            if let Some(wrong) = notes.find(|note| !known.contains(&note.as_str())) {
                let path = declared.path();
                return Err(format!("{path}: {language} knows no override `{wrong}`"));
            }
        }
        for found in self.enums.values().chain(&self.words) {
            let mut notes =
                found.overrides.0.get(language).into_iter().flat_map(|all| all.notes.keys());
            if let Some(wrong) = notes.find(|note| !known.contains(&note.as_str())) {
                return Err(format!("{}: {language} knows no override `{wrong}`", found.path));
            }
        }
        Ok(())
    }

    /// The calls whose options have the same struct in C and C++.
    pub(crate) fn sharing<'a>(&'a self, call: &'a Call) -> impl Iterator<Item = &'a Call> {
        self.calls.iter().filter(move |other| other.options_name() == call.options_name())
    }

    /// The calls that return a reply of this type.
    pub(crate) fn returning<'a>(&'a self, reply: &'a str) -> impl Iterator<Item = &'a Call> {
        self.calls.iter().filter(move |call| call.reply == reply)
    }
}

impl Call {
    /// The name of the struct of its options in C++, without `Options`; in C, in small letters. Calls of a generic
    /// struct share one, and so do those whose only optional parameter is the client's address. A call that gets another
    /// one leaves it, which the ABI baseline reports.
    pub(crate) fn options_name(&self) -> &str {
        let mut optional = self.declared.fields.iter().filter(|field| field.is_optional());
        match (optional.next(), optional.next()) {
            (Some(only), None) if only.name == "user_ip" => "Call",
            _ => self.declared.generic.as_deref().unwrap_or(&self.declared.name),
        }
    }
}

impl Struct {
    pub(crate) fn path(&self) -> &str {
        &self.file
    }

    /// Returns whether it is a handle that the C layer declares itself.
    pub(crate) fn is_of_c(&self) -> bool {
        self.file.starts_with("src/capi/")
    }
}

impl Field {
    /// Returns whether a call can be made without the parameter.
    pub(crate) fn is_optional(&self) -> bool {
        self.default != Default::Required || matches!(self.kind, Type::Optional(_))
    }
}

impl Overrides {
    /// The words of a language in place of the documentation.
    pub(crate) fn words(&self, language: &str) -> Option<&str> {
        self.0.get(language)?.words.as_deref()
    }

    /// A departure of a language.
    pub(crate) fn note(&self, language: &str, name: &str) -> Option<&str> {
        self.0.get(language)?.notes.get(name).map(String::as_str)
    }

    pub(crate) fn has(&self, language: &str, name: &str) -> bool {
        self.note(language, name).is_some()
    }
}
