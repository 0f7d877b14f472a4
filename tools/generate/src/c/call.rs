//! The options and the function of a call.

use super::parameter::{
    Kind, Variable, argument_docs, choices, form, identifier, is_argument, option_docs, read,
    variables,
};
use super::source::Source;
use super::{C, Plan, module};
use crate::Result;
use crate::docs::Translator;
use crate::model::{Call, Field, Struct, Type};
use crate::text::{doc_comment, joined, snake};
use std::collections::BTreeSet;

/// The options of a call, if it has any.
pub(crate) fn options_of(call: &Call) -> impl Iterator<Item = &Field> {
    call.declared.fields.iter().filter(|field| !is_argument(field))
}

/// The struct of a call's options.
pub(crate) fn options_type(call: &Call) -> String {
    format!("seconder_{}_options", snake(call.options_name()))
}

/// Writes the struct of a call's options, unless an earlier call has it too.
pub(super) fn options(source: &mut Source, plan: &Plan<'_>, call: &Call) -> Result<()> {
    let sharing: Vec<&Call> = plan.interface.sharing(call).collect();
    let at = |e: String| format!("{}: {e}", call.declared.path());
    let name = options_type(call);
    if options_of(call).next().is_none() {
        return Ok(());
    }
    if sharing[0].name != call.name {
        check_same(sharing[0], call).map_err(at)?;
        source.import_generated(&module(&sharing[0].declared), &name);
        return Ok(());
    }
    let translator = plan.translator(&call.declared);
    let functions: Vec<String> =
        sharing.iter().map(|call| format!("seconder_{}()", call.name)).collect();
    let mut text = doc_comment(&[format!("Options of {}.", joined(&functions))], 0);
    text += &format!("#[derive(Clone, Copy)]\n#[repr(C)]\npub struct {name} {{\n");
    let mut holds = BTreeSet::new();
    for field in options_of(call) {
        let docs = translator.field(field, "NULL").map_err(at)?;
        let form = choices(field).or_else(|| form(plan, field));
        let mut docs = option_docs(&translator, &docs, field, form);
        for Variable { name, kind } in &variables(plan, field).map_err(at)? {
            text += &doc_comment(&[docs], 4);
            text += &format!("    pub {}: {},\n", identifier(name), kind.rust());
            holds.insert(kind.holds());
            let most = field.overrides.note(C, "most").unwrap_or("1000");
            docs = format!("The number of values at `{}`, at most {most}.", field.name);
            if matches!(kind, Kind::Text) {
                source.import("std::ffi", "c_char");
            }
        }
    }
    text += "}\n\n";
    let holds: Vec<&str> = holds.into_iter().collect();
    text += &format!("// SAFETY: {} alone.\n", joined(&holds));
    text += &format!("unsafe impl Plain for {name} {{}}\n");
    source.import("crate::capi::ffi", "Plain");
    source.add(&text);
    Ok(())
}

/// Fails if calls that share their options document them differently: one of them would have wrong words.
fn check_same(first: &Call, other: &Call) -> Result<()> {
    let docs =
        |call| options_of(call).map(|field| (&field.name, &field.docs.0)).collect::<Vec<_>>();
    match docs(first) == docs(other) {
        true => Ok(()),
        false => Err(format!("document the optional parameters as {} does", first.name)),
    }
}

/// Writes the function of a call.
pub(super) fn function(source: &mut Source, plan: &Plan<'_>, call: &Call) -> Result<()> {
    let at = |e: String| format!("{}: {e}", call.declared.path());
    let name = format!("seconder_{}", call.name);
    let reply = plan.interface.get(&call.reply)?;
    let handle = plan.type_name(reply);
    let has_options = options_of(call).next().is_some();
    let translator = plan.translator(&call.declared);
    let mut function = Function::default();
    function.read_all(source, plan, &translator, &call.declared).map_err(at)?;
    let docs = documentation(plan, call, &translator, &function.docs).map_err(at)?;
    let mut text = doc_comment(&docs, 0);
    text += "#[unsafe(no_mangle)]\n#[must_use]\n";
    text += &format!("pub unsafe extern \"C\" fn {name}(\nservice: Option<&seconder_service>,\n");
    text += &function.arguments;
    if has_options {
        text += &format!("options: *const {},\noptions_size: usize,\n", options_type(call));
    }
    text += &format!("out: *mut *mut {handle},\nerror: *mut *mut seconder_error,\n");
    text += ") -> seconder_status {\n// SAFETY: as the header requires.\nunsafe {\n";
    let wrapper = match reply.overrides.has(C, "optional") {
        true => "with_optional_out",
        false => "with_out",
    };
    text += &format!("{wrapper}(out, error, || {{\n");
    text += "let service = ffi::need(\"service\", service)?;\n";
    if has_options {
        text += "let options = ffi::options(options, options_size)?;\n";
    }
    text += &format!("let call = {};\n", function.value);
    text += &match reply.overrides.has(C, "decided") {
        true => decided(source, plan, call, reply)?,
        false => "Ok(service.service.handle(&call)?.into())\n".to_owned(),
    };
    text += "})\n}\n}\n";
    for (module, name) in [
        ("crate::capi::error", "seconder_error"),
        ("crate::capi::ffi", "self"),
        ("crate::capi::ffi", wrapper),
        ("crate::capi::open", "seconder_service"),
        ("crate::capi::status", "seconder_status"),
        ("crate::calls", "Handle"),
        ("crate::calls", &call.declared.name),
    ] {
        source.import(module, name);
    }
    if function.arguments.contains("c_char") {
        source.import("std::ffi", "c_char");
    }
    source.import_generated(&module(reply), &handle);
    source.add(&text);
    Ok(())
}

