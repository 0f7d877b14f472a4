//! Sends lines to the journal of systemd by its own protocol, so that one can search for their fields:
//! `journalctl SECONDER_REQUEST_ID=...`. A text on standard error could only have a priority.

use super::entry::{Entry, Value};
use rustix::fs::fstat;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// The socket of the journal.
pub(super) const SOCKET: &str = "/run/systemd/journal/socket";

/// A connection to the journal.
pub(super) struct Journald(UnixDatagram);

impl Journald {
    pub(super) fn connect(path: impl AsRef<Path>) -> io::Result<Journald> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Journald(socket))
    }

    pub(super) fn send(&self, line: &Entry) -> io::Result<()> {
        self.0.send(&entry(line)).map(drop)
    }
}

/// Returns whether standard error is the journal: systemd says which file that is.
#[allow(clippy::disallowed_methods, reason = "systemd passes it by this variable alone")]
pub(super) fn is_standard_error() -> bool {
    let Some(stream) = std::env::var_os("JOURNAL_STREAM") else { return false };
    let found = fstat(std::io::stderr()).map(|found| format!("{}:{}", found.st_dev, found.st_ino));
    found.is_ok_and(|found| stream == *found)
}

/// Writes a line without its fields, with its priority, for a journal that reads standard error.
pub(super) fn prefixed(line: &Entry, text: &mut String) {
    for part in line.message.lines() {
        *text += &format!("<{}>{part}", line.level.priority());
        *text += "\n";
    }
}

fn entry(line: &Entry) -> Vec<u8> {
    let mut entry = Vec::new();
    field("MESSAGE", &line.message, &mut entry);
    field("PRIORITY", &line.level.priority().to_string(), &mut entry);
    field("SYSLOG_IDENTIFIER", "seconder", &mut entry);
    for (name, value) in &line.fields {
        let name = format!("SECONDER_{}", name.to_ascii_uppercase());
        match value {
            Value::Text(value) => field(&name, value, &mut entry),
            Value::Name(value) => field(&name, value, &mut entry),
            Value::Number(value) => field(&name, &value.to_string(), &mut entry),
        }
    }
    entry
}

fn field(name: &str, value: &str, entry: &mut Vec<u8>) {
    entry.extend_from_slice(name.as_bytes());
    // A value of several lines is preceded by its length.
    if value.contains('\n') {
        entry.push(b'\n');
        entry.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend_from_slice(value.as_bytes());
    entry.push(b'\n');
}
