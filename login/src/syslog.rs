//! An operator who reads syslog.

use seconder_login::Journal;
use seconder_login::terminal::StandardError;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The sockets of syslog on Linux, on BSD and on macOS.
const SOCKETS: [&str; 3] = ["/dev/log", "/var/run/log", "/var/run/syslog"];
/// The facility authpriv, as PAM modules have it.
const AUTHPRIV: u8 = 10 << 3;
const ERROR: u8 = 3;
const NOTICE: u8 = 5;
/// The time that a daemon may take that reads nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes to syslog, or to standard error where that fails.
pub(crate) struct Syslog {
    program: &'static str,
    socket: Option<UnixDatagram>,
    otherwise: StandardError,
}

impl Syslog {
    /// Opens the log. Each line begins with the program's name.
    pub(crate) fn open(program: &'static str) -> Syslog {
        Syslog { program, socket: connect().ok(), otherwise: StandardError::new(program) }
    }

    /// Writes a line without a time: syslog takes the time at which it arrives.
    fn write(&self, severity: u8, text: &str) -> bool {
        let line =
            format!("<{}>{}[{}]: {text}", AUTHPRIV | severity, self.program, std::process::id());
        self.socket.as_ref().is_some_and(|socket| socket.send(line.as_bytes()).is_ok())
    }
}

impl Journal for Syslog {
    fn error(&mut self, text: &str) {
        if !self.write(ERROR, text) {
            self.otherwise.error(text);
        }
    }

    fn notice(&mut self, text: &str) {
        if !self.write(NOTICE, text) {
            self.otherwise.notice(text);
        }
    }
}

fn connect() -> Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    match SOCKETS.iter().any(|path| socket.connect(path).is_ok()) {
        true => Ok(socket),
        false => Err(Error::from(ErrorKind::NotFound)),
    }
}
