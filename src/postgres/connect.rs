//! Connections: establishes them, and exchanges messages over them.

use super::report::{Problem, Report};
use super::target::{Host, SslMode, Target};
use crate::remote::{Link, Tls, Until, Verify, tls};
use crate::{Error, Result};
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use std::collections::HashSet;
use std::fmt::Display;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// The most that is read at a time.
const PIECE: usize = 16 * 1024;
/// The longest message: no row of the engine is nearly as long, in bytes.
const MOST: u32 = 64 * 1024 * 1024;

/// The time to wait at the end for a server that takes no data.
const GOODBYE: Duration = Duration::from_millis(100);

/// A connection to one server.
pub(crate) struct Connection {
    pub(super) link: Link,
    input: BytesMut,
    pub(super) output: BytesMut,
    /// The names of the statements that the server has prepared.
    prepared: HashSet<String>,
    /// Statements that the server has to prepare in the pipeline that is being written.
    pub(super) parsing: Vec<String>,
    /// The statements of that pipeline.
    pub(super) sent: usize,
    /// The version that the server reports, such as `15.4`.
    pub(crate) version: String,
    is_usable: bool,
}

/// The reason why a host was not connected to.
pub(super) struct Failed {
    pub(super) error: Error,
    /// The server's report, if it sent one.
    pub(super) report: Option<Report>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, report: None }
    }
}

impl Target {
    /// Reads the files that TLS needs, once: the files may not be readable later.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a file cannot be used.
    pub(crate) fn tls(&self) -> Result<Option<Tls>> {
        let network = self.hosts.iter().any(|host| matches!(host, Host::Network { .. }));
        match self.ssl {
            SslMode::Disable => Ok(None),
            _ if network => tls(&self.verify, self.certificate.clone()).map(Some),
            _ => Ok(None),
        }
    }

    /// Connects to the first host that can be used, as `accept` decides.
    ///
    /// # Errors
    /// [`Error::Storage`] with the reason, without the password.
    pub(crate) fn connect(
        &self,
        tls: Option<&Tls>,
        until: Until,
        mut accept: impl FnMut(&mut Connection) -> Result<()>,
    ) -> Result<Connection> {
        let mut last = None;
        for (place, host) in self.hosts.iter().enumerate() {
            // The last host has all the time that is left.
            let until = match place + 1 < self.hosts.len() {
                true => until.sooner(until.left() / 2),
                false => until,
            }
            .sooner(self.connect);
            let connected = self.reach(host, tls, until);
            match connected.and_then(|mut found| accept(&mut found).map(|()| found)) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(named(host, error)),
            }
        }
        Err(last.unwrap_or_else(|| Error::invalid_argument("url", "names no host")))
    }

    fn reach(&self, host: &Host, tls: Option<&Tls>, until: Until) -> Result<Connection> {
        let plain = || self.log_in(host, None, until);
        let (Host::Network { .. }, Some(tls)) = (host, tls) else {
            return plain().map_err(|failed| failed.error);
        };
        let encrypted = || self.log_in(host, Some(tls), until);
        // The server rejects a kind of connection by this code.
        let other_kind =
            |failed: &Failed| failed.report.as_ref().is_some_and(|report| report.is(&["28000"]));
        let done = match self.ssl {
            SslMode::Allow => match plain() {
                Err(failed) if other_kind(&failed) => encrypted(),
                done => done,
            },
            SslMode::Prefer => match encrypted() {
                // A slow server may have TLS nevertheless.
                Err(failed) if until.left().is_zero() => Err(failed),
                Err(failed) if failed.is_of_tls() || other_kind(&failed) => plain(),
                done => done,
            },
            SslMode::Disable => plain(),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => encrypted(),
        };
        done.map_err(|failed| failed.error)
    }

    fn log_in(&self, host: &Host, tls: Option<&Tls>, until: Until) -> Result<Connection, Failed> {
        let mut link = match host {
            Host::Network { name, address, port } => {
                Link::tcp(&self.dialer, address.as_ref().unwrap_or(name), *port, until)?
            }
            Host::Socket(path) => Link::local(path, until)?,
        };
        if let (Some(tls), Host::Network { name, .. }) = (tls, host) {
            if asks_for_tls(&mut link)? {
                link = link.secure(tls, name)?;
            } else if self.ssl != SslMode::Prefer {
                return Err(Error::storage(
                    "the server has no TLS, which sslmode requires: turn its ssl on",
                )
                .into());
            }
        }
        let mut connection = Connection::new(link);
        let account = [
            ("user", self.user.as_str()),
            ("database", &self.database),
            ("application_name", &self.application),
            ("client_encoding", "UTF8"),
            ("options", &self.options),
        ];
        let account = account.into_iter().filter(|(_, value)| !value.is_empty());
        frontend::startup_message(account, &mut connection.output)
            .map_err(|_| Error::invalid_argument("url", "has a zero byte"))?;
        let is_verified = connection.link.is_encrypted() && self.verify != Verify::Nothing;
        let is_trusted = is_verified || matches!(host, Host::Socket(_));
        let password = || self.password.of(host, &self.database, &self.user);
        connection.authenticate(&self.user, is_trusted, self.binding, password)?;
        Ok(connection)
    }
}

