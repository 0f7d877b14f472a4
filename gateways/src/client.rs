//! The connections to a provider.

use crate::tls;
use seconder::remote::{Dialer, Link, Tls};
use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::{HeaderMap, Request, Uri};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error};

/// The most bytes of a response that are read.
const LONGEST: u64 = 64 * 1024;
/// The number of connections that are kept for further messages.
const IDLE: usize = 8;
/// The time for which they are kept. Most servers close them later.
const IDLE_AGE: Duration = Duration::from_secs(15);

thread_local! {
    /// Set once something of the request was written, in the call of this thread. A call does all its writing on the
    /// thread that makes it.
    static WRITTEN: Cell<bool> = const { Cell::new(false) };
}

/// The reason why there is no response. The reasons have no URL, which may have a credential in it.
pub enum Failure {
    /// Nothing was sent.
    NotSent(String),
    /// Something of the request was written, so the provider may have the message.
    Lost(String),
    /// The request itself cannot be sent.
    Unsendable(String),
}

impl Failure {
    /// Returns the reason, regardless of what was sent.
    pub fn reason(self) -> String {
        match self {
            Failure::NotSent(reason) | Failure::Lost(reason) | Failure::Unsendable(reason) => {
                reason
            }
        }
    }
}

/// The response of a provider.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The time that it asks to wait.
    pub retry_after: Option<Duration>,
    /// The id of the message, if a header has it.
    pub id: Option<String>,
    /// The host that a redirect leads to.
    pub redirect: Option<String>,
    /// The body, or the reason why it could not be read to its end.
    pub body: Result<Vec<u8>, &'static str>,
}

/// Makes requests. Connections are kept for the next ones.
pub struct Client(Agent);

impl Client {
    /// Returns a client that connects by this dialer, with this TLS, or without any if it is `None`.
    pub fn new(timeout: Duration, tls: Option<Tls>, dialer: &Dialer) -> Client {
        let config = Agent::config_builder()
            // The dialer has the proxy. Otherwise the environment would decide.
            .proxy(None)
            .https_only(tls.is_some())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(timeout))
            .user_agent(concat!("seconder/", env!("CARGO_PKG_VERSION")))
            .max_response_header_size(16 * 1024)
            .max_idle_connections(IDLE)
            .max_idle_connections_per_host(IDLE)
            .max_idle_age(IDLE_AGE)
            .build();
        let connector = Dialing { dialer: dialer.clone(), tls };
        Client(Agent::with_parts(config, connector, Unresolved))
    }

    /// Makes one request, and never repeats it. A header of this name has the id of the message.
    ///
    /// # Errors
    /// [`Failure`] if there is no response.
    pub fn run(
        &self,
        request: Request<Vec<u8>>,
        id_header: Option<&str>,
    ) -> Result<Response, Failure> {
        WRITTEN.set(false);
        let mut response = self.0.run(request).map_err(failure)?;
        let headers = response.headers();
        let after = text(headers, "retry-after");
        let after = after.and_then(|after| {
            seconder::remote::retry_after(&after, text(headers, "date").as_deref())
        });
        let redirect = text(headers, "location").and_then(|to| to.parse::<Uri>().ok());
        Ok(Response {
            status: response.status().as_u16(),
            retry_after: after,
            id: id_header.and_then(|name| text(headers, name)),
            redirect: redirect.and_then(|to| Some(to.host()?.to_owned())),
            body: response.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(|error| {
                match error {
                    Error::BodyExceedsLimit(_) => ", but the body is larger than 64 KiB",
                    Error::Timeout(_) => ", but the body did not arrive within the timeout",
                    _ => ", but the body is incomplete",
                }
            }),
        })
    }

    /// Ends the connections. Later requests fail.
    pub(crate) fn stop(&self) {
        self.0.clone().shutdown();
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn failure(error: Error) -> Failure {
    let (wrong, is_network) = match error {
        Error::Timeout(_) => ("no response within the timeout".to_owned(), true),
        Error::Io(error) => (format!("the connection failed: {error}"), true),
        Error::Other(error) => match error.downcast::<seconder::Error>() {
            Ok(error) => (tls::reason(*error), true),
            Err(error) => (format!("the connection failed: {error}"), true),
        },
        Error::LargeResponseHeader(..) => {
            ("the headers of the response are too large".to_owned(), false)
        }
        _ if WRITTEN.get() => ("the response is not HTTP".to_owned(), false),
        _ => ("the request cannot be sent".to_owned(), false),
    };
    match is_network {
        _ if WRITTEN.get() => Failure::Lost(wrong),
        true => Failure::NotSent(wrong),
        false => Failure::Unsendable(wrong),
    }
}

/// Leaves names to the connector, because a proxy resolves the host itself.
#[derive(Debug)]
struct Unresolved;

impl Resolver for Unresolved {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// Connects as the program does everywhere: with its name servers, its proxy and its TLS.
struct Dialing {
    dialer: Dialer,
    tls: Option<Tls>,
}

impl fmt::Debug for Dialing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialing")
    }
}

impl Connector for Dialing {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        let host = details.uri.host().ok_or(Error::HostNotFound)?;
        let default_port = if self.tls.is_some() { 443 } else { 80 };
        let port = details.uri.port_u16().unwrap_or(default_port);
        let failed = |error: seconder::Error| Error::Other(Box::new(error));
        let within = left(details.timeout);
        let link = self.dialer.connect(host, port, self.tls.is_some(), within).map_err(failed)?;
        let link = match &self.tls {
            Some(tls) => link.encrypt(tls, host).map_err(failed)?,
            None => link,
        };
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Connection { link, is_tls: self.tls.is_some(), buffers }))
    }
}

/// A connection, which notes when a request begins to be written. TLS is established by then.
struct Connection {
    link: Link,
    is_tls: bool,
    buffers: LazyBuffers,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        // Set before the write, because a write that fails may have written a part.
        if amount > 0 {
            WRITTEN.set(true);
        }
        self.link.set_time_limit(left(timeout));
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        let written = self.link.write_all(output).and_then(|()| self.link.flush());
        written.map_err(|error| ended(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.link.set_time_limit(left(timeout));
        let read = self.link.read(self.buffers.input_append_buf());
        let amount = read.map_err(|error| ended(error, timeout))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.link.is_idle()
    }

    fn is_tls(&self) -> bool {
        self.is_tls
    }
}

/// Returns the time that is left. There is a timeout for each whole request.
fn left(timeout: NextTimeout) -> Duration {
    timeout.not_zero().map_or(Duration::ZERO, |left| *left)
}

fn ended(error: io::Error, timeout: NextTimeout) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}
