//! The enums of names: `enums.py`.

use super::PYTHON;
use super::docs::Within;
use super::examples::Examples;
use super::layout::Docstring;
use super::source::Source;
use crate::Result;
use crate::model::{Enum, Interface, Overrides, Type};
use crate::text::Docs;

/// The module, whose enums follow from those of Rust.
pub(super) fn module(interface: &Interface, examples: &mut Examples) -> Result<String> {
    let docs = "The words of the interface, as enums that are also strings and equal their word.";
    let from = "src/calls/*.rs, src/codes.rs and the files that model/words.rs lists";
    let mut source = Source::new(from, docs);
    source.import("seconder._value", "Word as Word");
    for found in of_calls(interface).into_iter().chain(&interface.words) {
        let text = enumeration(interface, found, examples);
        source.add(&text.map_err(|e| format!("{}: {}: {e}", found.path, found.name))?);
    }
    source.add(&codes(interface, examples)?);
    Ok(source.finish())
}

/// The enums of parameters and replies, in the order in which calls use them.
fn of_calls(interface: &Interface) -> Vec<&Enum> {
    let mut found: Vec<&Enum> = Vec::new();
    for call in &interface.calls {
        let reply = interface.structs.get(&call.reply);
        let reply = reply.filter(|reply| !reply.overrides.has(PYTHON, "flag"));
        let structs = [Some(&call.declared), reply].into_iter().flatten();
        let fields = structs.flat_map(|declared| &declared.fields);
        for field in fields.filter(|field| !field.overrides.has(PYTHON, "hidden")) {
            let Type::Declared(name) = field.kind.given() else { continue };
            let Some(one) = interface.enums.get(name) else { continue };
            if !found.iter().any(|known| known.name == one.name) {
                found.push(one);
            }
        }
    }
    found
}

fn enumeration(interface: &Interface, found: &Enum, examples: &mut Examples) -> Result<String> {
    let within = Within { interface, class: &found.name };
    let translator = within.translator();
    let paragraphs = translator.paragraphs(&found.docs, &found.overrides)?;
    let mut text = head(&found.name, &paragraphs, examples);
    for variant in &found.variants {
        let docs = translator.paragraphs(&variant.docs, &Overrides::default())?;
        text += &value(&variant.name.to_uppercase(), &variant.name, &docs.join(" "));
    }
    if let Some(variant) = found.overrides.note(PYTHON, "truthy") {
        if !found.variants.iter().any(|known| known.name.to_uppercase() == variant) {
            return Err(format!("{}: {} has no variant {variant}", found.path, found.name));
        }
        text += &format!(
            "\n    def __bool__(self) -> bool:\n        return self is {}.{variant}\n",
            found.name
        );
    }
    Ok(text)
}

fn codes(interface: &Interface, examples: &mut Examples) -> Result<String> {
    let (Docs(paragraphs), codes) = &interface.codes;
    let within = Within { interface, class: "Code" };
    let translator = within.translator();
    let paragraphs: Result<Vec<String>> =
        paragraphs.iter().map(|paragraph| translator.translate(paragraph)).collect();
    let mut text = head("Code", &paragraphs?, examples);
    for code in codes {
        let (first, rest) = code.meaning.split_at(1);
        text += &value(&code.name, &code.text, &format!("{}{rest}.", first.to_uppercase()));
    }
    Ok(text)
}

fn head(name: &str, paragraphs: &[String], examples: &mut Examples) -> String {
    let mut docs = Docstring::new(4, paragraphs);
    if let Some(example) = examples.take(name) {
        docs.example(None, &example.lines);
    }
    format!("class {name}(Word):\n{}\n", docs.finish())
}

fn value(name: &str, text: &str, docs: &str) -> String {
    format!("    {name} = \"{text}\"\n{}", super::layout::docstring(4, &[docs.to_owned()]))
}
