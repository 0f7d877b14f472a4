//! Structs with public fields, inside lists and replies.

use super::parameter::identifier;
use super::reply::absent_docs;
use super::source::Source;
use super::{C, Plan};
use crate::Result;
use crate::model::{Field, Struct, Type};
use crate::text::doc_comment;

/// A field in C.
struct Member {
    kind: &'static str,
    /// The expression that reads it from `self`, of a struct that the caller filled in.
    input: Option<String>,
    /// The expression that makes it of `of`, a struct of a reply.
    output: String,
}

fn member(field: &Field) -> Result<Member> {
    let (rust, name) = (&field.rust, identifier(&field.name));
    let number =
        |kind| Member { kind, input: Some(format!("self.{name}")), output: format!("of.{rust}") };
    let text = |text: String, input| Member {
        kind: "*const c_char",
        input,
        output: format!("texts.keep({text})"),
    };
    let or_zero = |member: Member| Member {
        input: None,
        output: format!("{}.unwrap_or_default()", member.output),
        ..member
    };
    Ok(match (&field.kind, field.kind.given()) {
        (Type::Optional(_), Type::Number) => or_zero(number("u64")),
        (Type::Optional(_), Type::Signed) => or_zero(number("i64")),
        (Type::Optional(_), Type::Text) => text(format!("of.{rust}.as_deref()"), None),
        (Type::Flag, _) => Member { input: None, ..number("bool") },
        (Type::Number, _) => number("u64"),
        (Type::Signed, _) => number("i64"),
        (Type::Text, _) => {
            let input = format!("ffi::text(list, self.{name})?.to_owned()");
            text(format!("Some(&of.{rust})"), Some(input))
        }
        (Type::Value(value), _) if value.is_number() => {
            Member { kind: "u64", input: None, output: format!("of.{rust}.get()") }
        }
        (Type::Value(value), _) => text(format!("Some(of.{rust}.{}())", value.accessor()), None),
        _ => return Err(format!("{rust}: C has no such field")),
    })
}

/// Writes the struct, and how it is made or read.
pub(super) fn write(source: &mut Source, plan: &Plan<'_>, declared: &Struct) -> Result<()> {
    let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
    let (name, rust) = (plan.type_name(declared), &declared.name);
    let (input, output) = (plan.inputs.contains(rust), plan.outputs.contains(rust));
    let translator = plan.translator(declared);
    let docs = translator.paragraphs(&declared.docs, &declared.overrides).map_err(at)?;
    let mut text = doc_comment(&docs, 0);
    if input {
        text += "#[derive(Clone, Copy)]\n";
    }
    text += &format!("#[repr(C)]\npub struct {name} {{\n");
    let (mut made, mut read) = (String::new(), String::new());
    let mut has_texts = false;
    for field in &declared.fields {
        let member = member(field).map_err(at)?;
        let texts = member.kind == "*const c_char";
        has_texts |= texts;
        let absent = if texts { "NULL" } else { "0" };
        let docs = translator.field(field, absent).map_err(at)?;
        let is_optional = matches!(field.kind, Type::Optional(_));
        let docs = match is_optional && field.overrides.words(C).is_none() {
            true => absent_docs(&docs, field, absent),
            false => docs,
        };
        text += &doc_comment(&[docs], 4);
        text += &format!("    pub {}: {},\n", identifier(&field.name), member.kind);
        made += &format!("{}: {},\n", identifier(&field.name), member.output);
        if input {
            let given = member.input.ok_or_else(|| at(format!("{}: is no input", field.rust)))?;
            read += &format!("{}: {given},\n", field.rust);
        }
    }
    text += "}\n";
    source.import("crate::calls", rust);
    if has_texts {
        source.import("std::ffi", "c_char");
    }
    source.add(&text);
    if output {
        write_output(source, &name, rust, &made, has_texts);
    }
    if input {
        write_input(source, &name, rust, &read, has_texts);
    }
    Ok(())
}

/// Writes how a struct is made of a value of a reply.
fn write_output(source: &mut Source, name: &str, rust: &str, made: &str, has_texts: bool) {
    for used in ["Item", "MadeOf", "Texts"] {
        source.import("crate::capi::items", used);
    }
    let texts = if has_texts { "texts" } else { "_" };
    source.add(&format!(
        "// SAFETY: its pointers come from `keep`.\nunsafe impl Item for {name} {{}}\n\n\
         impl MadeOf<{rust}> for {name} {{\n\
         fn new(of: &{rust}, {texts}: &mut Texts) -> {name} {{\n{name} {{\n{made}}}\n}}\n}}\n"
    ));
}

/// Writes how a struct that the caller filled in is read.
fn write_input(source: &mut Source, name: &str, rust: &str, read: &str, has_texts: bool) {
    source.import("crate::capi::ffi", "Input");
    source.import("crate::capi::ffi", "Outcome");
    let list = if has_texts { "list" } else { "_" };
    let mut value = format!("Ok({rust} {{\n{read}}})");
    if has_texts {
        source.import("crate::capi::ffi", "self");
        value = format!("// SAFETY: promised by the caller.\nunsafe {{ {value} }}");
    }
    source.add(&format!(
        "impl Input for {name} {{\ntype Value = {rust};\n\n\
         unsafe fn read(&self, {list}: &'static str) -> Outcome<{rust}> {{\n{value}\n}}\n}}\n"
    ));
}
