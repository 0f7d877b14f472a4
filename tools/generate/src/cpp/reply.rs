//! Replies: owners of the handles of C, and functions that read them.

use super::layout::{MEMBER, class, function, head, list};
use super::{CPP, Cpp};
use crate::Result;
use crate::c::C;
use crate::c::reply::{Member, Shape, accessor, described, members};
use crate::docs::{ABSENT, Translator};
use crate::model::{Struct, Type};
use crate::text::{continued, doc_comment};

/// The replies in the order of their calls, each after those inside it.
pub(super) fn all<'a>(cpp: &Cpp<'a>) -> Result<Vec<&'a Struct>> {
    let mut found = Vec::new();
    for call in &cpp.plan.interface.calls {
        add(cpp, cpp.plan.interface.get(&call.reply)?, &mut found);
    }
    Ok(found)
}

fn add<'a>(cpp: &Cpp<'a>, declared: &'a Struct, found: &mut Vec<&'a Struct>) {
    if found.iter().any(|known| known.name == declared.name) {
        return;
    }
    let inner = declared.fields.iter().filter_map(|field| cpp.plan.interface.inner(field));
    for inner in inner.filter(|inner| cpp.plan.handles.contains(&inner.name)) {
        add(cpp, inner, found);
    }
    found.push(declared);
}

/// Returns whether a class has functions that are written by hand, so that the template has its
/// first lines.
pub(super) fn has_own_functions(declared: &Struct) -> bool {
    declared.overrides.has(C, "keeps")
}

/// The classes of the replies that are generated as a whole.
pub(super) fn classes(cpp: &Cpp<'_>) -> Result<String> {
    let mut classes = Vec::new();
    for declared in all(cpp)?.into_iter().filter(|declared| !has_own_functions(declared)) {
        classes.push(reply(cpp, declared)?);
    }
    Ok(classes.join("\n"))
}

fn is_owner(cpp: &Cpp<'_>, declared: &Struct) -> bool {
    let is_freed = declared.overrides.has(C, "freed");
    is_freed || cpp.plan.interface.returning(&declared.name).next().is_some()
}

fn reply(cpp: &Cpp<'_>, declared: &Struct) -> Result<String> {
    let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
    let translator = cpp.translator(declared);
    let mut docs = translator.paragraphs(&declared.docs, &declared.overrides).map_err(at)?;
    let raw = cpp.plan.type_name(declared);
    let (base, arguments) = match is_owner(cpp, declared) {
        true => ("Handle", vec![raw.clone(), format!("{raw}_free")]),
        false => ("View", vec![raw]),
    };
    if !is_owner(cpp, declared) {
        docs.push(
            "The object refers to the reply that it is read from, and must not outlive it.".into(),
        );
    }
    Ok(format!(
        "{}{}\npublic:\n    using {base}::{base};\n\n{}}};\n",
        doc_comment(&docs, 0),
        class(&declared.name, &format!("detail::{base}"), &arguments),
        accessors(cpp, declared)?,
    ))
}

/// The functions that read the fields of a reply.
pub(super) fn accessors(cpp: &Cpp<'_>, declared: &Struct) -> Result<String> {
    let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
    let raw = cpp.plan.type_name(declared);
    let translator = cpp.translator(declared);
    let mut all = Vec::new();
    let members = members(cpp.plan, declared)?.into_iter();
    for member in members.filter(|member| !member.field.overrides.has(CPP, "by_hand")) {
        let docs = documentation(cpp, &translator, &member).map_err(at)?;
        let value = value(cpp, &raw, &member).map_err(at)?;
        let text = value.function(&member.field.name, is_owner(cpp, declared));
        all.push(format!("{}{text}", doc_comment(&[docs], 4)));
    }
    Ok(all.join("\n"))
}

fn documentation(
    cpp: &Cpp<'_>,
    translator: &Translator<'_>,
    member: &Member<'_>,
) -> Result<String> {
    let documented = translator.field(member.field, ABSENT)?;
    if translator.own_words(&member.field.overrides).is_some() {
        return Ok(documented);
    }
    let documented = described(cpp.plan, member, &documented, "");
    let absent = match member.shape {
        Shape::Text | Shape::MaybeText => "Empty",
        Shape::Item(_) => "nullptr",
        Shape::MaybeFlag | Shape::Handle(_) => "std::nullopt",
        _ if member.is_known() => "std::nullopt",
        _ => "0",
    };
    // An empty text and a 0 need no words: the header says once that they may be absent.
    let says_more = !documented.contains(ABSENT) && !["Empty", "0"].contains(&absent);
    Ok(match says_more {
        true => format!("{documented} {absent} if the service does not provide it."),
        false => documented
            .replace(&format!("; {ABSENT}"), &format!("; {}", continued(absent)))
            .replace(ABSENT, absent),
    })
}

/// A value in C++.
struct Value {
    kind: String,
    /// The function that makes it of what C returns, with its bracket.
    open: String,
    arguments: Vec<String>,
    /// It refers to the handle, so it cannot be read from a handle that is gone at once.
    borrowed: bool,
    /// It allocates memory, which may fail.
    allocates: bool,
}

