//! The man pages of the program and of its configuration match `--help`: all are generated from the same
//! declarations.

mod mdoc;

use crate::admin::config::options as config;
use crate::admin::input::COMMON;
use crate::admin::output::exit::Exit;
use clap::{Arg, Command, CommandFactory};
use mdoc::{about, options, prose, usage};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../man").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

/// The marks around the exit statuses in docs/administration.md.
const STATUSES: (&str, &str) = ("<!-- exit statuses -->", "<!-- end of exit statuses -->");
const EXITS: [Exit; 3] = [Exit::Done, Exit::Failed, Exit::Misused];
const PAGES: [&str; 2] = ["seconder.8", "seconder.conf.5"];

#[test]
fn the_pages_match_the_help() {
    for name in PAGES {
        let matches = page(name) == read(name);
        assert!(matches, "man/{name}:1: does not match --help: run `make man`");
    }
}

#[test]
fn the_documents_have_the_exit_statuses() {
    let (file, marks) = (path("../docs/administration.md"), STATUSES);
    let text = fs::read_to_string(&file).unwrap();
    let between = text.split_once(marks.0).and_then(|(_, rest)| rest.split_once(marks.1));
    let table: String =
        EXITS.map(|exit| format!("| {} | {} |\n", exit as u8, exit.meaning())).concat();
    let table = format!("\n| status | meaning |\n|---|---|\n{table}");
    assert_eq!(between.map(|(between, _)| between), Some(&*table), "{}", file.display());
}

#[test]
#[ignore = "writes man/seconder.8 and man/seconder.conf.5"]
fn write_program_pages() {
    for name in PAGES {
        fs::write(path(name), page(name)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// `--help` lists the commands, one in each line, and shows the rest of a text for the command alone.
#[test]
fn every_command_has_a_summary_of_one_line() {
    fn check(command: &Command, words: &str) {
        for inner in command.get_subcommands() {
            let words = format!("{words} {}", inner.get_name());
            let summary = inner.get_about().map(ToString::to_string).unwrap_or_default();
            assert!((1..=72).contains(&summary.chars().count()), "{words}: {summary:?}");
            assert!(!summary.contains('\n') && !summary.ends_with('.'), "{words}: {summary:?}");
            check(inner, &words);
        }
    }
    let mut program = crate::Program::command();
    program.build();
    check(&program, "seconder");
}

/// Counts the commands without `help`: those that do something, and not the groups that list them.
#[test]
fn there_are_at_most_90_commands() {
    let count = commands().len();
    assert!((60..=90).contains(&count), "{count}");
}

fn page(name: &str) -> String {
    let mut text = format!(".\\\" Written from the program and man/{name}.in by `make man`.\n");
    for line in read(&format!("{name}.in")).lines() {
        match line {
            "@settings" => text += &settings(),
            "@synopsis" => text += &synopsis(),
            "@commands" => text += &commands().iter().map(described).collect::<String>(),
            "@common" => text += &mdoc::entries(&common().iter().collect::<Vec<_>>()),
            "@exit" => text += &statuses(),
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
    let mut program = crate::Program::command();
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

/// Returns the settings of the configuration file, each with the text of its option.
fn settings() -> String {
    let serve = config::serve();
    let described = |arg| {
        let (key, help) = (config::key(arg), prose(&mdoc::help(arg)));
        format!(".It Ic {key}\n{help}{}", mdoc::default(arg))
    };
    config::options(&serve).map(described).collect()
}

/// Returns the options of the heading that most commands have, each as the first command has it.
fn common() -> &'static [Arg] {
    static ALL: OnceLock<Vec<Arg>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: Vec<Arg> = Vec::new();
        for (_, command) in commands() {
            for arg in options(&command) {
                let is_known = all.iter().any(|known| known.get_long() == arg.get_long());
                if arg.get_help_heading() == Some(COMMON) && !is_known {
                    all.push(arg.clone());
                }
            }
        }
        all
    })
}

/// Returns whether an option is described among the common ones, and not with its command.
fn is_common(arg: &Arg) -> bool {
    let text = |arg: &Arg| mdoc::entries(&[arg]);
    common().iter().any(|known| known.get_long() == arg.get_long() && text(known) == text(arg))
}

fn synopsis() -> String {
    let mut text = ".Sh SYNOPSIS\n".to_owned();
    for (words, command) in commands() {
        text += &format!(".Nm\n.Cm {}\n", words.join(" "));
        let (common, own): (Vec<_>, Vec<_>) =
            options(&command).into_iter().partition(|arg| is_common(arg));
        for arg in own {
            let way = if arg.is_required_set() { "." } else { ".Op " };
            text += &format!("{way}{}\n", usage(arg));
        }
        if !common.is_empty() {
            text += ".Op Ar common options\n";
        }
    }
    text + ".Nm\n.Fl -help | -version\n"
}

/// Returns the exit statuses.
fn statuses() -> String {
    let row = |exit: &Exit| format!(".It {}\n{}", *exit as u8, prose(exit.meaning()));
    let rows = EXITS.iter().map(row).collect::<String>();
    format!(".Bl -tag -width Ds\n{rows}.El\n")
}

fn described((words, command): &(Vec<String>, Command)) -> String {
    let own = options(command).into_iter().filter(|arg| !is_common(arg));
    let own = mdoc::list(&own.collect::<Vec<_>>());
    format!(".Ss {}\n{}{own}", words.join(" "), prose(&about(command)))
}
