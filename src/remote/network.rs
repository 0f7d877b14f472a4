//! Services on the network, and connections to them.

use super::connect::Connection;
use super::deadline::Deadline;
use super::dialer::{Dialer, Peer};
use super::reach::Reach;
use super::secure;
use super::stream::Stream;
use super::trust::Trust;
use crate::{Result, Stage};
use http::uri::Authority;
use rustls::ClientConfig;
use std::sync::Arc;

/// The state that the connections of one process share: the configuration of TLS, if they use it.
pub(super) type Session = Option<Arc<ClientConfig>>;

/// Establishes connections to one host.
pub(super) struct Network {
    host: Authority,
    tls: Option<Box<ClientConfig>>,
    dialer: Dialer,
    reach: Reach,
}

impl Network {
    /// Connections to this host.
    pub(super) fn new(host: Authority, trust: Trust, dialer: Dialer) -> Network {
        let (tls, reach) = match trust {
            Trust::Tls(tls) => (Some(tls), Reach::Anywhere),
            Trust::ThisMachine => (None, Reach::ThisMachine),
        };
        Network { host, tls, dialer, reach }
    }

    /// Connections to these addresses only, and never to others where there is no TLS.
    #[cfg(feature = "engine")]
    pub(super) fn within(mut self, reach: Reach) -> Network {
        if self.tls.is_some() {
            self.reach = reach;
        }
        self
    }

    pub(super) fn session(&self) -> Session {
        self.tls.as_deref().map(secure::of_process)
    }

    /// Establishes a connection.
    pub(super) fn connect(&self, tls: &Session, deadline: Deadline) -> Result<Connection> {
        let is_encrypted = self.tls.is_some();
        let port = self.host.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        let (host, shown, reach) = (self.host.host(), self.host.as_str(), self.reach);
        let peer = Peer { host, port, shown, reach, is_encrypted };
        let socket = self.dialer.dial(&peer, deadline)?;
        let stream = match tls {
            Some(tls) => {
                secure::handshake(tls, host, socket).map_err(|fault| fault.at(Stage::Tls, shown))?
            }
            None => Stream::Plain(socket),
        };
        Ok(Connection::new(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::Lookup;
    use super::super::raw_request::RawRequest;
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// Returns a listener with a full backlog, so that no further connection to it is established.
    fn full(address: SocketAddr) -> Option<(socket2::Socket, Vec<TcpStream>)> {
        let kinds = (socket2::Domain::for_address(address), socket2::Type::STREAM);
        let socket = socket2::Socket::new(kinds.0, kinds.1, None).unwrap();
        socket.bind(&address.into()).ok()?;
        socket.listen(0).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            waiting.push(stream);
            assert!(waiting.len() < 16);
        }
        Some((socket, waiting))
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods, reason = "a test needs a server")]
    fn an_address_that_does_not_answer_leaves_time_for_the_next() {
        let (listener, silent) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            if let Some(silent) = full(([127, 0, 0, 2], port).into()) {
                break (listener, silent);
            }
        };
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n");
        });
        let hosts = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(hosts.path(), "127.0.0.2 two\n127.0.0.1 two\n192.0.2.1 two\n").unwrap();
        let lookup = Lookup::default().with_files(hosts.path().into(), "/nowhere".into());
        let host: Authority = format!("two:{port}").parse().unwrap();
        let request = RawRequest::new("GET", host.as_str(), "/").unwrap().end(None).unwrap();
        let network = Network::new(host, Trust::ThisMachine, Dialer::resolving_by(lookup));
        let started = Instant::now();
        let deadline = Deadline::within(Duration::from_secs(3));
        let mut connection = network.connect(&None, deadline).unwrap();
        connection.send(request.bytes()).unwrap();
        assert_eq!(connection.head().unwrap().status, 204);
        // The silent address was tried, and the one of another machine was not, because the
        // connection is unencrypted.
        let took = started.elapsed();
        assert!(took > Duration::from_secs(1) && took < Duration::from_millis(2900), "{took:?}");
        drop(silent);
    }
}
