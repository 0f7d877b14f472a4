//! Parameters of the methods that make calls.

use super::source::Source;
use super::{PYTHON, kind};
use crate::Result;
use crate::docs::Translator;
use crate::model::{Call, Default, Field, Interface, Type, Value};
use crate::text::sentences;

/// A parameter of a method.
pub(super) struct Parameter<'a> {
    pub(super) field: &'a Field,
    /// Its name, type and default.
    pub(super) shown: String,
    /// Whether it has no default, and its name need not be given.
    pub(super) is_required: bool,
    /// Whether its name need not be given although it has a default.
    is_positional: bool,
}

/// The parameters of a call, the required ones first. Fields of a struct are parameters of their own.
pub(super) fn parameters<'a>(
    source: &mut Source,
    interface: &'a Interface,
    call: &'a Call,
) -> Result<Vec<Parameter<'a>>> {
    let mut found = Vec::new();
    for field in &call.declared.fields {
        match part(interface, field) {
            Some(fields) => {
                for field in fields {
                    found.push(parameter(source, interface, field)?);
                }
            }
            None => found.push(parameter(source, interface, field)?),
        }
    }
    found.sort_by_key(|parameter| (!parameter.is_required, !parameter.is_positional));
    Ok(found)
}

/// The fields of a parameter that is a struct.
pub(super) fn part<'a>(interface: &'a Interface, field: &Field) -> Option<&'a [Field]> {
    let inner = interface.inner(field).filter(|_| !matches!(field.kind, Type::List(_)));
    inner.map(|inner| inner.fields.as_slice())
}

fn parameter<'a>(
    source: &mut Source,
    interface: &Interface,
    field: &'a Field,
) -> Result<Parameter<'a>> {
    let kind = kind::of_parameter(source, interface, field)?;
    let is_required = !field.is_optional() || field.overrides.has(PYTHON, "required");
    let rest = match (is_required, &field.kind, field.default) {
        (true, ..) => "",
        (_, Type::Flag, Default::Yes) => " = True",
        (_, Type::Flag, _) if field.overrides.has(PYTHON, "yes") => " = True",
        (_, Type::Flag, _) => " = False",
        _ => " | None = None",
    };
    let shown = format!("{}: {kind}{rest}", field.name);
    let is_positional = !is_required && field.overrides.has(PYTHON, "positional");
    Ok(Parameter { field, shown, is_required, is_positional })
}

/// The parameters between the brackets of a `def`.
pub(super) fn signature(parameters: &[Parameter<'_>]) -> Vec<String> {
    let mut shown = vec!["self".to_owned()];
    let is_named = |parameter: &Parameter<'_>| !parameter.is_required && !parameter.is_positional;
    for (number, parameter) in parameters.iter().enumerate() {
        if is_named(parameter) && !parameters[..number].iter().any(is_named) {
            shown.push("*".to_owned());
        }
        shown.push(parameter.shown.clone());
    }
    shown
}

/// The arguments that pass the parameters on under the same names.
pub(super) fn arguments(parameters: &[Parameter<'_>]) -> Vec<String> {
    let pass = |parameter: &Parameter<'_>| {
        let name = &parameter.field.name;
        if parameter.is_required { name.clone() } else { format!("{name}={name}") }
    };
    parameters.iter().map(pass).collect()
}

/// The name of a parameter, and its sentences with the form of its values.
pub(super) fn documented(
    translator: &Translator<'_>,
    parameter: &Parameter<'_>,
) -> Result<(String, String)> {
    let field = parameter.field;
    let mut all = sentences(&translator.field(field, "None")?);
    if let Some(form) = form(field).filter(|_| field.overrides.words(PYTHON).is_none()) {
        if parameter.is_required {
            let first = all.remove(0);
            let separator = if first.contains(": ") { "," } else { ":" };
            all.insert(0, format!("{}{separator} {form}.", first.trim_end_matches('.')));
        } else {
            let default = all.iter().position(|sentence| sentence.starts_with("Default: "));
            all.insert(default.unwrap_or(all.len()), format!("{form}."));
        }
    }
    Ok((field.name.clone(), all.join(" ")))
}

/// The form of the values of a parameter.
fn form(field: &Field) -> Option<String> {
    Some(match field.kind.given() {
        Type::Value(Value::CountryCode) => "1 to 999".to_owned(),
        Type::Value(value) if value.is_typed() => format!("{}, as text", value.form()?),
        Type::Value(value) => value.form()?.to_owned(),
        Type::Address => "IPv4 or IPv6".to_owned(),
        Type::Object => "At most 16 KiB in JSON".to_owned(),
        _ => return None,
    })
}

/// The line on a code that cannot be one, for each parameter that a user types.
pub(super) fn malformed(parameter: &Parameter<'_>) -> Option<(String, String)> {
    let Type::Value(value) = parameter.field.kind.given() else { return None };
    let form = value.form().filter(|_| value.is_typed())?;
    let form = form.trim_end_matches(" and nothing else");
    let text = format!("``{}`` is not {form}. It costs the user no try.", parameter.field.name);
    Some(("TokenMalformed".to_owned(), text))
}
