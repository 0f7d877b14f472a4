//! Names of C in documentation.

use super::call::options_type;
use super::reply::accessor;
use super::{C, Plan};
use crate::docs::Language;
use crate::model::{Call, Field, Struct};
use crate::text::constant;

impl Language for Plan<'_> {
    fn overrides(&self) -> &'static [&'static str] {
        &[C]
    }

    fn skipped(&self) -> &'static [&'static str] {
        // The form of a flag says what its default is.
        &["`Debug`", "Default: true", "Default: false"]
    }

    fn other(&self, path: &str) -> Option<&'static str> {
        match path {
            "FOREVER" => Some("SECONDER_FOREVER"),
            "Ok" => Some("SECONDER_OK"),
            "Rejection::fields" => Some("seconder_error_field_name()"),
            _ => None,
        }
    }

    fn status(&self, variant: &str) -> String {
        format!("SECONDER_{}", constant(variant))
    }

    fn setting(&self, name: &str) -> String {
        format!("`{name}` of seconder_open_options")
    }

    fn call(&self, call: &Call) -> String {
        format!("seconder_{}()", call.name)
    }

    fn parameter(&self, call: &Call, name: &str) -> String {
        format!("`{name}` of {}", options_type(call))
    }

    fn type_of(&self, declared: &Struct) -> String {
        self.type_name(declared)
    }

    fn accessor<'a>(&self, field: &'a Field) -> &'a str {
        accessor(field)
    }

    fn value(&self, declared: &Struct, accessor: &str) -> String {
        format!("{}_{accessor}()", self.type_name(declared))
    }
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
        let translator = plan.translator(&interface.calls[0].declared);
        let translate = |text: &str| translator.translate(text).unwrap();
        assert_eq!(translate("See [`Verify`](super::Verify)."), "See seconder_verify().");
        assert_eq!(translate("[`super::Factors`], `de`"), "seconder_factors, \"de\"");
        assert_eq!(translate("**Set** `new_only`"), "Set `new_only`");
        assert_eq!(translate("[`Error::InvalidResponse`]"), "SECONDER_INVALID_RESPONSE");
        assert_eq!(translate("[`Status::TokenWrong`]"), "SECONDER_TOKEN_WRONG");
        let install = "[`UserCreated::install_message`]";
        assert_eq!(translate(install), "seconder_user_created_install_message()");
        assert!(translator.translate("[`Verdict::Right`]").is_err());
    }
}