impl Value {
    fn of(kind: &str, open: &str, argument: String) -> Value {
        Value {
            kind: kind.to_owned(),
            open: open.to_owned(),
            arguments: vec![argument],
            borrowed: false,
            allocates: false,
        }
    }

    fn borrowed(kind: &str, open: &str, argument: String) -> Value {
        Value { borrowed: true, ..Value::of(kind, open, argument) }
    }

    fn list(kind: &str, function: &str) -> Value {
        let of = Value::borrowed(&format!("std::vector<{kind}>"), "detail::list(", "get()".into());
        let arguments = vec!["get()".into(), format!("{function}_count"), function.to_owned()];
        Value { allocates: true, arguments, ..of }
    }

    /// The member function that returns it.
    fn function(&self, name: &str, is_owner: bool) -> String {
        let reference = self.borrowed && is_owner;
        let after = format!(
            " const{}{}",
            if reference { " &" } else { "" },
            if self.allocates { "" } else { " noexcept" }
        );
        let close = if self.open.is_empty() { ";" } else { ");" };
        let body = list(&format!("        return {}", self.open), &self.arguments, close);
        let head = |after: &str| head(MEMBER, &self.kind, name, &[], after);
        let text = function(MEMBER, &head(&after), &body);
        match reference {
            true => format!("{text}{}\n", head(" const && = delete;")),
            false => text,
        }
    }
}

fn value(cpp: &Cpp<'_>, raw: &str, member: &Member<'_>) -> Result<Value> {
    let Member { field, shape, .. } = member;
    let name = format!("{raw}_{}", accessor(field));
    let read = format!("{name}(get())");
    let c_type = |inner: &str| -> Result<String> {
        Ok(format!("const {} *", cpp.plan.type_name(cpp.plan.interface.get(inner)?)))
    };
    let plain = match shape {
        Shape::Flag | Shape::MaybeFlag => Value::of("bool", "", read),
        Shape::Number | Shape::MaybeNumber { zero: false }
            if field.overrides.has(CPP, "seconds") =>
        {
            Value::of("std::chrono::seconds", "detail::seconds(", read)
        }
        Shape::Number | Shape::MaybeNumber { zero: false } => Value::of("std::uint64_t", "", read),
        Shape::MaybeNumber { zero: true } | Shape::MaybeSigned => {
            Value::of("std::int64_t", "", read)
        }
        Shape::Constant(_) => match field.kind.given() {
            Type::Declared(kind) => Value::of(kind, &format!("static_cast<{kind}>("), read),
            _ => return Err(format!("{}: C++ has no such constant", field.rust)),
        },
        Shape::Plain(number) => match field.overrides.note(CPP, "kind") {
            Some(kind) => Value::of(kind, &format!("static_cast<{kind}>("), read),
            None if number == "u32" => Value::of("std::uint32_t", "", read),
            None => Value::of("std::int32_t", "", read),
        },
        Shape::Text | Shape::MaybeText => {
            Value::borrowed("std::string_view", "detail::view(", read)
        }
        Shape::Texts => Value::list("std::string_view", &name),
        Shape::Item(inner) => Value::borrowed(&c_type(inner)?, "", read),
        Shape::Items(inner) => Value::list(&c_type(inner)?, &name),
        Shape::Structs(inner) => Value::list(&format!("const {inner} *"), &name),
        Shape::Handle(inner) => Value::borrowed(
            &format!("std::optional<{inner}>"),
            &format!("detail::part<{inner}>("),
            read,
        ),
    };
    Ok(match member.is_known() {
        true => known(plain, &name),
        false => plain,
    })
}

/// A value of which C says whether the service provides it.
fn known(plain: Value, name: &str) -> Value {
    let close = if plain.open.is_empty() { "" } else { ")" };
    let value = format!("{}{}{close}", plain.open, plain.arguments.join(", "));
    Value {
        kind: format!("std::optional<{}>", plain.kind),
        open: "detail::known(".to_owned(),
        arguments: vec![value, format!("{name}_known(get())")],
        ..plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_be_read_from_a_temporary_owner() {
        let text = Value::borrowed("std::string_view", "detail::view(", "read(get())".into());
        assert_eq!(
            text.function("name", true),
            "    std::string_view name() const & noexcept { return detail::view(read(get())); }\n    \
             std::string_view name() const && = delete;\n"
        );
        assert!(!text.function("name", false).contains('&'));
    }

    #[test]
    fn a_value_that_may_be_unknown_is_optional() {
        let seconds = Value::of("std::chrono::seconds", "detail::seconds(", "c_time(get())".into());
        assert_eq!(
            known(seconds, "c_time").function("time", true).trim(),
            "std::optional<std::chrono::seconds> time() const noexcept\n    {\n        return \
             detail::known(detail::seconds(c_time(get())), c_time_known(get()));\n    }"
        );
    }
}
