//! The parameters of `open` and `open_async`.

use super::docs::Within;
use super::layout::wrapped;
use crate::Result;
use crate::c::opening::scope;
use crate::docs::Translator;
use crate::model::{Interface, OpenOption, OptionKind};
use crate::template::fill;
use crate::text::{continued, with_form};
use std::collections::BTreeMap;

/// The folder of the templates.
const TEMPLATES: &str = "bindings/python";
/// A mapping of Python is other than the text of other languages.
const LIMITS: &str = "Limits of the application by their names, such as `{\"number_day\": 10, \
    \"countries\": [1, 44], \"refuse\": [\"disposable\"]}`. An empty list is all countries, or no type that \
    is refused. Those that are not given stay as they are in the database. See the page on limits.";
const TEXTS: &str = "The application's own texts of messages, by language and kind, such as `{\"de\": \
    {\"sms\": \"{{code}} ist Ihr Code.\"}}`. They replace those in the database, and `{}` removes them. \
    Default: those in the database; where there is none, the text that is built in. See the page on texts.";
/// Words of declarations, and those of Python for them.
const WORDS: [(&str, &str); 7] = [
    (": yes or no.", "."),
    ("; yes in", "; ``True`` in"),
    ("; no in", "; ``False`` in"),
    ("An empty text", "An empty string"),
    ("An empty path", "An empty string"),
    ("A function of the program that posts callbacks", "A ``post`` function"),
    ("nulls, empty lists and empty objects", "None, empty lists and empty dicts"),
];

/// A module that is made of the template of its name.
pub(super) fn module(
    interface: &Interface,
    name: &str,
    load: &dyn Fn(&str) -> Result<String>,
) -> Result<String> {
    let path = format!("{TEMPLATES}/{name}.in");
    let template = load(&path)?;
    let mut parts = BTreeMap::from([("parameters".to_owned(), parameters(interface)?)]);
    // The description of `open_async` refers to that of `open`.
    if template.contains("\n@arguments@\n") {
        parts.insert("arguments".to_owned(), arguments(interface)?);
    }
    let text = fill(&template, parts).map_err(|e| format!("{path}: {e}"))?;
    let from = format!("{path} and src/{{open_options,app_settings}}.rs");
    Ok(format!("# Written by tools/generate from {from}.\n{text}"))
}

/// The options that are not functions, whose parameters are written by hand.
fn options(interface: &Interface) -> impl Iterator<Item = &OpenOption> {
    interface.options.iter().filter(|option| !matches!(option.kind, OptionKind::Function(_)))
}

fn parameters(interface: &Interface) -> Result<String> {
    let each = options(interface).map(|OpenOption { name, kind, .. }| {
        let shown = match kind {
            OptionKind::File => "str | PathLike[str] | None = None",
            OptionKind::List => "Sequence[str] = ()",
            OptionKind::Time => "float | None = None",
            OptionKind::Switch => "bool = False",
            OptionKind::YesNo => "bool | None = None",
            OptionKind::Number | OptionKind::NumberOrZero => "int | None = None",
            OptionKind::Choice(of) => &choice(interface, of)?,
            OptionKind::Limits => "Mapping[str, int | Sequence[int] | Sequence[str]] | None = None",
            OptionKind::Texts => "Mapping[str, Mapping[str, str]] | None = None",
            OptionKind::Names => "Names | None = None",
            _ => "str | None = None",
        };
        Ok(format!("    {name}: {shown},\n"))
    });
    each.collect()
}

fn choice(interface: &Interface, name: &str) -> Result<String> {
    let found = interface.find_enum(name).ok_or_else(|| format!("no file declares {name}"))?;
    let names: Vec<String> =
        found.variants.iter().map(|variant| format!("\"{}\"", variant.name)).collect();
    Ok(format!("{name} | Literal[{}] | None = None", names.join(", ")))
}

fn arguments(interface: &Interface) -> Result<String> {
    let within = Within { class: "" };
    let translator = Translator::of_options(interface, &within);
    let each = options(interface).map(|OpenOption { name, kind, docs, scope: of }| {
        let docs = match kind {
            OptionKind::Limits => LIMITS,
            OptionKind::Texts => TEXTS,
            OptionKind::Time => &with_form(docs, "In seconds."),
            _ => docs,
        };
        let text = translator.translate(docs).map_err(|e| format!("{name}: {e}"))?;
        let text = WORDS.iter().fold(text, |text, (general, own)| text.replace(general, own));
        let scope = scope(of).replace('`', "``");
        let text = if scope.is_empty() { text } else { continued(&text) };
        Ok(wrapped(&format!("{scope}{text}"), &format!("        {name}: "), 12))
    });
    each.collect()
}
