//! A line of the log, with its level and its fields.

use std::time::SystemTime;

/// The beginning of the errors of the database, [`seconder::Error::Storage`].
const OF_DATABASE: &str = "storage: ";

/// How much a line matters. Lines of a level and of all before it are logged.
///
/// One rule decides for every line, by what it asks of a person. So `journalctl -p warning` shows what needs one, and
/// nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[repr(u8)]
pub enum Level {
    /// Something does not work now: calls or messages fail, or clients are turned away, until it is mended.
    Error,
    /// A person should look soon: it still works, but will not for long, may mend itself, or looks like an attack.
    Warning,
    /// Normal life: what the server and its operators do, and each request.
    #[default]
    Info,
    /// More than one wants to read every day.
    Debug,
}

/// A line of the log.
#[derive(Debug)]
pub struct Entry {
    pub(super) time: SystemTime,
    pub(super) level: Level,
    pub(super) message: String,
    pub(super) fields: Vec<(&'static str, Value)>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Name(&'static str),
    Number(u64),
}

impl Level {
    /// Its name: `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info => "info",
            Level::Debug => "debug",
        }
    }

    /// Its number for syslog and the journal.
    pub(super) fn priority(self) -> u8 {
        match self {
            Level::Error => 3,
            Level::Warning => 4,
            Level::Info => 6,
            Level::Debug => 7,
        }
    }
}

impl Entry {
    /// Returns a line of this level.
    #[allow(
        clippy::disallowed_methods,
        reason = "operators compare it with the clock of the machine"
    )]
    pub fn new(level: Level, message: impl Into<String>) -> Entry {
        Entry { time: SystemTime::now(), level, message: message.into(), fields: Vec::new() }
    }

    /// Returns a line of the level that it begins with, such as `warning: `; otherwise of `level`.
    pub fn reported(text: &str, level: Level) -> Entry {
        let of = |level: Level| Some((level, text.strip_prefix(level.name())?.strip_prefix(": ")?));
        let levels = [Level::Error, Level::Warning, Level::Info].into_iter();
        let (level, message) = levels.filter_map(of).next().unwrap_or((level, text));
        Entry::new(level, message)
    }

    /// Returns whether it says that the database failed.
    pub(super) fn is_of_database(&self) -> bool {
        let is_error = |(name, value): &(&'static str, Value)| {
            *name == "error" && matches!(value, Value::Text(text) if text.contains(OF_DATABASE))
        };
        self.message.contains(OF_DATABASE) || self.fields.iter().any(is_error)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Entry {
        self.fields.push((name, value.into()));
        self
    }

    pub(crate) fn with_any(self, name: &'static str, value: Option<impl Into<Value>>) -> Entry {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&'static str> for Value {
    fn from(name: &'static str) -> Value {
        Value::Name(name)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}
