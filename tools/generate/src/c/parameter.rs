//! Parameters of calls: the arguments and options of C, and how they are read.

use super::source::Source;
use super::{C, Plan, module};
use crate::Result;
use crate::model::{Default, Field, Struct, Type};
use crate::text::{alternatives, continued, sentences};

/// A parameter in C.
pub(super) struct Parameter {
    /// Its variables: two for a list, which has a count.
    pub(super) variables: Vec<Variable>,
    /// The expression that reads it.
    pub(super) read: String,
    /// The form of its values, to follow the documentation of the field.
    pub(super) form: Option<String>,
}

/// An argument of a function, or a field of its options.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) kind: String,
    /// The kind of its values, for the comment on why any bytes are valid.
    pub(super) holds: &'static str,
}

/// The struct inside a field: one whose fields are parameters themselves, or one in a list.
pub(super) fn inner<'a>(plan: &'a Plan<'a>, field: &Field) -> Option<&'a Struct> {
    let kind = match field.kind.given() {
        Type::List(inner) => inner,
        other => other,
    };
    match kind {
        Type::Declared(name) => plan.interface.structs.get(name),
        _ => None,
    }
}

/// Returns whether a parameter is an argument of the function, and not an option.
pub(super) fn is_argument(field: &Field) -> bool {
    !field.is_optional() || field.overrides.has(C, "argument")
}

/// The name as an identifier of Rust.
pub(super) fn identifier(name: &str) -> String {
    match name {
        "type" => "r#type".to_owned(),
        other => other.to_owned(),
    }
}

/// A parameter, which is read from `place`: empty, or `options.`.
pub(super) fn parameter(
    source: &mut Source,
    plan: &Plan<'_>,
    field: &Field,
    place: &str,
) -> Result<Parameter> {
    let name = &field.name;
    let from = format!("{place}{}", identifier(name));
    let optional = field.is_optional();
    let zero = field.overrides.note(C, "zero");
    let unknown = || Err(format!("{}: C has no such parameter", field.rust));
    let text = |read: String, form: Option<&str>| {
        let form = form.map(str::to_owned);
        one(name, "*const c_char", "pointers", read, form)
    };
    Ok(match field.kind.given() {
        Type::Value(value) if value.is_number() && !optional => {
            source.import("crate::capi::ffi", "named");
            source.import("crate::model", value.name());
            let read = format!("named(\"{name}\", {}::try_from({from}))?", value.name());
            one(name, "u64", "numbers", read, None)
        }
        Type::Value(value) if !value.is_number() => {
            let function = if value.is_typed() { "typed" } else { "value" };
            let function = format!("{function}{}", if optional { "_if" } else { "" });
            text(format!("ffi::{function}(\"{name}\", {from})?"), value.form())
        }
        Type::Text if optional => {
            text(format!("ffi::text_if(\"{name}\", {from})?.map(str::to_owned)"), None)
        }
        Type::Address if optional => {
            text(format!("ffi::address(\"{name}\", {from})?"), Some("IPv4 or IPv6 text"))
        }
        Type::Object => {
            let form = "A JSON object as text, at most 16 KiB";
            text(format!("ffi::object(\"{name}\", {from})?"), Some(form))
        }
        Type::Flag => flag(source, field, &from),
        Type::Number if optional && zero.is_some() => {
            let read = format!("ffi::number_or_zero(\"{name}\", {from})?");
            one(name, "i64", "numbers", read, None)
        }
        Type::Number if optional => {
            source.import("crate::capi::ffi", "number_if");
            one(name, "u64", "numbers", format!("number_if({from})"), None)
        }
        Type::Number => one(name, "u64", "numbers", from, None),
        Type::Declared(kind) if plan.is_enum(kind) && !optional => {
            let names = names_of(plan, kind);
            source.import("crate::calls", kind);
            let all: Vec<String> = plan.interface.enums[kind]
                .variants
                .iter()
                .map(|variant| format!("{kind}::{}", variant.rust))
                .collect();
            let all = all.join(", ");
            let read = format!("ffi::one_of(\"{name}\", {from}, &[{all}], {kind}::name)?");
            text(read, Some(&names))
        }
        Type::List(_) => return list(source, plan, field, &from),
        _ => return unknown(),
    })
}

