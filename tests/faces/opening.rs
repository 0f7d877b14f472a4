//! The parameters of `open` and `open_async` in Python, which are written from the settings of an application.

use super::{read, root};
use seconder::engine::{APP_SETTINGS, AppSetting, SettingKind};
use std::fs;

const OPEN: &str = "bindings/python/seconder/opening.py";
const OPEN_ASYNC: &str = "bindings/python/seconder/aio.py";
/// The longest line of the documents.
const WIDTH: usize = 100;

#[test]
fn the_parameters_of_open_are_up_to_date() {
    for (file, text) in written() {
        assert!(
            read(file) == text,
            "{file}:1: is not up to date. Regenerate it with \
             `cargo test --test faces -- --ignored write_open`"
        );
    }
}

#[test]
#[ignore = "writes modules of Python"]
fn write_open() {
    for (file, text) in written() {
        let path = root().join(file);
        fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

/// The modules as they should be. `open_async` has the parameters of `open`, and one of its own.
fn written() -> [(&'static str, String); 2] {
    let open = between(&read(OPEN), ["    application_name:", "    push_hosts:"], |old| {
        in_order(old).into_iter().map(parameter).collect()
    });
    let open = between(&open, ["        application_name:", "        push_hosts:"], |old| {
        in_order(old).into_iter().map(|setting| document(setting, old)).collect()
    });
    let mut parameters = String::new();
    between(&open, ["    api_key:", ") -> Service:"], |own| {
        parameters = own.to_owned();
        String::new()
    });
    let of_async = ["    api_key:", "    threads:"];
    let open_async = between(&read(OPEN_ASYNC), of_async, |_| parameters);
    [(OPEN, open), (OPEN_ASYNC, open_async)]
}

/// The settings in the order that the module has, in which a new one is last.
fn in_order(old: &str) -> Vec<&'static AppSetting> {
    let place = |setting: &&AppSetting| old.find(&format!("    {}: ", setting.name));
    let mut settings: Vec<_> = APP_SETTINGS.iter().collect();
    settings.sort_by_key(|setting| place(setting).unwrap_or(usize::MAX));
    settings
}

/// Replaces the lines from the one that begins like this up to the one that begins like that.
fn between(text: &str, [from, to]: [&str; 2], new: impl FnOnce(&str) -> String) -> String {
    let begin = text.find(&format!("\n{from}")).unwrap_or_else(|| panic!("no {from}")) + 1;
    let end = text[begin..].find(&format!("\n{to}")).unwrap_or_else(|| panic!("no {to}"));
    let end = begin + end + 1;
    format!("{}{}{}", &text[..begin], new(&text[begin..end]), &text[end..])
}

fn parameter(setting: &AppSetting) -> String {
    let AppSetting { name, type_name, .. } = setting;
    let kind = match setting.kind {
        SettingKind::File => "str | PathLike[str]",
        SettingKind::YesNo => "bool",
        SettingKind::Number(..) => "int",
        SettingKind::Choice(names) => &format!("{type_name} | Literal[{}]", quoted(names)),
        SettingKind::Limits => "Mapping[str, int | Sequence[int] | Sequence[str]]",
        SettingKind::Texts => "Mapping[str, Mapping[str, str]]",
        _ => "str",
    };
    format!("    {name}: {kind} | None = None,\n")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The description of a parameter. Limits and texts are mappings in Python, so they keep the one that they have.
fn document(setting: &AppSetting, old: &str) -> String {
    let begin = format!("        {}:", setting.name);
    if matches!(setting.kind, SettingKind::Limits | SettingKind::Texts) {
        let is_next = |line: &&str| !line.starts_with("         ") && !line.starts_with(&begin);
        let lines = old.split_inclusive('\n').skip_while(|line| !line.starts_with(&begin));
        return lines.take_while(|line| !is_next(line)).collect();
    }
    let text = setting.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let text = [
        ("`", "``"),
        ("interface ", "section "),
        (": yes or no.", "."),
        ("; yes in", "; ``True`` in"),
        ("; no in", "; ``False`` in"),
        ("An empty text", "An empty string"),
        ("An empty path", "An empty string"),
        ("A function of the program that posts callbacks", "A ``post`` function"),
    ]
    .into_iter()
    .fold(text, |text, (general, python)| text.replace(general, python));
    let (mut lines, mut line) = (String::new(), begin);
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            lines += &format!("{line}\n");
            line = " ".repeat(11);
        }
        line += " ";
        line += word;
    }
    format!("{lines}{line}\n")
}
