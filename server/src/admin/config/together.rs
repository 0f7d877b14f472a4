//! Checks that the settings of a file fit together.

use super::options::option;
use super::problems::{Place, Problem};
use super::settings::Setting;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::ffi::OsString;
use std::net::SocketAddr;

/// The group of options. Every service has one of them.
const REACHED: &str = "listener";
/// The position of the error that a file lacks a setting.
const BEGIN: Place = (1, 1);

/// Returns the command with its demand that the service is reached somehow, or without it.
pub(super) fn reached(serve: Command, is_required: bool) -> Command {
    serve.mut_group(REACHED, |group| group.required(is_required))
}

/// Returns an error for each pair of settings that exclude each other.
pub(super) fn conflicts(settings: &[Setting], serve: &Command) -> Vec<Problem> {
    let excludes = |one: &Arg, other: &Arg| {
        serve.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    let mut given: Vec<(&Setting, &Arg)> = settings
        .iter()
        .filter(|setting| setting.is_given)
        .filter_map(|setting| Some((setting, option(serve, &setting.name)?)))
        .collect();
    given.sort_by_key(|(setting, _)| setting.place);
    let mut wrong = same_addresses(&given);
    for (place, (later, arg)) in given.iter().enumerate() {
        for (earlier, other) in given.iter().take(place) {
            if excludes(arg, other) || excludes(other, arg) {
                let reason = format!(
                    "{} cannot be used with {} of line {}",
                    later.key(),
                    earlier.key(),
                    earlier.place.0
                );
                wrong.push(Problem::at(later.place, reason));
            }
        }
    }
    wrong
}

/// Returns an error for each address that is listened on already.
fn same_addresses(given: &[(&Setting, &Arg)]) -> Vec<Problem> {
    let (mut wrong, mut taken) = (Vec::new(), Vec::<(SocketAddr, Place)>::new());
    let listening = given.iter().filter(|(it, _)| ["listen", "metrics"].contains(&&*it.name));
    for value in listening.flat_map(|(setting, _)| &setting.values) {
        let text = value.text.as_deref().unwrap_or_default();
        let Ok(address) = text.parse::<SocketAddr>() else { continue };
        let other = taken.iter().find(|(other, _)| is_same(*other, address));
        match other {
            Some((other, (line, _))) => {
                let reason = format!("{address} is in use by {other} of line {line}");
                wrong.push(Problem::at(value.place, reason));
            }
            None => taken.push((address, value.place)),
        }
    }
    wrong
}

/// Returns whether only one of two addresses can be listened on. Port 0 is a free one each time.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    let is_every = one.ip().is_unspecified() || other.ip().is_unspecified();
    let same_kind = one.is_ipv4() == other.is_ipv4();
    one.port() != 0
        && one.port() == other.port()
        && (one.ip() == other.ip() || is_every && same_kind)
}

/// Returns an error for each setting without another one that it requires, and for the settings that every file
/// requires, unless `beside` reports that they are given outside the file.
pub(super) fn lacks(
    settings: &[Setting],
    serve: &Command,
    beside: impl Fn(&str) -> bool,
) -> Vec<Problem> {
    let is_given = |name: &String| {
        settings.iter().any(|setting| setting.is_given && setting.name == *name) || beside(name)
    };
    let lacking = |names: &Vec<String>| !names.iter().any(is_given);
    let mut wrong = Vec::new();
    for names in required(serve.clone(), None).iter().filter(|names| lacking(names)) {
        let reason = format!("the file lacks how the service is reached, {}", one_of(names));
        wrong.push(Problem::at(BEGIN, reason));
    }
    let alone = reached(serve.clone(), false);
    for setting in settings.iter().filter(|setting| setting.is_given) {
        let required = required(alone.clone(), Some(setting));
        for names in required.iter().filter(|names| lacking(names)) {
            let reason = format!("{} requires {}", setting.key(), one_of(names));
            wrong.push(Problem::at(setting.place, reason));
        }
    }
    wrong
}

fn one_of(names: &[String]) -> String {
    let keys: Vec<String> = names.iter().map(|name| name.replace('-', "_")).collect();
    if keys.len() == 1 { keys.concat() } else { format!("one of {}", keys.join(", ")) }
}

/// Returns the options that a command lacks with this setting alone: of each list of options, one. Only its parser
/// knows.
fn required(mut serve: Command, setting: Option<&Setting>) -> Vec<Vec<String>> {
    let program = std::iter::once(OsString::from(serve.get_name()));
    let arguments = program.chain(setting.into_iter().flat_map(Setting::arguments));
    let Err(error) = serve.try_get_matches_from_mut(arguments) else { return Vec::new() };
    let lacking = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(lacking)) => lacking.clone(),
        Some(ContextValue::String(lacking)) => vec![lacking.clone()],
        _ => Vec::new(),
    };
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let names = |shown: &String| -> Vec<String> {
        let words = shown.split(|letter| !is_of_name(letter));
        let options = words.filter_map(|word| word.strip_prefix("--"));
        // A file cannot turn a service into a sandbox.
        options.filter(|name| *name != "sandbox").map(str::to_owned).collect()
    };
    match error.kind() {
        ErrorKind::MissingRequiredArgument => lacking.iter().map(names).collect(),
        _ => Vec::new(),
    }
}
