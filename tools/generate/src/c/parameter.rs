//! Parameters of calls: the arguments and options of C, and how they are read.

use super::source::Source;
use super::{C, Plan, module};
use crate::Result;
use crate::docs::Translator;
use crate::model::{Default, Field, Type};
use crate::text::{alternatives, continued, sentences};

/// An argument of a function, or a field of its options.
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// The type of a variable in C.
pub(crate) enum Kind {
    /// `const char *`
    Text,
    /// `uint64_t`
    Number,
    /// `int64_t`
    Signed,
    /// `int32_t`: SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO.
    Choice,
    /// `bool`
    Flag,
    /// A pointer to structs of this name.
    List(String),
    /// `size_t`: the number of values of the list before it.
    Count,
}

impl Kind {
    /// The type in the Rust of the C layer.
    pub(super) fn rust(&self) -> String {
        match self {
            Kind::Text => "*const c_char".to_owned(),
            Kind::Number => "u64".to_owned(),
            Kind::Signed => "i64".to_owned(),
            Kind::Choice => "i32".to_owned(),
            Kind::Flag => "Flag".to_owned(),
            Kind::List(name) => format!("*const {name}"),
            Kind::Count => "usize".to_owned(),
        }
    }

    /// The kind of its values, for the comment on why any bytes are valid.
    pub(super) fn holds(&self) -> &'static str {
        match self {
            Kind::Text | Kind::List(_) => "pointers",
            Kind::Flag => "flags",
            _ => "numbers",
        }
    }
}

/// Returns whether a parameter is an argument of the function, and not an option.
pub(crate) fn is_argument(field: &Field) -> bool {
    !field.is_optional() || field.overrides.has(C, "argument")
}

/// The name as an identifier of Rust.
pub(super) fn identifier(name: &str) -> String {
    match name {
        "type" => "r#type".to_owned(),
        other => other.to_owned(),
    }
}

/// The variables of a parameter: two for a list, which has a count.
pub(crate) fn variables(plan: &Plan<'_>, field: &Field) -> Result<Vec<Variable>> {
    let optional = field.is_optional();
    let kind = match field.kind.given() {
        Type::Value(value) if value.is_number() && !optional => Kind::Number,
        Type::Value(value) if !value.is_number() => Kind::Text,
        Type::Text | Type::Address if optional => Kind::Text,
        Type::Object => Kind::Text,
        // 0 and "no" are different numbers, unless the flag is off by default.
        Type::Flag => match field.default {
            Default::Empty if !field.overrides.has(C, "choice") => Kind::Flag,
            _ => Kind::Choice,
        },
        Type::Number if optional && field.overrides.has(C, "zero") => Kind::Signed,
        Type::Number => Kind::Number,
        Type::Declared(name) if plan.is_enum(name) && !optional => Kind::Text,
        Type::List(_) => match plan.interface.inner(field) {
            Some(inner) => Kind::List(plan.type_name(inner)),
            None => return Err(format!("{}: C has no such list", field.rust)),
        },
        _ => return Err(format!("{}: C has no such parameter", field.rust)),
    };
    let count = Variable { name: format!("{}_count", field.name), kind: Kind::Count };
    let is_list = matches!(kind, Kind::List(_));
    let mut variables = vec![Variable { name: field.name.clone(), kind }];
    variables.extend(is_list.then_some(count));
    Ok(variables)
}

/// The form of a text, to follow the documentation of the field.
pub(crate) fn form(plan: &Plan<'_>, field: &Field) -> Option<String> {
    match field.kind.given() {
        Type::Value(value) => value.form().map(str::to_owned),
        Type::Address => Some("IPv4 or IPv6 text".to_owned()),
        Type::Object => Some("A JSON object as text, at most 16 KiB".to_owned()),
        Type::Declared(name) => names_of(plan, name),
        _ => None,
    }
}

/// The constants of a flag that is a choice in C.
pub(super) fn choices(field: &Field) -> Option<String> {
    let default = match field.default {
        Default::Required => "",
        Default::Yes => ", which means yes",
        Default::Empty if field.overrides.has(C, "choice") => ", which means no",
        Default::Empty => return None,
    };
    let is_flag = *field.kind.given() == Type::Flag;
    is_flag.then(|| format!("SECONDER_DEFAULT{default}, SECONDER_YES or SECONDER_NO"))
}

