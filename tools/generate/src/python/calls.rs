//! The methods that make calls: `calls.py`, and those for asyncio.

use super::docs::{Within, exception};
use super::examples::{Examples, FILE};
use super::groups::{GROUPS, Group};
use super::layout::{Docstring, bracketed, fits};
use super::parameter::{Parameter, arguments, documented, malformed, parameters, part, signature};
use super::source::Source;
use super::{PYTHON, class};
use crate::Result;
use crate::docs::Translator;
use crate::model::{Call, Interface, Type};
use std::collections::BTreeSet;

/// The module with a method for each call.
pub(super) fn module(interface: &Interface, examples: &mut Examples) -> Result<String> {
    let from = format!("src/calls/*.rs and {FILE}");
    let mut source = Source::new(&from, "The calls of the interface.");
    source.import("seconder._frames", "guarded_class");
    source.add(&secrets(interface));
    for group in &GROUPS {
        source.import("seconder._calling", group.base);
        let mut text = class_of(group.class, group.base, group.docs);
        for call in interface.calls.iter().filter(|call| group.has(call)) {
            let at = |e: String| format!("{}: {e}", call.declared.path());
            text += "\n";
            text += &method(&mut source, interface, call, examples).map_err(at)?;
        }
        source.add(&text);
    }
    Ok(source.finish())
}

/// The beginning of a class of methods.
pub(super) fn class_of(name: &str, base: &str, docs: &str) -> String {
    format!("@guarded_class\nclass {name}({base}):\n    \"\"\"{docs}\"\"\"\n\n    __slots__ = ()\n")
}

/// The parameters that a record of a call must not show.
fn secrets(interface: &Interface) -> String {
    let fields = interface.calls.iter().flat_map(|call| &call.declared.fields);
    let names: BTreeSet<&str> =
        fields.filter(|field| field.kind.is_secret()).map(|field| field.name.as_str()).collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
    let list = format!("SECRETS = frozenset({{{}}})\n", names.join(", "));
    list + "\"\"\"The parameters whose values are secrets.\"\"\"\n"
}

/// Returns the type of a call's result, which the module imports.
fn returned(source: &mut Source, interface: &Interface, call: &Call) -> Result<String> {
    let reply = interface.get(&call.reply)?;
    if reply.overrides.has(PYTHON, "flag") {
        return Ok("bool".to_owned());
    }
    let class = class(reply);
    source.import("seconder.results", class);
    Ok(class.to_owned())
}

fn method(
    source: &mut Source,
    interface: &Interface,
    call: &Call,
    examples: &mut Examples,
) -> Result<String> {
    let parameters = parameters(source, interface, call)?;
    let returned = returned(source, interface, call)?;
    let before = format!("def {}(", call.name);
    let text = bracketed(4, &before, &signature(&parameters), &format!(" -> {returned}:"));
    let docs = documentation(interface, call, &parameters, examples)?;
    Ok(text + &docs + &body(source, interface, call, &parameters, &returned))
}

fn documentation(
    interface: &Interface,
    call: &Call,
    parameters: &[Parameter<'_>],
    examples: &mut Examples,
) -> Result<String> {
    let within = Within { interface, class: Group::of(call).holder };
    let translator = within.translator();
    let paragraphs = translator.paragraphs(&call.declared.docs, &call.declared.overrides)?;
    let mut docs = Docstring::new(8, &paragraphs);
    let documented: Result<Vec<_>> =
        parameters.iter().map(|parameter| documented(&translator, parameter)).collect();
    docs.list("Args", &documented?);
    let example = examples.need(&call.name)?;
    docs.section("Returns", &example.returns.0);
    let mut raised = raised(&translator, call)?;
    raised.extend(parameters.iter().filter_map(malformed));
    docs.list("Raises", &raised);
    docs.example(Some("Example"), &example.lines);
    Ok(docs.finish())
}

/// The exceptions of a call: those of Python alone, and those of its errors.
fn raised(translator: &Translator<'_>, call: &Call) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let own = call.declared.overrides.note(PYTHON, "raises").unwrap_or_default();
    for line in own.lines() {
        let (name, text) = line.split_once(": ").ok_or("`raises` has no exception")?;
        found.push((name.to_owned(), translator.translate(text)?));
    }
    // Each clause begins with a link to its error.
    let text = call.errors.0.join(" ");
    let link = "[`Error::";
    let begins = |at: &usize| {
        let before = &text[..*at];
        before.is_empty() || before.ends_with("; ") || before.ends_with(". ")
    };
    let starts: Vec<usize> = text.match_indices(link).map(|(at, _)| at).filter(begins).collect();
    if !text.is_empty() && starts.first() != Some(&0) {
        return Err("# Errors: begin each clause with a link to its error".to_owned());
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let clause = &text[start + link.len()..end];
        let (variant, clause) = clause.split_once("`]").ok_or("# Errors: a link has no end")?;
        let clause = match clause.strip_prefix('(') {
            Some(path) => path.split_once(')').ok_or("# Errors: a link has no end")?.1,
            None => clause,
        };
        let clause = translator.translate(clause.trim().trim_end_matches([';', '.']))?;
        let (first, rest) = clause.split_at(clause.chars().next().map_or(0, char::len_utf8));
        found.push((exception(variant), format!("{}{rest}.", first.to_uppercase())));
    }
    Ok(found)
}

/// The statements that make the call and read its reply.
fn body(
    source: &mut Source,
    interface: &Interface,
    call: &Call,
    parameters: &[Parameter<'_>],
    returned: &str,
) -> String {
    let mut text = String::new();
    for field in parameters.iter().map(|parameter| parameter.field) {
        let name = &field.name;
        if !matches!(field.kind.given(), Type::Value(value) if value.is_typed()) {
            continue;
        }
        source.import("seconder._calling", "_typed");
        text += &match field.kind {
            Type::Optional(_) => {
                format!("        {name} = None if {name} is None else _typed(\"{name}\", {name})\n")
            }
            _ => format!("        {name} = _typed(\"{name}\", {name})\n"),
        };
    }
    let mut given = vec![format!("\"{}\"", call.name)];
    for field in &call.declared.fields {
        let name = &field.name;
        if let Some(fields) = part(interface, field) {
            let names: Vec<String> =
                fields.iter().map(|field| format!("\"{0}\": {0}", field.name)).collect();
            text += &bracketed(8, &format!("{name} = {{"), &names, "");
        }
        given.push(format!("{name}={name}"));
    }
    let made = format!("self._call({})", given.join(", "));
    let read = |reply: &str| match returned {
        "bool" => format!("        return {reply} is True\n"),
        _ => format!("        return {returned}._read({reply})\n"),
    };
    if fits(read(&made).trim_end()) {
        return text + &read(&made);
    }
    text + &bracketed(8, "reply = self._call(", &given, "") + &read("reply")
}

/// The methods of a group for asyncio, which refer to those of the same name.
pub(super) fn awaited(source: &mut Source, interface: &Interface, group: &Group) -> Result<String> {
    let mut text = String::new();
    for call in interface.calls.iter().filter(|call| group.has(call)) {
        let parameters = parameters(source, interface, call)?;
        let returned = returned(source, interface, call)?;
        let signature = signature(&parameters);
        let arguments = arguments(&parameters);
        text += &super::forwards::method(group, &call.name, &signature, &returned, &arguments);
    }
    Ok(text)
}
