//! Connections of gateways and of the client of PostgreSQL: the same names, sockets and TLS as for a service.

use super::address::is_this_machine;
use super::deadline::Deadline;
use super::dialer::{Dialer, Peer};
use super::error_mapping::without_client_settings;
use super::reach::Reach;
use super::secure;
use super::stream::Stream;
use super::trust::Trust;
use crate::{Result, Stage};
use rustls::ClientConfig;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A connection. Reading and writing wait until its time limit.
pub struct Link(pub(super) Stream);

/// The TLS configuration of connections.
pub type Tls = Arc<ClientConfig>;

/// Returns the configuration of TLS that trusts the authorities of a PEM file, or the system's without one.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the file cannot be used, or the system has no
/// authorities, and [`Error::Unavailable`](crate::Error::Unavailable) if the process has no descriptors or memory
/// left.
pub fn client_tls(ca_file: Option<&Path>) -> Result<Tls> {
    let trust = match ca_file {
        Some(file) => Trust::authorities(file),
        None => Trust::system(),
    };
    trust?.into_tls()
}

impl Dialer {
    /// Connects to a host that the operator has chosen, which may be on a private network. `within` is also the first
    /// time limit of the connection. An unencrypted connection does not go through the proxy, and neither does one to
    /// this machine.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable): nothing was sent.
    #[doc(hidden)]
    pub fn connect(
        &self,
        host: &str,
        port: u16,
        is_encrypted: bool,
        within: Duration,
    ) -> Result<Link> {
        let host = match host.contains(':') && !host.starts_with('[') {
            true => format!("[{host}]"),
            false => host.to_owned(),
        };
        let reach = match is_this_machine(&host) {
            true => Reach::ThisMachine,
            false => Reach::Anywhere,
        };
        let shown = format!("{host}:{port}");
        let peer = Peer { host: &host, port, shown: &shown, reach, is_encrypted };
        let socket = self.dial(&peer, Deadline::within(within))?;
        Ok(Link(Stream::Plain(socket)))
    }
}

impl Link {
    /// Sets up TLS with this host.
    ///
    /// # Errors
    /// [`Error::Unavailable`](crate::Error::Unavailable) with the reason.
    pub fn encrypt(self, tls: &Tls, host: &str) -> Result<Link> {
        self.handshake(tls, host).map_err(without_client_settings)
    }

    pub(super) fn handshake(self, tls: &Tls, host: &str) -> Result<Link> {
        match self.0 {
            Stream::Plain(socket) => secure::handshake(tls, host, socket)
                .map(Link)
                .map_err(|fault| fault.at(Stage::Tls, host)),
            encrypted @ Stream::Encrypted(_) => Ok(Link(encrypted)),
        }
    }

    /// Sets the time from now until which reading and writing wait.
    pub fn set_time_limit(&mut self, within: Duration) {
        self.0.socket().set_deadline(Deadline::within(within));
    }

    /// Returns whether the peer has neither sent anything nor closed the connection.
    pub fn is_idle(&mut self) -> bool {
        self.0.is_idle()
    }

    /// Returns the connection below TLS, which does not block, for a caller with a runtime.
    ///
    /// # Errors
    /// The error of the system.
    pub fn into_tcp(mut self) -> io::Result<TcpStream> {
        self.0.socket().stream()
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
