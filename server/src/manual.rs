//! The man page of the program matches `--help`: both are generated from the same declarations.

use clap::{Arg, ArgAction, Command, CommandFactory};
use std::fs;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../man").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

#[test]
fn the_page_matches_the_help() {
    assert!(
        page() == read("seconder.8"),
        "man/seconder.8:1: does not match --help: run `make man`"
    );
}

#[test]
#[ignore = "writes man/seconder.8"]
fn write_program_page() {
    fs::write(path("seconder.8"), page()).unwrap_or_else(|e| panic!("{e}"));
}

fn page() -> String {
    let mut text =
        ".\\\" Written from the program and man/seconder.8.in by `make man`.\n".to_owned();
    for line in read("seconder.8.in").lines() {
        match line {
            "@synopsis" => text += &synopsis(),
            "@commands" => text += &commands().iter().map(described).collect::<String>(),
            ".Dd @DATE@" => text += &format!(".Dd {}\n", date()),
            _ => text += &format!("{line}\n"),
        }
    }
    text
}

/// The date of the other pages.
fn date() -> String {
    let other = read("seconder.3");
    other.lines().find_map(|line| line.strip_prefix(".Dd ")).unwrap_or_default().into()
}

/// All commands, each with the words that invoke it.
fn commands() -> Vec<(Vec<String>, Command)> {
    let mut program = super::Program::command();
    program.build();
    let mut found = Vec::new();
    collect(&program, &[], &mut found);
    found
}

fn collect(command: &Command, words: &[String], found: &mut Vec<(Vec<String>, Command)>) {
    let inner: Vec<&Command> =
        command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    if inner.is_empty() {
        found.push((words.to_vec(), command.clone()));
    }
    for command in inner {
        let words = [words, &[command.get_name().to_owned()]].concat();
        collect(command, &words, found);
    }
}

fn options(command: &Command) -> Vec<&Arg> {
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version";
    command.get_arguments().filter(shown).collect()
}

fn synopsis() -> String {
    let mut text = ".Sh SYNOPSIS\n".to_owned();
    for (words, command) in commands() {
        text += &format!(".Nm\n.Cm {}\n", words.join(" "));
        for arg in options(&command) {
            let way = if arg.is_required_set() { "." } else { ".Op " };
            text += &format!("{way}{}\n", usage(arg));
        }
    }
    text + ".Nm\n.Fl -help | -version\n"
}

/// `Fl -listen Ar ADDRESS`, or the name of a positional argument.
fn usage(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let value = match takes && !values.is_empty() {
        true => format!("Ar {}", values.join(" ")),
        false => String::new(),
    };
    match arg.get_long() {
        Some(long) => format!("Fl -{long} {value}").trim_end().to_owned(),
        None => value,
    }
}

fn described((words, command): &(Vec<String>, Command)) -> String {
    let mut text = format!(".Ss {}\n{}", words.join(" "), prose(&about(command)));
    let options = options(command);
    if options.is_empty() {
        return text;
    }
    text += ".Bl -tag -width Ds\n";
    for arg in options {
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
        text += &format!(".It {}\n{}", usage(arg), prose(&help.unwrap_or_default()));
        let defaults: Vec<_> =
            arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
        if arg.get_action().takes_values() && !defaults.is_empty() {
            text += &format!("The default is\n.Ql {} .\n", defaults.join(" "));
        }
    }
    text + ".El\n"
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// Wraps a text, with each sentence on a new line, as mdoc requires.
fn prose(text: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > 76 {
            lines.push(std::mem::take(&mut line));
        }
        line += if line.is_empty() { "" } else { " " };
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
