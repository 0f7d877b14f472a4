//! Names of C++ in documentation.

use super::{CPP, Cpp};
use crate::c::C;
use crate::docs::Language;
use crate::model::{Call, Field, Struct};
use crate::text::snake;

impl Language for Cpp<'_> {
    fn overrides(&self) -> &'static [&'static str] {
        &[CPP, C]
    }

    fn skipped(&self) -> &'static [&'static str] {
        &["`Debug`"]
    }

    fn other(&self, path: &str) -> Option<&'static str> {
        match path {
            "FOREVER" => Some("`forever`"),
            "Ok" => Some("Status::ok"),
            "Rejection::fields" => Some("Error::fields()"),
            _ => None,
        }
    }

    fn status(&self, variant: &str) -> String {
        format!("Status::{}", snake(variant))
    }

    fn setting(&self, name: &str) -> String {
        format!("`{name}` of seconder_open_options")
    }

    fn call(&self, call: &Call) -> String {
        format!("{}()", call.name)
    }

    fn parameter(&self, call: &Call, name: &str) -> String {
        format!("{}Options::{name}", call.options_name())
    }

    fn type_of(&self, declared: &Struct) -> String {
        let name = &declared.name;
        match self.plan.handles.contains(name) || self.plan.inputs.contains(name) {
            true => name.clone(),
            false => self.plan.type_name(declared),
        }
    }

    fn accessor<'a>(&self, field: &'a Field) -> &'a str {
        &field.name
    }

    fn finish(&self, text: String) -> String {
        self.enums.name_in(&text)
    }

    fn value(&self, declared: &Struct, accessor: &str) -> String {
        format!("{}::{accessor}()", declared.name)
    }
}
