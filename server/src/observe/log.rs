//! The log of the program: lines with a level and with fields, written by one thread, so that a slow reader holds up no
//! request. Only lines of this program are in it. No other crate can write to it, since those for HTTP log headers and
//! bodies, which hold keys and codes.

pub(crate) mod entry;
mod format;
#[cfg(unix)]
mod journald;
mod writer;

use entry::{Entry, Level};
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use writer::Writer;

/// The time that the end of the program waits for a slow reader of the log.
const FLUSH: Duration = Duration::from_secs(1);
/// The time for which a line that the database failed stands for all others: every request and every thread fails then.
const DATABASE_APART: Duration = Duration::from_secs(10);
/// The message of the line of a request.
pub(crate) const REQUEST: &str = "request";

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
    database: Mutex<DatabaseLines>,
}

/// The lines that the database failed.
#[derive(Default)]
struct DatabaseLines {
    /// The time of the last one of a request, and of the last one of anything else.
    request: Option<Instant>,
    other: Option<Instant>,
    left_out: u64,
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
        Logger(Arc::new(Inner {
            level: AtomicU8::new(level as u8),
            writer,
            database: Mutex::default(),
        }))
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
    pub fn log(&self, mut line: Entry) {
        if line.level <= Level::Warning && line.is_of_database() {
            line = self.0.of_database(line, Instant::now());
        }
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

impl Inner {
    /// Returns a line that the database failed, or makes it one for `debug` if there was another a moment ago. The line
    /// of a request goes before the others, which say the same again soon.
    fn of_database(&self, mut line: Entry, now: Instant) -> Entry {
        let mut lines = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = &mut *lines;
        let is_recent = |at: Option<Instant>| {
            at.is_some_and(|at| now.saturating_duration_since(at) < DATABASE_APART)
        };
        let is_request = line.message == REQUEST;
        if is_recent(lines.request) || !is_request && is_recent(lines.other) {
            lines.left_out += 1;
            line.level = Level::Debug;
            return line;
        }
        *(if is_request { &mut lines.request } else { &mut lines.other }) = Some(now);
        match std::mem::take(&mut lines.left_out) {
            0 => line,
            left_out => line.with("left_out", left_out),
        }
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logger").field(&self.0.level).finish()
    }
}

#[cfg(test)]
mod tests;
