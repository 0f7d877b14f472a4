//! The lines of a configuration and the arguments of a module, before their values are read.

use super::Problem;
use super::keys::{Key, key, nearest};
use crate::clean::clean;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Maximum length of a line, in bytes.
const LONGEST_LINE: usize = 1024;
/// The most problems that are reported of one file: a file that is no configuration has thousands.
const MOST_PROBLEMS: usize = 50;

/// The position at which an entry was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// The line, from 1; 0 for arguments and whole files.
    pub(crate) line: usize,
}

impl Place {
    /// Returns the place of the arguments of the module or program.
    pub(crate) fn arguments() -> Place {
        Place { file: "arguments".into(), line: 0 }
    }

    /// Returns the place of a file as a whole.
    pub(crate) fn file(path: &Path) -> Place {
        Place { file: clean(&path.display().to_string()), line: 0 }
    }

    /// Returns a problem at this place.
    pub(crate) fn problem(&self, text: impl Into<String>) -> Problem {
        Problem { file: self.file.clone(), line: self.line, text: text.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A key that was given.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: &'static Key,
    pub(super) value: String,
    pub(super) place: Place,
}

/// The keys that were given, by their names.
pub(super) type Entries = BTreeMap<&'static str, Entry>;

/// Reads the lines `left = right` of a file; all others but comments are problems.
pub(crate) fn lines<'a>(
    text: &'a str,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Vec<(&'a str, &'a str, Place)> {
    let mut found = Vec::new();
    let most = problems.len() + MOST_PROBLEMS;
    for (line, number) in text.lines().zip(1..) {
        if problems.len() >= most {
            break;
        }
        let place = Place { line: number, ..Place::file(path) };
        let line = line.trim();
        if line.len() > LONGEST_LINE {
            problems.push(place.problem(format!("has more than {LONGEST_LINE} bytes")));
        } else if line.chars().any(|c| c.is_control() && c != '\t') {
            problems.push(place.problem("has a control character"));
        } else if line.is_empty() || line.starts_with('#') {
        } else if let Some((left, right)) = line.split_once('=') {
            found.push((left.trim(), right.trim(), place));
        } else {
            problems.push(place.problem("must be `key = value`, or begin with # as a comment"));
        }
    }
    found
}

/// Reads the keys of a configuration's text.
pub(super) fn of_text(text: &str, path: &Path, problems: &mut Vec<Problem>) -> Entries {
    let mut entries = Entries::new();
    for (name, value, place) in lines(text, path, problems) {
        add(&mut entries, name, value, place, problems);
    }
    entries
}

/// Reads the keys of arguments, and the file that `conf=` names.
pub(super) fn of_arguments(
    arguments: &[&str],
    problems: &mut Vec<Problem>,
) -> (Option<PathBuf>, Entries) {
    let (mut file, mut entries) = (None, Entries::new());
    for argument in arguments {
        let place = Place::arguments();
        let (name, value) = match *argument {
            "try_first_pass" => ("first_pass", "try"),
            "use_first_pass" => ("first_pass", "use"),
            argument => match argument.split_once('=') {
                Some((name, value)) => (name, value),
                None => {
                    let text = format!(
                        "{} must be key=value, try_first_pass or use_first_pass",
                        clean(argument)
                    );
                    problems.push(place.problem(text));
                    continue;
                }
            },
        };
        if argument.len() > LONGEST_LINE || argument.chars().any(char::is_control) {
            let text = format!("{} is too long, or has a control character", clean(name));
            problems.push(place.problem(text));
        } else if name != "conf" {
            add(&mut entries, name, value, place, problems);
        } else if file.replace(PathBuf::from(value)).is_some() {
            problems.push(place.problem("conf is given twice"));
        }
    }
    (file, entries)
}

fn add(entries: &mut Entries, name: &str, value: &str, place: Place, problems: &mut Vec<Problem>) {
    let Some(key) = key(name) else {
        let hint = nearest(name).map(|key| format!(": is it {key}?"));
        let hint = hint.unwrap_or_else(|| ": see seconder-pam.conf(5)".into());
        return problems.push(place.problem(format!("there is no key {}{hint}", clean(name))));
    };
    if let Some(first) = entries.get(key.name) {
        let text = format!("{} is given already, in {}", key.name, first.place);
        return problems.push(place.problem(text));
    }
    if value.is_empty() {
        return problems.push(place.problem(format!("{} must be {}", key.name, key.values)));
    }
    entries.insert(key.name, Entry { key, value: value.to_owned(), place });
}
