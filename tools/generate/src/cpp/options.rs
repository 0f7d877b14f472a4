//! Structs that the caller fills in: the options of calls, and the values of their lists.

use super::{CPP, Cpp};
use crate::Result;
use crate::c::call::options_of;
use crate::c::parameter::{Kind, form, option_docs, variables};
use crate::model::{Call, Field, Struct, Type};
use crate::text::{doc_comment, joined};

/// The structs in lists, and how those of C are made of them.
pub(super) fn inputs(cpp: &Cpp<'_>) -> Result<(String, String)> {
    let (mut structs, mut made) = (Vec::new(), Vec::new());
    for name in &cpp.plan.inputs {
        let declared = cpp.plan.interface.get(name)?;
        let at = |e: String| format!("{}: {name}: {e}", declared.path());
        structs.push(input(cpp, declared).map_err(at)?);
        made.push(conversion(cpp, declared));
    }
    Ok((structs.join("\n"), made.join("\n")))
}

fn input(cpp: &Cpp<'_>, declared: &Struct) -> Result<String> {
    let translator = cpp.translator(declared);
    let docs = translator.paragraphs(&declared.docs, &declared.overrides)?;
    let mut text = format!("{}struct {} {{\n", doc_comment(&docs, 0), declared.name);
    for field in &declared.fields {
        text += &doc_comment(&[translator.field(field, "std::nullopt")?], 4);
        text += &match field.kind {
            Type::Text => format!("    std::string {} = {{}};\n", field.name),
            Type::Number => format!("    std::uint64_t {} = 0;\n", field.name),
            _ => return Err(format!("{}: C++ has no such value", field.rust)),
        };
    }
    Ok(text + "};\n")
}

fn conversion(cpp: &Cpp<'_>, declared: &Struct) -> String {
    let raw = cpp.plan.type_name(declared);
    let mut text = format!("inline {raw} raw(const {} &given) noexcept\n{{\n", declared.name);
    text += &format!("    {raw} c = {{}};\n");
    for field in &declared.fields {
        let name = &field.name;
        text += &match field.kind {
            Type::Text => format!("    c.{name} = text_if(given.{name});\n"),
            _ => format!("    c.{name} = given.{name};\n"),
        };
    }
    text + "    return c;\n}\n"
}

/// The options of every call that has any.
pub(super) fn options(cpp: &Cpp<'_>) -> Result<String> {
    let mut all = Vec::new();
    for call in &cpp.plan.interface.calls {
        let sharing: Vec<&Call> = cpp.plan.interface.sharing(call).collect();
        if options_of(call).next().is_some() && sharing[0].name == call.name {
            let at = |e: String| format!("{}: {e}", call.declared.path());
            all.push(options_struct(cpp, &sharing).map_err(at)?);
        }
    }
    Ok(all.join("\n"))
}

fn options_struct(cpp: &Cpp<'_>, sharing: &[&Call]) -> Result<String> {
    let call = sharing[0];
    let translator = cpp.translator(&call.declared);
    let functions: Vec<String> = sharing.iter().map(|call| format!("{}()", call.name)).collect();
    let docs = doc_comment(&[format!("Options of {}.", joined(&functions))], 0);
    let mut text = format!("{docs}struct {}Options {{\n", call.options_name());
    for field in options_of(call) {
        let documented = translator.field(field, "std::nullopt")?;
        let docs = option_docs(&translator, &documented, field, form(cpp.plan, field));
        text += &doc_comment(&[docs], 4);
        text += &format!("    {};\n", option(cpp, field)?);
    }
    Ok(text + "};\n")
}

/// The declaration of an option, whose default selects that of the call.
fn option(cpp: &Cpp<'_>, field: &Field) -> Result<String> {
    let name = &field.name;
    Ok(match &variables(cpp.plan, field)?[0].kind {
        Kind::Text => format!("std::optional<std::string> {name} = {{}}"),
        Kind::Number => format!("std::uint64_t {name} = 0"),
        Kind::Signed => format!("std::int64_t {name} = 0"),
        Kind::Choice => format!("std::optional<bool> {name} = {{}}"),
        Kind::Flag => format!("bool {name} = {}", field.overrides.has(CPP, "yes")),
        Kind::List(_) => format!("std::vector<{}> {name} = {{}}", of_list(cpp, field)?),
        Kind::Count => return Err(format!("{name}: is the number of nothing")),
    })
}

/// The type of the values of a list.
pub(super) fn of_list<'a>(cpp: &'a Cpp<'_>, field: &Field) -> Result<&'a str> {
    match cpp.plan.interface.inner(field) {
        Some(inner) => Ok(&inner.name),
        None => Err(format!("{}: C++ has no such list", field.rust)),
    }
}

/// The statements that pass an option on to C.
pub(super) fn passed(cpp: &Cpp<'_>, field: &Field) -> Result<Vec<String>> {
    let name = &field.name;
    Ok(match &variables(cpp.plan, field)?[0].kind {
        Kind::Text => vec![format!("c.{name} = detail::text(options.{name});")],
        Kind::Choice => vec![format!("c.{name} = detail::choice(options.{name});")],
        Kind::List(_) => vec![
            format!("c.{name} = raw_{name}.data();"),
            format!("c.{name}_count = raw_{name}.size();"),
        ],
        _ => vec![format!("c.{name} = options.{name};")],
    })
}
