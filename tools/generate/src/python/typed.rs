//! The dicts that callers pass: `typed.py`.

use super::docs::Within;
use super::examples::Examples;
use super::layout::{Docstring, docstring};
use super::source::Source;
use super::{PYTHON, kind};
use crate::Result;
use crate::model::{Interface, Struct};

/// The module, with a class for each struct that a parameter is a list of.
pub(super) fn module(interface: &Interface, examples: &mut Examples) -> Result<String> {
    let docs = "Dicts in parameters of calls, for annotations. This module imports :mod:`typing`, so the \
                package imports it only on first use.";
    let mut source = Source::new("src/calls/*.rs", docs);
    source.import("seconder._replay", "Replay as Replay");
    source.import("seconder._replay", "TypedDict");
    for declared in interface.structs.values().filter(|one| interface.is_input(&one.name)) {
        let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
        let text = class(&mut source, interface, declared, examples).map_err(at)?;
        source.add(&text);
    }
    Ok(source.finish())
}

fn class(
    source: &mut Source,
    interface: &Interface,
    declared: &Struct,
    examples: &mut Examples,
) -> Result<String> {
    let name = &declared.name;
    let within = Within { interface, class: name };
    let translator = within.translator();
    let paragraphs = translator.paragraphs(&declared.docs, &declared.overrides)?;
    let mut docs = Docstring::new(4, &paragraphs);
    docs.example(None, &examples.need(name)?.lines);
    let mut text = format!("class {name}(TypedDict):\n{}\n", docs.finish());
    for field in &declared.fields {
        let kind = match field.overrides.note(PYTHON, "one_of") {
            Some(values) => {
                source.import("typing", "Literal");
                let values = values.split(' ').map(|value| format!("\"{value}\""));
                format!("Literal[{}]", values.collect::<Vec<_>>().join(", "))
            }
            None => kind::of_reply(source, interface, field)?,
        };
        text += &format!(
            "    {}: {kind}\n{}",
            field.name,
            docstring(4, &[translator.field(field, "None")?])
        );
    }
    Ok(text)
}
