//! A configuration file that is to be written.

use super::options::{key, options, serve};
use super::settings;
use crate::invalid;
use clap::{Arg, Command};
use seconder::Result;
use std::path::absolute;

/// The settings of a file, and their explanations.
pub(crate) struct Draft {
    serve: Command,
    /// The names of the settings that are given, with the values as TOML.
    given: Vec<(String, Vec<String>)>,
}

impl Draft {
    pub(crate) fn new() -> Draft {
        Draft { serve: serve(), given: Vec::new() }
    }

    /// Returns the values of a setting, as TOML.
    pub(crate) fn values(&self, name: &str) -> &[String] {
        let given = self.given.iter().find(|(given, _)| given == name);
        given.map_or(&[], |(_, values)| values)
    }

    /// Adds a setting, or a further value of one that takes a list, of the form `NAME=VALUE`.
    ///
    /// # Errors
    /// [`seconder::Error::InvalidArgument`] for a setting that does not exist, or does not accept the value.
    pub(crate) fn add(&mut self, setting: &str) -> Result<()> {
        // A text that is no name could be read as more than one line.
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let pair = setting.split_once('=').filter(|(name, _)| is_name(name));
        let Some((name, value)) = pair else {
            let reason = format!("{setting:?} is not SETTING=VALUE, such as self_signed=true");
            return Err(invalid("setting", reason));
        };
        let value = self.absolute(name, value);
        // TOML has the escapes of JSON.
        let quoted = serde_json::Value::from(&*value).to_string();
        let bare = ["true", "false"].contains(&&*value).then_some(value);
        let mut wrong = String::new();
        for value in std::iter::once(quoted).chain(bare) {
            let values: Vec<String> = self.values(name).iter().cloned().chain([value]).collect();
            match self.check(&line(name, &values)) {
                Ok(()) => {
                    self.given.retain(|(given, _)| given != name);
                    self.given.push((name.to_owned(), values));
                    return Ok(());
                }
                Err(problems) => wrong = problems,
            }
        }
        Err(invalid("setting", wrong))
    }

    /// Returns a value that names a file in a form that has the same meaning in every folder.
    fn absolute(&self, name: &str, value: &str) -> String {
        let is_file = |arg: &Arg| {
            let names = arg.get_value_names().unwrap_or_default();
            key(arg) == name && names.iter().any(|name| ["FILE", "PATH"].contains(&name.as_str()))
        };
        let (scheme, path) = match value.strip_prefix("sqlite:").filter(|_| name == "database") {
            Some(path) => ("sqlite:", path),
            None if options(&self.serve).any(is_file) => ("", value),
            None => return value.to_owned(),
        };
        // Empty, or not in UTF-8: it is reported where it is read.
        let path = absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        path.map_or_else(|| value.to_owned(), |path| format!("{scheme}{path}"))
    }

    /// Checks the lines of a setting.
    fn check(&self, text: &str) -> std::result::Result<(), String> {
        let (_, problems, _) = settings::read(text, &self.serve);
        let wrong: Vec<String> = problems.into_iter().map(|problem| problem.wrong).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Returns the text of the file: every setting, explained, and commented out unless it is given.
    pub(crate) fn text(&self) -> String {
        let mut text = "# The configuration of seconder: seconder.conf(5).\n".to_owned();
        for arg in options(&self.serve) {
            let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
            text += "\n";
            text += &wrapped(&help.unwrap_or_default());
            let name = key(arg);
            text += &match self.values(&name) {
                [] => format!("#{name} = {}\n", settings::shown(arg)),
                values => line(&name, values),
            };
        }
        text
    }
}

fn line(name: &str, values: &[String]) -> String {
    match values {
        [value] => format!("{name} = {value}\n"),
        values => format!("{name} = [{}]\n", values.join(", ")),
    }
}

/// Returns a text as comments.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), "#".to_owned());
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > 90 {
            lines += &format!("{line}\n");
            "#".clone_into(&mut line);
        }
        line += " ";
        line += word;
    }
    lines + &line + "\n"
}
