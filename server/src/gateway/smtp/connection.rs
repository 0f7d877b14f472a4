//! A connection to a mail server.
//!
//! The transport of lettre hides whether the content was written, which decides whether a message may have been sent,
//! has no deadline for a whole attempt, and keeps bytes that were received before `STARTTLS` has secured the
//! connection.

use super::email::Email;
use super::settings::{Config, Security};
use crate::gateway::tls;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::Builder;
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

/// A socket whose reads and writes all end by a deadline.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Stream {
    Plain(Timed),
    Secured(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Stream {
    fn socket(&mut self) -> &mut Timed {
        match self {
            Stream::Plain(timed) => timed,
            Stream::Secured(secured) => &mut secured.sock,
        }
    }

    fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Stream::Plain(timed) => timed,
            Stream::Secured(secured) => secured,
        }
    }

    fn secured(self, config: &Arc<ClientConfig>, name: &ServerName<'static>) -> io::Result<Stream> {
        let Stream::Plain(timed) = self else { return Ok(self) };
        let client = ClientConnection::new(Arc::clone(config), name.clone());
        let client = client.map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(client, timed);
        // The handshake is completed here, so that a certificate that is not trusted is an error of this step.
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Stream::Secured(Box::new(stream)))
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A connection that e-mails are sent by.
pub(super) struct Connection {
    stream: Stream,
    received: Vec<u8>,
    /// The extensions that the server offers, in upper case.
    extensions: Vec<String>,
    pub(super) used: Instant,
}

impl Connection {
    /// Connects, secures the connection, and logs in.
    pub(super) fn open(config: &Config, deadline: Instant) -> Result<Connection, Fault> {
        let socket = connect(config, deadline).map_err(Fault::Broken)?;
        let mut stream = Stream::Plain(Timed { socket, deadline });
        if let Security::Wrapper(tls, name) = &config.security {
            stream = stream.secured(tls, name).map_err(tls_failed)?;
        }
        let now = Instant::now();
        let mut connection =
            Connection { stream, received: Vec::new(), extensions: Vec::new(), used: now };
        connection.response()?.require(220)?;
        connection.hello(config)?;
        if let Security::StartTls(tls, name) = &config.security {
            connection = connection.start_tls(tls, name)?;
            connection.hello(config)?;
        }
        if let Some((user, password)) = &config.login {
            connection.log_in(user, password.expose())?;
        }
        Ok(connection)
    }

    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.stream.socket().deadline = deadline;
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

    fn start_tls(
        mut self,
        config: &Arc<ClientConfig>,
        name: &ServerName<'static>,
    ) -> Result<Connection, Fault> {
        if !self.extensions.iter().any(|extension| extension == "STARTTLS") {
            return Err(Fault::Broken("the mail server does not offer STARTTLS".to_owned()));
        }
        self.command("STARTTLS")?.require(220)?;
        // A man in the middle could have written it, and it would count as written by the server.
        if !self.received.is_empty() {
            return Err(Fault::Broken("something was received before STARTTLS".to_owned()));
        }
        let stream = self.stream.secured(config, name).map_err(tls_failed)?;
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
        let stream = self.stream.stream();
        stream.write_all(bytes).and_then(|()| stream.flush()).map_err(broken)
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
            match self.stream.stream().read(&mut chunk) {
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

fn tls_failed(error: io::Error) -> Fault {
    Fault::Broken(tls::failed(&error))
}

fn connect(config: &Config, deadline: Instant) -> Result<TcpStream, String> {
    let mut wrong = "its name has no address".to_owned();
    let local_only = matches!(config.security, Security::None);
    for address in resolve(&config.host, config.port, deadline)? {
        // Without TLS, nothing leaves this machine, even if the name has other addresses.
        if local_only && !address.ip().is_loopback() {
            continue;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("the mail server cannot be reached in time".to_owned());
        }
        let connected = TcpStream::connect_timeout(&address, left);
        match connected.and_then(|socket| socket.set_nodelay(true).map(|()| socket)) {
            Ok(socket) => return Ok(socket),
            Err(error) => wrong = error.to_string(),
        }
    }
    Err(format!("the mail server cannot be reached: {wrong}"))
}

/// Returns the addresses of a name. The system's resolver has no deadline, so it has a thread.
fn resolve(host: &str, port: u16, deadline: Instant) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let failed = |error: io::Error| format!("the mail server's name has no address: {error}");
    let (found, addresses) = channel();
    let name = (host.to_owned(), port);
    let look_up = move || {
        // The caller may have stopped waiting for it.
        let _ = found.send(name.to_socket_addrs().map(Iterator::collect));
    };
    Builder::new().name("seconder-resolver".to_owned()).spawn(look_up).map_err(failed)?;
    let left = deadline.saturating_duration_since(Instant::now());
    let addresses = addresses.recv_timeout(left);
    addresses.map_err(|_| "the mail server's name was not found in time")?.map_err(failed)
}