fn one(
    name: &str,
    kind: &str,
    holds: &'static str,
    read: String,
    form: Option<String>,
) -> Parameter {
    let variable = Variable { name: name.to_owned(), kind: kind.to_owned(), holds };
    Parameter { variables: vec![variable], read, form }
}

/// A flag is a `bool` of C if it is off by default; otherwise 0 and "no" are different numbers.
fn flag(source: &mut Source, field: &Field, from: &str) -> Parameter {
    let name = &field.name;
    let choices =
        |default: &str| Some(format!("SECONDER_DEFAULT{default}, SECONDER_YES or SECONDER_NO"));
    let read = format!("yes_or_no(\"{name}\", {from})?");
    let (read, form) = match field.default {
        Default::Required => (read, choices("")),
        Default::Yes => (format!("{read}.unwrap_or(true)"), choices(", which means yes")),
        Default::Empty if field.overrides.has(C, "choice") => {
            (format!("{read}.unwrap_or(false)"), choices(", which means no"))
        }
        Default::Empty => {
            source.import("crate::capi::ffi", "Flag");
            return one(name, "Flag", "flags", format!("{from}.is_set()"), None);
        }
    };
    source.import("crate::capi::status", "yes_or_no");
    one(name, "i32", "numbers", read, form)
}

fn list(source: &mut Source, plan: &Plan<'_>, field: &Field, from: &str) -> Result<Parameter> {
    let name = &field.name;
    let Some(inner) = inner(plan, field) else {
        return Err(format!("{name}: C has no such list"));
    };
    let kind = plan.type_name(inner);
    source.import_generated(&module(inner), &kind);
    let most = field.overrides.note(C, "most").unwrap_or("ffi::MOST_VALUES");
    let read =
        format!("ffi::inputs([\"{name}\", \"{name}_count\"], {from}, {from}_count, {most})?");
    let list = Variable { name: name.clone(), kind: format!("*const {kind}"), holds: "pointers" };
    let count =
        Variable { name: format!("{name}_count"), kind: "usize".to_owned(), holds: "numbers" };
    Ok(Parameter { variables: vec![list, count], read, form: None })
}

/// The names of an enum's values, in quotes.
pub(super) fn names_of(plan: &Plan<'_>, kind: &str) -> String {
    let quoted = plan.interface.enums.get(kind).map(|found| {
        let names = found.variants.iter().map(|variant| format!("\"{}\"", variant.name));
        alternatives(&names.collect::<Vec<_>>())
    });
    quoted.unwrap_or_default()
}

/// The documentation of an option: the field's, with the form of its values before the default.
pub(super) fn option_docs(documented: &str, field: &Field, form: Option<&str>) -> String {
    let mut all = sentences(documented);
    if let (Some(form), None) = (form, field.overrides.words(C)) {
        let default = all.iter().position(|sentence| sentence.starts_with("Default: "));
        all.insert(default.unwrap_or(all.len()), format!("{form}."));
    }
    all.join(" ")
}

/// Sentences on an argument, to follow those on others.
pub(super) fn argument_docs(documented: &str, field: &Field, parameter: &Parameter) -> String {
    let name = &field.name;
    let mut all = sentences(documented);
    let first = all.remove(0);
    let mut first = format!("`{name}` is {}", continued(first.trim_end_matches('.')));
    if let (Some(form), None) = (&parameter.form, field.overrides.words(C)) {
        let separator = if first.contains(':') { "," } else { ":" };
        first += &format!("{separator} {form}");
    }
    all.insert(0, first + ".");
    if let (Type::Value(value), Some(_)) = (field.kind.given(), &parameter.form)
        && value.is_typed()
    {
        all.push("Any other text is SECONDER_TOKEN_MALFORMED.".to_owned());
    }
    if field.is_optional() && parameter.variables.len() == 1 {
        all.push("It may be NULL.".to_owned());
    }
    if let [_, count] = parameter.variables.as_slice() {
        all.push(format!("`{}` is their number.", count.name));
    }
    all.join(" ")
}
