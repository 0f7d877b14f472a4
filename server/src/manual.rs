//! The man pages of the program and of its configuration match `--help`: all are generated from the same
//! declarations.

mod mdoc;

use clap::{Command, CommandFactory};
use mdoc::{about, list, options, prose, usage};
use std::fs;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../man").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

const PAGES: [&str; 2] = ["seconder.8", "seconder.conf.5"];

#[test]
fn the_pages_match_the_help() {
    for name in PAGES {
        let matches = page(name) == read(name);
        assert!(matches, "man/{name}:1: does not match --help: run `make man`");
    }
}

#[test]
#[ignore = "writes man/seconder.8 and man/seconder.conf.5"]
fn write_program_pages() {
    for name in PAGES {
        fs::write(path(name), page(name)).unwrap_or_else(|e| panic!("{e}"));
    }
}

fn page(name: &str) -> String {
    let mut text = format!(".\\\" Written from the program and man/{name}.in by `make man`.\n");
    for line in read(&format!("{name}.in")).lines() {
        match line {
            "@settings" => text += &settings(),
            "@synopsis" => text += &synopsis(),
            "@commands" => text += &commands().iter().map(described).collect::<String>(),
            ".Dd @DATE@" => text += &format!(".Dd {}\n", date()),
            _ => text += &format!("{line}\n"),
        }
    }
    text
}

/// Returns the date of the other pages.
fn date() -> String {
    let other = read("seconder.3");
    other.lines().find_map(|line| line.strip_prefix(".Dd ")).unwrap_or_default().into()
}

/// Returns all commands, each with the words that invoke it.
fn commands() -> Vec<(Vec<String>, Command)> {
    let mut program = super::Program::command();
    program.build();
    let mut found = Vec::new();
    collect(&program, &[], &mut found);
    found
}

fn collect(command: &Command, words: &[String], found: &mut Vec<(Vec<String>, Command)>) {
    // One page for all calls, whose parameters are the parameters of the interface.
    if words == ["call"] {
        let mut any = super::call::any();
        any.build();
        found.push((vec!["call".to_owned(), "NAME".to_owned()], any));
        return;
    }
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

/// Returns the settings of the configuration file, each with the text of its option.
fn settings() -> String {
    let serve = crate::config::serve();
    let described = |arg| {
        let (key, help) = (crate::config::key(arg), prose(&mdoc::help(arg)));
        format!(".It Ic {key}\n{help}{}", mdoc::default(arg))
    };
    crate::config::options(&serve).map(described).collect()
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

fn described((words, command): &(Vec<String>, Command)) -> String {
    format!(".Ss {}\n{}{}", words.join(" "), prose(&about(command)), list(command))
}
