//! A connection to a mail server.
//!
//! The transport of lettre hides whether the content was written, which decides whether a message may have been sent,
//! has no deadline for a whole attempt, and keeps bytes that were received before `STARTTLS` has secured the
//! connection.

use super::email::Email;
use super::settings::{Config, Security};
use crate::tls;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use seconder::remote::{Link, Tls};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// The longest response, in bytes, so that a server cannot fill the memory.
const LONGEST_RESPONSE: usize = 16 * 1024;

/// The reason why a step failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server has refused it, with this status: its response.
    Refused(u16, String),
    /// The connection can no longer be used, for this reason.
    Broken(String),
}

/// A response of the server.
struct Response {
    status: u16,
    text: String,
}

/// A connection that e-mails are sent by.
pub(super) struct Connection {
    stream: Link,
    received: Vec<u8>,
    /// The extensions that the server offers, in upper case.
    extensions: Vec<String>,
    pub(super) used: Instant,
}

impl Connection {
    /// Connects, secures the connection, and logs in.
    pub(super) fn open(config: &Config, deadline: Instant) -> Result<Connection, Fault> {
        let is_encrypted = !matches!(config.security, Security::None);
        let stream = config.dialer.connect(&config.host, config.port, is_encrypted, left(deadline));
        let mut stream = stream.map_err(|error| {
            Fault::Broken(format!("the mail server cannot be reached: {}", tls::reason(error)))
        })?;
        if let Security::Wrapper(tls) = &config.security {
            stream = secured(stream, tls, config)?;
        }
        let now = Instant::now();
        let mut connection =
            Connection { stream, received: Vec::new(), extensions: Vec::new(), used: now };
        connection.response()?.require(220)?;
        connection.hello(config)?;
        if let Security::StartTls(tls) = &config.security {
            connection = connection.start_tls(tls, config)?;
            connection.hello(config)?;
        }
        if let Some((user, password)) = &config.login {
            connection.log_in(user, password.expose())?;
        }
        Ok(connection)
    }

    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.stream.set_time_limit(left(deadline));
    }

    /// Does all that comes before the content. Nothing is sent until then.
    pub(super) fn begin(&mut self, email: &Email) -> Result<(), Fault> {
        self.command(&format!("MAIL FROM:<{}>", email.from))?.require(250)?;
        let recipient = self.command(&format!("RCPT TO:<{}>", email.to))?;
        if recipient.status != 251 {
            recipient.require(250)?;
        }
        self.command("DATA")?.require(354)
    }

    /// Writes the content: the response of the server. If the connection breaks, the e-mail may have
    /// been sent.
    pub(super) fn transfer(&mut self, email: &Email) -> Result<String, Fault> {
        self.write(&email.content)?;
        let response = self.response()?;
        let text = response.text.clone();
        response.require(250)?;
        self.used = Instant::now();
        Ok(text)
    }

    /// Says goodbye, and does not wait for the response.
    pub(super) fn quit(mut self) {
        let _ = self.write(b"QUIT\r\n");
    }

    fn hello(&mut self, config: &Config) -> Result<(), Fault> {
        let response = self.command(&format!("EHLO {}", config.hello))?;
        let offered = response.text.lines().skip(1).map(str::to_ascii_uppercase).collect();
        response.require(250)?;
        self.extensions = offered;
        Ok(())
    }

    fn start_tls(mut self, tls: &Tls, config: &Config) -> Result<Connection, Fault> {
        if !self.extensions.iter().any(|extension| extension == "STARTTLS") {
            return Err(Fault::Broken("the mail server does not offer STARTTLS".to_owned()));
        }
        self.command("STARTTLS")?.require(220)?;
        // A man in the middle could have written it, and it would count as written by the server.
        if !self.received.is_empty() {
            return Err(Fault::Broken("something was received before STARTTLS".to_owned()));
        }
        let stream = secured(self.stream, tls, config)?;
        Ok(Connection { stream, ..self })
    }

    fn log_in(&mut self, user: &str, password: &str) -> Result<(), Fault> {
        let mechanisms = self.extensions.iter().find_map(|line| line.strip_prefix("AUTH "));
        let offers = |name: &str| {
            mechanisms.is_some_and(|all| all.split_ascii_whitespace().any(|found| found == name))
        };
        if offers("PLAIN") {
            let plain = STANDARD.encode(format!("\0{user}\0{password}"));
            self.command(&format!("AUTH PLAIN {plain}"))?.require(235)
        } else if offers("LOGIN") {
            self.command("AUTH LOGIN")?.require(334)?;
            self.command(&STANDARD.encode(user))?.require(334)?;
            self.command(&STANDARD.encode(password))?.require(235)
        } else {
            let wrong = "the mail server offers neither AUTH PLAIN nor AUTH LOGIN";
            Err(Fault::Broken(wrong.to_owned()))
        }
    }

    fn command(&mut self, command: &str) -> Result<Response, Fault> {
        self.write(format!("{command}\r\n").as_bytes())?;
        self.response()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).map_err(broken)
    }

    /// Reads a response: the text of its lines, without the status.
    fn response(&mut self) -> Result<Response, Fault> {
        let mut text = String::new();
        loop {
            let line = self.line()?;
            let invalid = || Fault::Broken("the response is not one of a mail server".to_owned());
            let status =
                line.get(..3).and_then(|status| status.parse().ok()).ok_or_else(invalid)?;
            let rest = line.get(3..).unwrap_or_default();
            if text.len() + rest.len() > LONGEST_RESPONSE || !(200..600).contains(&status) {
                return Err(invalid());
            }
            text.push_str(rest.get(1..).unwrap_or_default());
            if !rest.starts_with('-') {
                return Ok(Response { status, text });
            }
            text.push('\n');
        }
    }

    fn line(&mut self) -> Result<String, Fault> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let mut chunk = [0; 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(error)),
            }
            if self.received.len() > LONGEST_RESPONSE {
                return Err(Fault::Broken("the response is too long".to_owned()));
            }
        }
    }
}

impl Response {
    fn require(self, status: u16) -> Result<(), Fault> {
        match self.status {
            found if found == status => Ok(()),
            found if found >= 400 => Err(Fault::Refused(found, self.text)),
            found => Err(Fault::Broken(format!("the response is {found} instead of {status}"))),
        }
    }
}

fn broken(error: io::Error) -> Fault {
    Fault::Broken(match error.kind() {
        // Systems have two names for it.
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "the mail server did not respond in time".to_owned()
        }
        io::ErrorKind::UnexpectedEof => "the mail server has closed the connection".to_owned(),
        _ => format!("the connection was lost: {error}"),
    })
}

/// Sets up TLS. A certificate that is not trusted is an error of this step.
fn secured(stream: Link, tls: &Tls, config: &Config) -> Result<Link, Fault> {
    stream.encrypt(tls, &config.host).map_err(|error| Fault::Broken(tls::reason(error)))
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
