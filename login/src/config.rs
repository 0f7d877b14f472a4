//! The configuration: seconder-pam.conf(5).

mod entries;
mod keys;
mod open;
mod values;

pub use keys::{KEYS, Key, Needs};

pub(crate) use entries::{Place, lines};

use crate::Backend;
use crate::networks::Network;
use crate::trusted_file::{self, Readers};
use entries::{Entries, of_arguments, of_text};
use seconder::model::Secret;
use seconder::wire::Names;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use values::Values;

/// The configuration that is read unless another is named.
pub const DEFAULT_FILE: &str = "/etc/seconder/pam.conf";

/// A configuration that was read and is valid.
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {
    pub(crate) url: String,
    pub(crate) service_user: Option<u32>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) pins: Vec<String>,
    pub(crate) proxy: Option<Secret>,
    pub(crate) name_servers: Vec<String>,
    pub(crate) names: Option<Names>,
    pub(crate) timeout: Duration,
    pub(crate) approval_timeout: Duration,
    pub(crate) tries: u32,
    pub(crate) method: Method,
    pub(crate) offer: Offer,
    pub(crate) users: Users,
    pub(crate) command_timeout: Duration,
    pub(crate) ignore_unenrolled: bool,
    pub(crate) ignore_trouble: bool,
    pub(crate) only: Vec<Who>,
    pub(crate) except: Vec<Who>,
    pub(crate) trusted_networks: Vec<Network>,
    pub(crate) first_pass: FirstPass,
    pub(crate) approval_message: String,
    /// The digits of the number of approval requests; `None` for the limit of the application.
    pub(crate) number_digits: Option<u64>,
    /// Logins while the service cannot be reached; `None` if they are not allowed.
    pub offline: Option<Offline>,
    effective: Vec<(&'static str, String, String)>,
}

/// An error in a configuration, and the values that would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, or `arguments`.
    pub file: String,
    /// The line, from 1; 0 for arguments.
    pub line: usize,
    /// The error, and the values that would be accepted.
    pub text: String,
}

/// The second factor that is used at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Ask,
    Code,
    Sms,
    Call,
    Push,
}

/// The second factors that the user may choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) push: bool,
    pub(crate) sms: bool,
    pub(crate) call: bool,
}

/// The source of the service's user for a login name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    File(PathBuf),
    Directory,
    Command(PathBuf),
}

/// A user, or the members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    User(String),
    Group(String),
}

/// The use of the text that was typed for an earlier module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstPass {
    No,
    Try,
    Use,
    /// The password, and then a code of this many digits.
    WithCode(usize),
}

/// Settings of logins while the service cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offline {
    /// The folder of the files that it needs.
    pub cache: PathBuf,
    /// The number of days after the last login for which the service prepared codes.
    pub days: u32,
    /// The number of logins since the last code that the service accepted.
    pub logins: u32,
}

/// The sources of a configuration.
#[derive(Clone, Copy, Default)]
pub struct Sources<'a> {
    /// The file, unless an argument `conf=FILE` names another one. `None`: the arguments are everything.
    pub file: Option<&'a Path>,
    /// Arguments such as `tries=2`, which override the file.
    pub arguments: &'a [&'a str],
    /// Set if the program has opened the service itself. Then the keys that say how to are errors.
    pub opened: Option<Opened<'a>>,
}

/// A service that the program has opened.
#[derive(Clone, Copy)]
pub struct Opened<'a> {
    /// Makes the calls of logins.
    pub backend: &'a dyn Backend,
    /// The URL of a remote service, to which the cache of offline logins belongs; `None` for an engine in this
    /// process, which is always reached.
    pub remote_url: Option<&'a str>,
}

impl<'a> Sources<'a> {
    /// Returns a file and the arguments that override it.
    pub fn new(file: &'a Path, arguments: &'a [&'a str]) -> Sources<'a> {
        Sources { file: Some(file), arguments, opened: None }
    }
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// All errors.
    pub fn read(sources: &Sources<'_>) -> Result<Config, Vec<Problem>> {
        let mut problems = Vec::new();
        let (named, overriding) = of_arguments(sources.arguments, &mut problems);
        let mut entries = match named.as_deref().or(sources.file) {
            Some(file) => of_file(file, &mut problems),
            None => Entries::new(),
        };
        entries.extend(overriding);
        Config::of(entries, sources.opened, problems)
    }

    /// Parses the configuration that a text describes, as if it were in this file.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn parse(text: &str, file: &Path, arguments: &[&str]) -> Result<Config, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut entries = of_text(text, file, &mut problems);
        let (_, overriding) = of_arguments(arguments, &mut problems);
        entries.extend(overriding);
        Config::of(entries, None, problems)
    }

    fn of(
        entries: Entries,
        opened: Option<Opened<'_>>,
        mut problems: Vec<Problem>,
    ) -> Result<Config, Vec<Problem>> {
        let config = Values::new(entries, opened, &mut problems).config();
        match problems.is_empty() {
            true => Ok(config),
            false => Err(problems),
        }
    }

    /// Returns every key that is in effect, with its value and the place where it was set: for the operator. A secret
    /// is not shown.
    pub fn effective(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.effective.iter().map(|(key, value, place)| (*key, value.as_str(), place.as_str()))
    }
}

/// Returns the number of errors, in words.
pub fn count(problems: &[Problem]) -> String {
    match problems.len() {
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    }
}

fn of_file(file: &Path, problems: &mut Vec<Problem>) -> Entries {
    match trusted_file::read(file, Readers::All) {
        Ok(text) => {
            let entries = of_text(text.expose(), file, problems);
            check_proxy(file, &entries, problems);
            entries
        }
        Err(reason) => {
            problems.push(Place::file(file).problem(reason));
            Entries::new()
        }
    }
}

/// Checks the file of a proxy's URL, which may have a password that other users must not read.
fn check_proxy(file: &Path, entries: &Entries, problems: &mut Vec<Problem>) {
    let Some(entry) = entries.get("proxy").filter(|entry| entry.value.contains('@')) else {
        return;
    };
    if let Err(reason) = trusted_file::read(file, Readers::Few) {
        problems.push(entry.place.problem(format!("the file {reason}")));
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.text),
            line => write!(f, "{}:{line}: {}", self.file, self.text),
        }
    }
}
