//! The log of the program: lines with a level and with fields, written by one thread, so that a slow reader holds up no
//! request. Only lines of this program are in it. No other crate can write to it, since those for HTTP log headers and
//! bodies, which hold keys and codes.

mod format;
#[cfg(unix)]
mod journald;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};
use writer::Writer;

/// The time that the end of the program waits for a slow reader of the log.
const FLUSH: Duration = Duration::from_secs(1);

/// How much a line matters. Those of a level and of all before it are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[repr(u8)]
pub enum Level {
    /// Something failed, and somebody has to act.
    Error,
    /// Something failed that may mend itself, or will fail soon.
    Warning,
    /// What a server does, and each request.
    #[default]
    Info,
    /// More than one wants to read every day.
    Debug,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// `journald` if standard error is the journal of systemd, `human` if it is a terminal, otherwise `json`
    #[default]
    Auto,
    /// Text
    Human,
    /// An object in each line
    Json,
    /// To the journal of systemd, with fields
    Journald,
}

/// Logs lines. Clones are the same.
#[derive(Clone)]
pub struct Logger(Arc<Inner>);

struct Inner {
    level: AtomicU8,
    writer: Writer,
}

/// A line of the log.
#[derive(Debug)]
pub struct Entry {
    time: SystemTime,
    level: Level,
    message: String,
    fields: Vec<(&'static str, Value)>,
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
    fn priority(self) -> u8 {
        match self {
            Level::Error => 3,
            Level::Warning => 4,
            Level::Info => 6,
            Level::Debug => 7,
        }
    }
}

impl LogFormat {
    /// Decides, where it is left to where standard error leads.
    fn decided(self) -> LogFormat {
        match self {
            #[cfg(unix)]
            LogFormat::Auto if journald::is_standard_error() => LogFormat::Journald,
            LogFormat::Auto => match std::io::IsTerminal::is_terminal(&std::io::stderr()) {
                true => LogFormat::Human,
                false => LogFormat::Json,
            },
            chosen => chosen,
        }
    }
}

impl Logger {
    /// Logs to standard error, or to the journal. The first line starts the thread that writes.
    pub fn new(format: LogFormat, level: Level) -> Logger {
        let output = match format.decided() {
            #[cfg(unix)]
            LogFormat::Journald => writer::Output::journal(journald::SOCKET),
            LogFormat::Human => writer::Output::stream(format::human, std::io::stderr()),
            _ => writer::Output::stream(format::json, std::io::stderr()),
        };
        Logger::of(output, level)
    }

    fn of(output: writer::Output, level: Level) -> Logger {
        let writer = Writer::new(output);
        Logger(Arc::new(Inner { level: AtomicU8::new(level as u8), writer }))
    }

    /// Changes which lines are logged.
    pub fn set_level(&self, level: Level) {
        self.0.level.store(level as u8, Ordering::Relaxed);
    }

    /// Returns whether lines of this level are logged.
    pub fn has(&self, level: Level) -> bool {
        level as u8 <= self.0.level.load(Ordering::Relaxed)
    }

    /// Logs a line. It never waits: if the log is not read, the line is only counted.
    pub fn log(&self, line: Entry) {
        if self.has(line.level) {
            self.0.writer.write(line);
        }
    }

    /// Returns the number of lines that were lost, because the reader of the log was too slow.
    pub fn lost(&self) -> u64 {
        self.0.writer.lost()
    }

    /// Waits until all lines so far are written, at most for a second.
    pub fn flush(&self) {
        self.0.writer.flush(FLUSH);
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logger").field(&self.0.level).finish()
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
        let (level, message) =
            of(Level::Error).or_else(|| of(Level::Warning)).unwrap_or((level, text));
        Entry::new(level, message)
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

#[cfg(test)]
mod tests;
