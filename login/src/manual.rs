//! The pages of the program and of its configuration match `--help` and the list of keys, from which
//! they are generated.

#[path = "../../server/src/admin/manual/mdoc.rs"]
mod mdoc;

use clap::CommandFactory;
use mdoc::{about, list, options, prose, usage};
use seconder_login::EXIT_STATUSES;
use seconder_login::config::{KEYS, Key};
use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 2] = ["seconder-login.8", "seconder-pam.conf.5"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../man").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

#[test]
fn the_pages_match_the_program() {
    for name in PAGES {
        let matches = page(name) == read(name);
        assert!(matches, "man/{name}:1: does not match the program: run `make man`");
    }
}

#[test]
#[ignore = "writes man/seconder-login.8 and man/seconder-pam.conf.5"]
fn write_login_pages() {
    for name in PAGES {
        fs::write(path(name), page(name)).unwrap_or_else(|e| panic!("{e}"));
    }
}

fn page(name: &str) -> String {
    let mut text = format!(".\\\" Written from the program and man/{name}.in by `make man`.\n");
    for line in read(&format!("{name}.in")).lines() {
        match line {
            "@synopsis" => text += &synopsis(),
            "@about" => text += &prose(&about(&command())),
            "@options" => text += &list(&options(&command())),
            "@statuses" => text += &statuses(),
            "@keys" => text += &KEYS.iter().map(described).collect::<String>(),
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

fn command() -> clap::Command {
    let mut program = super::Program::command();
    program.build();
    program
}

fn synopsis() -> String {
    let command = command();
    let lines = options(&command).into_iter().map(|arg| match arg.is_required_set() {
        true => format!(".{}\n", usage(arg)),
        false => format!(".Op {}\n", usage(arg)),
    });
    format!(".Sh SYNOPSIS\n.Nm\n{}", lines.collect::<String>())
}

fn statuses() -> String {
    let rows = EXIT_STATUSES.iter().map(|(status, text)| format!(".It {status}\n{}", prose(text)));
    format!(".Bl -tag -width Ds\n{}.El\n", rows.collect::<String>())
}

fn described(key: &Key) -> String {
    let mut text = format!(".It Ic {}\n{}", key.name, prose(key.text));
    text += &prose(&format!("Its value: {}.", key.values));
    if !key.default.is_empty() {
        text += &format!("The default is\n.Ql {}\\& .\n", key.default);
    }
    match key.needs.text() {
        "" => text,
        needs => text + &prose(&format!("It is for {needs}, and an error otherwise.")),
    }
}