impl Failed {
    fn is_of_tls(&self) -> bool {
        matches!(self.error, Error::Unavailable { stage: crate::Stage::Tls, .. })
    }
}

/// Asks a server whether it speaks TLS. Bytes after its answer in clear text could come from an
/// attacker, so exactly one byte is read.
fn asks_for_tls(link: &mut Link) -> Result<bool> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let mut answer = [0];
    let asked = link.write_all(&request).and_then(|()| link.read_exact(&mut answer));
    asked.map_err(|error| Error::storage(lost(&error)))?;
    match answer {
        [b'S'] => Ok(true),
        [b'N'] => Ok(false),
        _ => Err(Error::storage("it is not a PostgreSQL server: check the host and the port")),
    }
}

/// Returns the error with the server that it is about.
fn named(host: &Host, error: Error) -> Error {
    let host = match host {
        Host::Network { name, address: Some(address), port } if name != address => {
            format!("{name}:{port} ({address})")
        }
        Host::Network { name, port, .. } => format!("{name}:{port}"),
        Host::Socket(path) => path.display().to_string(),
    };
    match error {
        Error::Storage { message } => Error::storage(format!("PostgreSQL at {host}: {message}")),
        Error::Unavailable { message, .. } => {
            Error::storage(format!("PostgreSQL cannot be reached: {message}"))
        }
        other => other,
    }
}

fn lost(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "it did not respond in time".to_owned(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "it closed the connection".to_owned()
        }
        _ => format!("the connection failed: {error}"),
    }
}

impl Connection {
    fn new(link: Link) -> Connection {
        Connection {
            link,
            input: BytesMut::with_capacity(PIECE),
            output: BytesMut::new(),
            prepared: HashSet::new(),
            parsing: Vec::new(),
            sent: 0,
            version: String::new(),
            is_usable: true,
        }
    }

    /// Returns whether it can still be used, as far as is known without a question to the server.
    pub(crate) fn is_usable(&mut self) -> bool {
        self.is_usable && self.input.is_empty() && self.link.is_idle()
    }

    /// Begins work that ends by this time.
    pub(crate) fn set_deadline(&mut self, until: Until) {
        self.link.set_deadline(until);
    }

    /// Ends the session, and closes the connection.
    pub(crate) fn close(mut self) {
        if self.is_usable {
            self.output.clear();
            frontend::terminate(&mut self.output);
            // The deadline of the last operation may have passed, and the server may hang. It
            // notices the end of the connection anyway.
            self.link.set_deadline(Until::within(GOODBYE));
            let _ = self.link.write(&self.output);
        }
    }

    pub(super) fn is_prepared(&self, name: &str) -> bool {
        self.prepared.contains(name) || self.parsing.iter().any(|other| other == name)
    }

    pub(super) fn note_prepared(&mut self, name: String) {
        self.prepared.insert(name);
    }

    /// Sends the written messages.
    pub(super) fn send(&mut self) -> Result<(), Problem> {
        let sent = match self.is_usable {
            true => self.link.write_all(&self.output).and_then(|()| self.link.flush()),
            false => Err(ErrorKind::NotConnected.into()),
        };
        self.output.clear();
        sent.map_err(|error| self.lose(lost(&error)))
    }

    /// Waits for the next message.
    pub(super) fn receive(&mut self) -> Result<Message, Problem> {
        loop {
            // The parser makes room for as many bytes as a message declares: a server of another
            // kind could declare any number.
            let length = self.input.get(1..5).and_then(|length| length.try_into().ok());
            if length.is_some_and(|length| u32::from_be_bytes(length) > MOST) {
                return Err(self.broken(&"a message is too long"));
            }
            match Message::parse(&mut self.input) {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => return Err(self.broken(&error)),
            }
            let place = self.input.len();
            self.input.resize(place + PIECE, 0);
            let read = self.link.read(&mut self.input[place..]);
            self.input.truncate(place + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err(self.lose("it closed the connection".into())),
                Ok(_) => {}
                Err(error) => return Err(self.lose(lost(&error))),
            }
        }
    }

    pub(super) fn broken(&mut self, why: &dyn Display) -> Problem {
        self.lose(format!("its response could not be parsed ({why})"))
    }

    /// Notes that the server ends the connection.
    pub(super) fn ended(&mut self, report: &Report) -> Problem {
        self.lose(report.advice())
    }

    fn lose(&mut self, why: String) -> Problem {
        self.is_usable = false;
        Problem::Lost(why)
    }
}
