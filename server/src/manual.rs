//! The man page of the program matches `--help`: both are generated from the same declarations.

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