/// The expression that reads a parameter from `place`: empty, or `options.`.
pub(super) fn read(
    source: &mut Source,
    plan: &Plan<'_>,
    field: &Field,
    place: &str,
) -> Result<String> {
    let name = &field.name;
    let from = format!("{place}{}", identifier(name));
    let optional = field.is_optional();
    Ok(match field.kind.given() {
        Type::Value(value) if value.is_number() => {
            source.import("crate::capi::ffi", "named");
            source.import("crate::model", value.name());
            format!("named(\"{name}\", {}::try_from({from}))?", value.name())
        }
        Type::Value(value) => {
            let function = if value.is_typed() { "typed" } else { "value" };
            let function = format!("{function}{}", if optional { "_if" } else { "" });
            format!("ffi::{function}(\"{name}\", {from})?")
        }
        Type::Text => format!("ffi::text_if(\"{name}\", {from})?.map(str::to_owned)"),
        Type::Address => format!("ffi::address(\"{name}\", {from})?"),
        Type::Object => format!("ffi::object(\"{name}\", {from})?"),
        Type::Flag => flag(source, field, &from),
        Type::Number if optional && field.overrides.has(C, "zero") => {
            format!("ffi::number_or_zero(\"{name}\", {from})?")
        }
        Type::Number if optional => {
            source.import("crate::capi::ffi", "number_if");
            format!("number_if({from})")
        }
        Type::Number => from,
        Type::Declared(kind) => one_of(source, plan, name, kind, &from),
        Type::List(_) => list(source, plan, field, &from),
        _ => return Err(format!("{}: C has no such parameter", field.rust)),
    })
}

fn flag(source: &mut Source, field: &Field, from: &str) -> String {
    let name = &field.name;
    let read = format!("yes_or_no(\"{name}\", {from})?");
    let read = match field.default {
        Default::Required => read,
        Default::Yes => format!("{read}.unwrap_or(true)"),
        Default::Empty if field.overrides.has(C, "choice") => format!("{read}.unwrap_or(false)"),
        Default::Empty => {
            source.import("crate::capi::ffi", "Flag");
            return format!("{from}.is_set()");
        }
    };
    source.import("crate::capi::status", "yes_or_no");
    read
}

fn one_of(source: &mut Source, plan: &Plan<'_>, name: &str, kind: &str, from: &str) -> String {
    source.import("crate::calls", kind);
    let variants = plan.interface.enums[kind].variants.iter();
    let all: Vec<String> = variants.map(|variant| format!("{kind}::{}", variant.rust)).collect();
    format!("ffi::one_of(\"{name}\", {from}, &[{}], {kind}::name)?", all.join(", "))
}

fn list(source: &mut Source, plan: &Plan<'_>, field: &Field, from: &str) -> String {
    let name = &field.name;
    if let Some(inner) = plan.interface.inner(field) {
        source.import_generated(&module(inner), &plan.type_name(inner));
    }
    let most = field.overrides.note(C, "most").unwrap_or("ffi::MOST_VALUES");
    format!("ffi::inputs([\"{name}\", \"{name}_count\"], {from}, {from}_count, {most})?")
}

/// The names of an enum's values, in quotes.
fn names_of(plan: &Plan<'_>, kind: &str) -> Option<String> {
    let names = plan.interface.enums.get(kind)?.variants.iter();
    let quoted = names.map(|variant| format!("\"{}\"", variant.name)).collect::<Vec<_>>();
    Some(alternatives(&quoted))
}

/// The documentation of an option: the field's, with the form of its values before the default.
pub(crate) fn option_docs(
    translator: &Translator<'_>,
    documented: &str,
    field: &Field,
    form: Option<String>,
) -> String {
    let mut all = sentences(documented);
    if let (Some(form), None) = (form, translator.own_words(&field.overrides)) {
        let default = all.iter().position(|sentence| sentence.starts_with("Default: "));
        all.insert(default.unwrap_or(all.len()), format!("{form}."));
    }
    all.join(" ")
}

/// Sentences on an argument, to follow those on others.
pub(crate) fn argument_docs(
    translator: &Translator<'_>,
    documented: &str,
    field: &Field,
    form: Option<String>,
) -> Result<Vec<String>> {
    let name = &field.name;
    let mut all = sentences(documented);
    let first = all.remove(0);
    let mut first = format!("`{name}` is {}", continued(first.trim_end_matches('.')));
    if let (Some(form), None) = (&form, translator.own_words(&field.overrides)) {
        let separator = if first.contains(':') { "," } else { ":" };
        first += &format!("{separator} {form}");
    }
    all.insert(0, first + ".");
    if let (Type::Value(value), Some(_)) = (field.kind.given(), &form)
        && value.is_typed()
    {
        all.push(translator.translate("Any other text is [`Status::TokenMalformed`].")?);
    }
    Ok(all)
}
