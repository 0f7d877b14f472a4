//! Pages in mdoc from the declarations of options, for the programs of the project.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};

pub(crate) fn options(command: &Command) -> Vec<&Arg> {
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version";
    command.get_arguments().filter(shown).collect()
}

/// Returns `Fl -listen Ar ADDRESS`, or the name of a positional argument.
pub(crate) fn usage(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let value = match takes && !values.is_empty() {
        true => format!("Ar {}", values.join(" ")),
        false => String::new(),
    };
    match arg.get_long() {
        Some(long) => format!("Fl -{long} {value}").trim_end().to_owned(),
        None if matches!(arg.get_action(), ArgAction::Append) => format!("{value} ..."),
        None => value,
    }
}

/// Returns options as a list; an empty text without any.
pub(crate) fn list(options: &[&Arg]) -> String {
    match options.is_empty() {
        true => String::new(),
        false => format!(".Bl -tag -width Ds\n{}.El\n", entries(options)),
    }
}

/// Returns the entries of options in a list.
pub(crate) fn entries(options: &[&Arg]) -> String {
    let entry = |arg: &&Arg| {
        let (help, one_of) = (prose(&help(arg)), one_of(arg));
        format!(".It {}\n{help}{one_of}{}", usage(arg), default(arg))
    };
    options.iter().map(entry).collect()
}

pub(crate) fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// Returns the possible values, unless the help names them.
fn one_of(arg: &Arg) -> String {
    let (help, values) = (help(arg), arg.get_possible_values());
    let values: Vec<_> =
        values.iter().filter(|value| !value.is_hide_set()).map(PossibleValue::get_name).collect();
    match arg.get_action().takes_values() && values.iter().any(|value| !help.contains(value)) {
        true => prose(&format!("One of {}.", values.join(", "))),
        false => String::new(),
    }
}

/// Returns the default of an option that is not given.
pub(crate) fn default(arg: &Arg) -> String {
    let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    match arg.get_action().takes_values() && !defaults.is_empty() {
        true => format!("The default is\n.Ql {} .\n", defaults.join(" ")),
        false => String::new(),
    }
}

pub(crate) fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// Wraps a text, with each sentence on a new line, as mdoc requires.
pub(crate) fn prose(text: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > 76 {
            lines.push(std::mem::take(&mut line));
        }
        line += match line.is_empty() {
            // A line would begin with a macro otherwise.
            true if word.starts_with(['.', '\'']) => "\\&",
            true => "",
            false => " ",
        };
        line += &word.replace('\\', "\\e");
        if word.ends_with('.') {
            lines.push(std::mem::take(&mut line));
        }
    }
    lines.extend(Some(line).filter(|line| !line.is_empty()));
    // clap removes the full stop at the end of a help text; restore it.
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with(['.', ':'])) {
        last.push('.');
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
