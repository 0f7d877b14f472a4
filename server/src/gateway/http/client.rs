//! The connections to a provider.

use super::response::Response;
use crate::gateway::tls::{self, BUNDLES};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{HeaderMap, Request, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, NextTimeout, RustlsConnector, TcpConnector, Transport,
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
pub(crate) enum Failure {
    /// Nothing was sent.
    NotSent(String),
    /// Something of the request was written, so the provider may have the message.
    Lost(String),
    /// The request itself cannot be sent.
    Unsendable(String),
}

impl Failure {
    /// Returns the reason, regardless of what was sent.
    pub(crate) fn reason(self) -> String {
        match self {
            Failure::NotSent(reason) | Failure::Lost(reason) | Failure::Unsendable(reason) => {
                reason
            }
        }
    }
}

/// Makes requests. Connections are kept for the next ones.
pub(crate) struct Client(Agent);

impl Client {
    /// Returns a client that trusts these authorities, and makes requests without TLS if `roots` is `None`.
    pub(crate) fn new(timeout: Duration, roots: Option<&[Certificate<'static>]>) -> Client {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(roots.unwrap_or_default()))
            // Passed explicitly, so that the process needs no default provider.
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            // Otherwise the environment would decide.
            .proxy(None)
            .https_only(roots.is_some())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(timeout))
            .user_agent(concat!("seconder/", env!("CARGO_PKG_VERSION")))
            .max_response_header_size(16 * 1024)
            .max_idle_connections(IDLE)
            .max_idle_connections_per_host(IDLE)
            .max_idle_age(IDLE_AGE)
            .tls_config(tls)
            .build();
        let connector =
            ().chain(TcpConnector::default()).chain(RustlsConnector::default()).chain(NotingWrites);
        Client(Agent::with_parts(config, connector, DefaultResolver::default()))
    }

    /// Makes one request, and never repeats it.
    pub(crate) fn run(
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
    pub(super) fn stop(&self) {
        self.0.clone().shutdown();
    }
}

/// Returns the authorities of a file, or the authorities of the system.
///
/// # Errors
/// The error in the file.
pub(crate) fn roots(file: Option<&str>) -> Result<Vec<Certificate<'static>>, String> {
    let Some(file) = file else { return system() };
    let pem = std::fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    let found = usable(&pem).ok_or("cannot be parsed as PEM")?;
    match found.is_empty() {
        true => Err("has no certificate that can be used".to_owned()),
        false => Ok(found),
    }
}

/// Returns the system's bundle of certificates. The usual libraries let the environment replace it.
fn system() -> Result<Vec<Certificate<'static>>, String> {
    let read = |file: &&str| usable(&std::fs::read(file).ok()?);
    let found = BUNDLES.iter().filter_map(read).find(|found| !found.is_empty());
    found.ok_or_else(|| "is required: this system has no bundle of certificates".to_owned())
}

/// Returns the certificates in PEM that can belong to authorities. A system's bundle may have others.
fn usable(pem: &[u8]) -> Option<Vec<Certificate<'static>>> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().ok()?;
    let is_usable = |der: &CertificateDer<'_>| {
        rustls::RootCertStore::empty().add(der.clone().into_owned()).is_ok()
    };
    let found = found.into_iter().filter(is_usable);
    Some(found.map(|der| Certificate::from_der(&der).to_owned()).collect())
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn failure(error: Error) -> Failure {
    let wrong = match &error {
        Error::Timeout(_) => "no response within the timeout".to_owned(),
        Error::HostNotFound => "the host was not found".to_owned(),
        Error::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
            tls::failed(error)
        }
        Error::Io(error) => format!("the connection failed: {error}"),
        Error::Rustls(error) => format!("TLS failed: {error}"),
        Error::Tls(error) => format!("TLS failed: {error}"),
        Error::ConnectionFailed => "the connection failed".to_owned(),
        Error::LargeResponseHeader(..) => "the headers of the response are too large".to_owned(),
        _ if WRITTEN.get() => "the response is not HTTP".to_owned(),
        _ => "the request cannot be sent".to_owned(),
    };
    match error {
        _ if WRITTEN.get() => Failure::Lost(wrong),
        Error::Timeout(_)
        | Error::HostNotFound
        | Error::Io(_)
        | Error::Rustls(_)
        | Error::Tls(_)
        | Error::ConnectionFailed => Failure::NotSent(wrong),
        _ => Failure::Unsendable(wrong),
    }
}

/// The last connector: notes when a request begins to be written. TLS is established by then.
#[derive(Debug)]
struct NotingWrites;

#[derive(Debug)]
struct Noting<T>(T);

impl<T: Transport> Connector<T> for NotingWrites {
    type Out = Noting<T>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<T>,
    ) -> Result<Option<Noting<T>>, Error> {
        Ok(chained.map(Noting))
    }
}

impl<T: Transport> Transport for Noting<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        // Set before the write, because a write that fails may have written a part.
        if amount > 0 {
            WRITTEN.set(true);
        }
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
