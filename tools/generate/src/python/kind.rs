//! The types of Python for those of Rust.

use super::source::Source;
use super::{PYTHON, class};
use crate::Result;
use crate::model::{Enum, Field, Interface, Type, Value};

/// The type of a value of a reply, without `None`.
pub(super) fn of_reply(
    source: &mut Source,
    interface: &Interface,
    field: &Field,
) -> Result<String> {
    if field.overrides.has(PYTHON, "time") {
        return Ok(source.later("datetime", "datetime"));
    }
    Ok(match field.kind.given() {
        Type::Object => mapping(source),
        Type::List(inner) => match &**inner {
            Type::Text => "tuple[str, ...]".to_owned(),
            Type::Value(value) if !value.is_number() => "tuple[str, ...]".to_owned(),
            Type::Declared(name) => format!("tuple[{}, ...]", declared(source, interface, name)?),
            _ => return unknown(field),
        },
        Type::Declared(name) => match interface.enums.contains_key(name) {
            true => {
                source.import("seconder.enums", name);
                name.clone()
            }
            false => declared(source, interface, name)?,
        },
        other => return plain(other).map_or_else(|| unknown(field), Ok),
    })
}

/// The class of a struct inside a reply.
fn declared(source: &mut Source, interface: &Interface, name: &str) -> Result<String> {
    let declared = interface.get(name)?;
    match interface.is_input(name) {
        true => Ok(source.later("seconder.typed", name)),
        false => Ok(class(declared).to_owned()),
    }
}

/// The type of a parameter, without `None`.
pub(super) fn of_parameter(
    source: &mut Source,
    interface: &Interface,
    field: &Field,
) -> Result<String> {
    Ok(match field.kind.given() {
        Type::Object => mapping(source),
        // Zeros at its beginning mean nothing.
        Type::Value(Value::CountryCode) => "int | str".to_owned(),
        Type::List(inner) => match &**inner {
            Type::Declared(name) => {
                source.import("collections.abc", "Sequence");
                format!("Sequence[{}]", source.later("seconder.typed", name))
            }
            _ => return unknown(field),
        },
        Type::Declared(name) => match interface.enums.get(name) {
            Some(found) => {
                source.import("seconder.enums", name);
                format!("{name} | {}[{}]", source.later("typing", "Literal"), values(found))
            }
            None => return unknown(field),
        },
        other => return plain(other).map_or_else(|| unknown(field), Ok),
    })
}

fn unknown(field: &Field) -> Result<String> {
    Err(format!("{}: Python has no such type", field.rust))
}

fn mapping(source: &mut Source) -> String {
    source.import("collections.abc", "Mapping");
    format!("Mapping[str, {}]", source.later("typing", "Any"))
}

fn plain(kind: &Type) -> Option<String> {
    let name = match kind {
        Type::Flag => "bool",
        Type::Number | Type::Signed => "int",
        Type::Value(value) if value.is_number() => "int",
        Type::Text | Type::Address | Type::Value(_) => "str",
        _ => return None,
    };
    Some(name.to_owned())
}

/// The names of an enum's values, in quotes.
fn values(found: &Enum) -> String {
    let names = found.variants.iter().map(|variant| format!("\"{}\"", variant.name));
    names.collect::<Vec<_>>().join(", ")
}
