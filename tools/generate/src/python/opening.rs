//! The parameters of `open` and `open_async`, and the objects with their further options.

use super::docs::Within;
use super::layout::{bracketed, wrapped};
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
    let mut parts = BTreeMap::new();
    // The description of `open_async` refers to that of `open`.
    for (part, text) in [
        ("parameters", parameters(interface)?),
        ("arguments", arguments(interface, Group::Direct)?),
        ("client", fields(interface, Group::Client)?),
        ("client_arguments", arguments(interface, Group::Client)?),
        ("engine", fields(interface, Group::Engine)?),
        ("engine_arguments", arguments(interface, Group::Engine)?),
    ] {
        if template.contains(&format!("\n@{part}@\n")) {
            parts.insert(part.to_owned(), text);
        }
    }
    let text = fill(&template, parts).map_err(|e| format!("{path}: {e}"))?;
    let from = format!("{path} and src/{{open_options,app_settings}}.rs");
    Ok(format!("# Written by tools/generate from {from}.\n{text}"))
}

/// The place of an option.
#[derive(PartialEq)]
enum Group {
    /// A parameter of `open`.
    Direct,
    /// A field of `ClientOptions`.
    Client,
    /// A field of `EngineOptions`.
    Engine,
}

/// The options of a group. Functions are parameters that are written by hand.
fn options(interface: &Interface, group: Group) -> impl Iterator<Item = &OpenOption> {
    let group_of = |option: &OpenOption| match option.name.as_str() {
        "api_key" | "timeout" | "names" => Group::Direct,
        _ if matches!(option.scope.as_str(), "Engine" | "Database") => Group::Engine,
        _ => Group::Client,
    };
    let plain = |option: &&OpenOption| !matches!(option.kind, OptionKind::Function(_));
    interface.options.iter().filter(plain).filter(move |option| group_of(option) == group)
}

fn parameters(interface: &Interface) -> Result<String> {
    let each = options(interface, Group::Direct).map(|option| {
        let (kind, default) = annotation(interface, option)?;
        Ok(format!("    {}: {kind} = {default},\n", option.name))
    });
    each.collect()
}

/// The fields of a class of options.
fn fields(interface: &Interface, group: Group) -> Result<String> {
    let mut text = String::new();
    for option in options(interface, group) {
        let (kind, default) = annotation(interface, option)?;
        let mut of = vec![format!("default={default}")];
        if option.is_secret {
            of.push("secret=True".to_owned());
        }
        // Neither a list nor a mapping has a hash.
        if matches!(option.kind, OptionKind::List | OptionKind::Limits | OptionKind::Texts) {
            of.push("hash=False".to_owned());
        }
        of.push("kw_only=True".to_owned());
        text += &bracketed(4, &format!("{}: {kind} = field(", option.name), &of, "");
    }
    Ok(text)
}

/// The type of an option and its default.
fn annotation(interface: &Interface, option: &OpenOption) -> Result<(String, &'static str)> {
    let kind = match &option.kind {
        OptionKind::List => return Ok(("Sequence[str]".to_owned(), "()")),
        OptionKind::Switch => return Ok(("bool".to_owned(), "False")),
        OptionKind::Choice(of) => choice(interface, of)?,
        OptionKind::File => "str | PathLike[str]".to_owned(),
        OptionKind::Time => "float".to_owned(),
        OptionKind::YesNo => "bool".to_owned(),
        OptionKind::Number | OptionKind::NumberOrZero => "int".to_owned(),
        OptionKind::Limits => "Mapping[str, int | Sequence[int] | Sequence[str]]".to_owned(),
        OptionKind::Texts => "Mapping[str, Mapping[str, str]]".to_owned(),
        OptionKind::Names => "Names".to_owned(),
        _ => "str".to_owned(),
    };
    Ok((kind + " | None", "None"))
}

fn choice(interface: &Interface, name: &str) -> Result<String> {
    let found = interface.find_enum(name).ok_or_else(|| format!("no file declares {name}"))?;
    let names: Vec<String> =
        found.variants.iter().map(|variant| format!("\"{}\"", variant.name)).collect();
    Ok(format!("{name} | typing.Literal[{}]", names.join(", ")))
}

/// The description of each option of a group, as an argument.
fn arguments(interface: &Interface, group: Group) -> Result<String> {
    let each = options(interface, group).map(|option| {
        let text = description(interface, option)?;
        Ok(wrapped(&text, &format!("        {}: ", option.name), 12))
    });
    each.collect()
}

/// The sentences of an option, after the services that it is for.
fn description(interface: &Interface, option: &OpenOption) -> Result<String> {
    let within = Within { interface, class: "" };
    let translator = Translator::of_options(interface, &within);
    let docs = match option.kind {
        OptionKind::Limits => LIMITS,
        OptionKind::Texts => TEXTS,
        OptionKind::Time => &with_form(&option.docs, "In seconds."),
        _ => &option.docs,
    };
    let text = translator.translate(docs).map_err(|e| format!("{}: {e}", option.name))?;
    let text = WORDS.iter().fold(text, |text, (general, own)| text.replace(general, own));
    // The classes of options say that they are for a client, or for an engine.
    let scope = match option.scope.as_str() {
        "Client" | "Engine" if option.name != "timeout" => String::new(),
        of => scope(of).replace('`', "``"),
    };
    Ok(format!("{scope}{}", if scope.is_empty() { text } else { continued(&text) }))
}
