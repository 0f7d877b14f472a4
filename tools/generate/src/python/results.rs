//! The classes of replies: `results.py`.

use super::docs::Within;
use super::layout::{bracketed, docstring};
use super::source::Source;
use super::{PYTHON, class, kind, public_classes};
use crate::Result;
use crate::model::{Default, Field, Interface, Struct, Type};

/// The module, whose replies follow from the declarations. `records` is the hand-written module of
/// other values, which it has too.
pub(super) fn module(interface: &Interface, records: &str) -> Result<String> {
    let docs = "The replies of the calls: immutable values that can be compared and pickled.";
    let mut source = Source::new("src/calls.rs and src/calls/*.rs", docs);
    for name in ["Reply", "Result"] {
        source.import("seconder._calling", &format!("{name} as {name}"));
    }
    for name in public_classes(records) {
        source.import("seconder.records", &format!("{name} as {name}"));
    }
    for declared in replies(interface) {
        let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
        let text = reply(&mut source, interface, declared).map_err(at)?;
        source.add(&text);
    }
    Ok(source.finish())
}

/// The structs of replies, each after those inside it.
fn replies(interface: &Interface) -> Vec<&Struct> {
    fn add<'a>(interface: &'a Interface, declared: &'a Struct, found: &mut Vec<&'a Struct>) {
        for inner in shown(declared).filter_map(|field| interface.inner(field)) {
            add(interface, inner, found);
        }
        let is_known = found.iter().any(|known| known.name == declared.name);
        let is_class = !declared.overrides.has(PYTHON, "flag");
        if is_class && !is_known && !interface.is_input(&declared.name) {
            found.push(declared);
        }
    }
    let mut found = Vec::new();
    for declared in interface.calls.iter().filter_map(|call| interface.structs.get(&call.reply)) {
        add(interface, declared, &mut found);
    }
    found
}

fn shown(declared: &Struct) -> impl Iterator<Item = &Field> {
    declared.fields.iter().filter(|field| !field.overrides.has(PYTHON, "hidden"))
}

fn reply(source: &mut Source, interface: &Interface, declared: &Struct) -> Result<String> {
    let name = class(declared);
    let within = Within { interface, class: name };
    let translator = within.translator();
    let docs = translator.paragraphs(&declared.docs, &declared.overrides)?;
    let base = match declared.overrides.note(PYTHON, "base") {
        Some(base) => {
            source.import("seconder._calling", base);
            format!("{base}, ")
        }
        None => String::new(),
    };
    let mut text = format!("class {name}({base}Reply):\n{}\n", docstring(4, &docs));
    let (required, others): (Vec<&Field>, Vec<&Field>) =
        shown(declared).partition(|field| !has_default(declared, field));
    for field in required.into_iter().chain(others) {
        text += &attribute(source, interface, declared, field)?;
        let mut docs = translator.field(field, "None")?;
        if field.overrides.has(PYTHON, "time") {
            docs = docs.replace(", in Unix seconds", ", in UTC").replace(", in RFC 3339", "");
        }
        text += &docstring(4, &[docs]);
    }
    Ok(text + &reading(source, interface, declared))
}

/// Returns whether a value can be made without the field.
fn has_default(declared: &Struct, field: &Field) -> bool {
    let is_list = matches!(field.kind, Type::List(_));
    is_list || field.is_optional() || declared.has_default
}

/// The annotation of a field, with its default.
fn attribute(
    source: &mut Source,
    interface: &Interface,
    declared: &Struct,
    field: &Field,
) -> Result<String> {
    let mut kind = kind::of_reply(source, interface, field)?;
    let mut options = Vec::new();
    let mut default = None;
    if has_default(declared, field) {
        default = Some(match &field.kind {
            Type::Optional(_) => {
                kind += " | None";
                "None".to_owned()
            }
            Type::List(_) => "()".to_owned(),
            Type::Flag if field.default == Default::Yes => "True".to_owned(),
            Type::Flag => "False".to_owned(),
            Type::Declared(name) => first_value(interface, name)?,
            Type::Object => {
                options.push("default_factory=dict".to_owned());
                String::new()
            }
            Type::Number | Type::Signed => "0".to_owned(),
            _ => "\"\"".to_owned(),
        });
    }
    if field.kind.is_secret() || field.overrides.has(PYTHON, "no_repr") {
        options.push("repr=False".to_owned());
    }
    // Neither a dict nor a list of dicts has a hash.
    let is_dict = interface.inner(field).is_some_and(|inner| interface.is_input(&inner.name));
    if is_dict || field.kind == Type::Object {
        options.push("hash=False".to_owned());
    }
    let value = match (default.filter(|text| !text.is_empty()), options.is_empty()) {
        (None, true) => String::new(),
        (Some(default), true) => format!(" = {default}"),
        (default, false) => {
            source.import("seconder._value", "field");
            let default = default.map(|text| format!("default={text}"));
            let all: Vec<String> = default.into_iter().chain(options).collect();
            format!(" = field({})", all.join(", "))
        }
    };
    Ok(format!("    {}: {kind}{value}\n", field.name))
}

/// The default of a field that is an enum.
fn first_value(interface: &Interface, name: &str) -> Result<String> {
    let missing = || format!("{name} has no default");
    let found = interface.find_enum(name).ok_or_else(missing)?;
    let default = found.default.as_ref().ok_or_else(missing)?;
    let variant = found.variants.iter().find(|variant| variant.rust == *default);
    Ok(format!("{name}.{}", variant.ok_or_else(missing)?.name.to_uppercase()))
}

/// The method that makes the values of a reply out of what JSON can hold, unless they are the same.
fn reading(source: &mut Source, interface: &Interface, declared: &Struct) -> String {
    let mut lines = String::new();
    let mut add = |source: &mut Source, function: &str, arguments: &[String]| {
        source.import("seconder._calling", function);
        let arguments: Vec<String> =
            ["reply".to_owned()].into_iter().chain(arguments.iter().cloned()).collect();
        lines += &bracketed(8, &format!("{function}("), &arguments, "");
    };
    let quoted = |field: &Field| format!("\"{}\"", field.name);
    let hidden: Vec<String> = declared
        .fields
        .iter()
        .filter(|field| field.overrides.has(PYTHON, "hidden"))
        .map(quoted)
        .collect();
    if !hidden.is_empty() {
        add(source, "_leave_out", &hidden);
    }
    let times: Vec<String> =
        shown(declared).filter(|field| field.overrides.has(PYTHON, "time")).map(quoted).collect();
    if !times.is_empty() {
        add(source, "_read_times", &times);
    }
    for field in shown(declared) {
        let class = interface
            .inner(field)
            .filter(|inner| !interface.is_input(&inner.name))
            .map(|inner| format!("{}._read", class(inner)));
        match (field.kind.given(), class) {
            (Type::List(_), class) => {
                let read: Vec<String> = [quoted(field)].into_iter().chain(class).collect();
                add(source, "_read_each", &read);
            }
            (Type::Declared(_), Some(class)) => {
                add(source, "_read_one", &[quoted(field), class]);
            }
            (Type::Declared(name), None) => {
                add(source, "_read_one", &[quoted(field), name.clone()]);
            }
            _ => {}
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let any = source.later("typing", "Any");
    let own = source.later("typing_extensions", "Self");
    format!(
        "\n    @classmethod\n    def _read(cls, reply: dict[str, {any}]) -> {own}:\n\
         {lines}        return cls(**reply)\n"
    )
}