/// The end of a function whose status depends on what the reply says.
fn decided(source: &mut Source, plan: &Plan<'_>, call: &Call, reply: &Struct) -> Result<String> {
    let checked = call.declared.fields.iter().find(|field| match field.kind {
        Type::Value(value) => value.is_typed(),
        _ => false,
    });
    let Some(checked) = checked else {
        return Err(format!("{}: checks no code", call.declared.path()));
    };
    source.import("crate::capi", "decisions");
    let function = plan.short_name(reply);
    let name = &checked.name;
    Ok(format!("Ok(decisions::{function}(\"{name}\", service.service.handle(&call)?)?.into())\n"))
}

/// The arguments of a function, and the call that it makes of them.
#[derive(Default)]
struct Function {
    /// The declarations of its arguments.
    arguments: String,
    /// Sentences on its arguments.
    docs: Vec<String>,
    /// The expression that makes the call of them.
    value: String,
}

impl Function {
    /// Reads the fields of a struct from arguments and options.
    fn read_all(
        &mut self,
        source: &mut Source,
        plan: &Plan<'_>,
        translator: &Translator<'_>,
        declared: &Struct,
    ) -> Result<()> {
        source.import("crate::calls", &declared.name);
        self.value += &format!("{} {{\n", declared.name);
        for field in &declared.fields {
            self.value += &format!("{}: ", field.rust);
            let nested = plan.interface.inner(field);
            if let Some(nested) = nested.filter(|_| !matches!(field.kind, Type::List(_))) {
                self.read_all(source, plan, &plan.translator(nested), nested)?;
                self.value += ",\n";
                continue;
            }
            let argument = is_argument(field);
            let place = if argument { "" } else { "options." };
            if argument {
                self.argument(plan, translator, field)?;
            }
            let read = read(source, plan, field, place)?;
            if read == field.rust {
                self.value.truncate(self.value.len() - 2 - field.rust.len());
            }
            self.value += &format!("{read},\n");
        }
        for name in &declared.skipped {
            self.value += &format!("{name}: Default::default(),\n");
        }
        self.value += "}";
        Ok(())
    }

    fn argument(
        &mut self,
        plan: &Plan<'_>,
        translator: &Translator<'_>,
        field: &Field,
    ) -> Result<()> {
        let documented = translator.field(field, "NULL")?;
        let mut docs = argument_docs(translator, &documented, field, form(plan, field))?;
        let variables = variables(plan, field)?;
        if field.is_optional() && variables.len() == 1 {
            docs.push("It may be NULL.".to_owned());
        }
        if let [_, count] = variables.as_slice() {
            docs.push(format!("`{}` is their number.", count.name));
        }
        for Variable { name, kind } in &variables {
            self.arguments += &format!("{}: {},\n", identifier(name), kind.rust());
        }
        self.docs.push(docs.join(" "));
        Ok(())
    }
}

/// The paragraphs on a function: the call, its arguments, its result and its statuses.
fn documentation(
    plan: &Plan<'_>,
    call: &Call,
    translator: &Translator<'_>,
    arguments: &[String],
) -> Result<Vec<String>> {
    let mut docs = translator.paragraphs(&call.declared.docs, &call.declared.overrides)?;
    if !arguments.is_empty() {
        docs.push(arguments.join(" "));
    }
    let reply = plan.interface.get(&call.reply)?;
    let free = format!("{}_free()", plan.type_name(reply));
    let shown = reply.fields.iter().filter(|field| !field.overrides.has(C, "hidden"));
    let wipes = match shown.into_iter().any(|field| field.kind.is_secret()) {
        true => ", which wipes it",
        false => "",
    };
    let mut last = vec![match reply.overrides.has(C, "optional") {
        true => format!("`out` may be NULL; otherwise free it with {free}{wipes}."),
        false => format!("Free `out` with {free}{wipes}."),
    }];
    for paragraph in &call.errors.0 {
        last.push(translator.translate(paragraph)?);
    }
    last.push("Other statuses are as described at the top of the header.".to_owned());
    docs.push(last.join(" "));
    Ok(docs)
}
