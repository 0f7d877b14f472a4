//! The calls in the extension module: `bindings/python/src/generated.rs`.

use super::PYTHON;
use crate::Result;
use crate::model::{Call, Interface, Type};
use std::collections::BTreeSet;

/// The file, before rustfmt lays it out.
pub(super) fn file(interface: &Interface) -> Result<String> {
    let (mut calls, mut values, mut functions) =
        (String::new(), BTreeSet::new(), BTreeSet::from(["Handler"]));
    for call in &interface.calls {
        calls += &handler(interface, call, &mut values, &mut functions)?;
    }
    let renamed = calls.contains("with_new_user_id");
    let imported = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    let mut text =
        "//! Written by tools/generate from src/calls/*.rs: the calls by their names.\n\n"
            .to_owned();
    text += &format!("use crate::calls::{{{}}};\n", imported(functions));
    if renamed {
        text += "use crate::fields::with_new_user_id;\n";
    }
    text += "use seconder::calls::*;\n";
    text += &format!("use seconder::model::{{{}}};\n\n", imported(values));
    let parts: Vec<String> = parts(interface).iter().map(|name| format!("\"{name}\"")).collect();
    text += "/// The parameters with fields that the interface defines.\n";
    text += &format!(
        "pub(crate) const MADE_OF_FIELDS: [&str; {}] = [{}];\n\n",
        parts.len(),
        parts.join(", ")
    );
    text += "/// The calls, in the order of the interface document.\n";
    text += &format!("pub(crate) const CALLS: &[(&str, Handler)] = &[\n{calls}];\n");
    Ok(text)
}

/// The parameters that are structs, or lists of them.
fn parts(interface: &Interface) -> BTreeSet<&str> {
    let fields = interface.calls.iter().flat_map(|call| &call.declared.fields);
    let parts = fields.filter(|field| interface.inner(field).is_some());
    parts.map(|field| field.name.as_str()).collect()
}

/// The name of a call, and the function that makes it.
fn handler<'a>(
    interface: &'a Interface,
    call: &'a Call,
    values: &mut BTreeSet<&'static str>,
    functions: &mut BTreeSet<&'a str>,
) -> Result<String> {
    let reply = interface.get(&call.reply)?;
    let function = reply.overrides.note(PYTHON, "handled_by").unwrap_or("handle");
    functions.insert(function);
    let made = format!("{function}::<{}>", call.declared.name);
    let mut checks = String::new();
    for field in &call.declared.fields {
        let Type::Value(value) = &field.kind else { continue };
        if value.is_typed() && value.form().is_some() {
            values.insert(value.name());
            functions.insert("typed");
            checks += &format!("typed::<{}>(&params, \"{}\")?;\n", value.name(), field.name);
        }
    }
    let is_renamed = reply.fields.iter().any(|field| field.rust == "user_id" && field.wire == "id");
    let rename = if is_renamed { ".map(with_new_user_id)" } else { "" };
    let name = &call.name;
    Ok(match checks.is_empty() && rename.is_empty() {
        true => format!("(\"{name}\", {made}),\n"),
        false => {
            format!(
                "(\"{name}\", |service, params| {{\n{checks}{made}(service, params){rename}\n}}),\n"
            )
        }
    })
}
