//! Resolves the name of a host and connects to it.

use super::connect::ConnectError;
use super::deadline::Deadline;
use super::lookup::{Failure, Lookup, MOST};
use super::proxy::Proxy;
use super::secure::left;
use crate::Stage;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::uri::Scheme;
use ureq::unversioned::resolver::{ArrayVec, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, TcpConnector};

/// Resolves the host, or the proxy if there is one, and connects to it. A proxy resolves the host
/// itself.
pub(super) struct Dial {
    pub(super) lookup: Lookup,
    pub(super) proxy: Option<Arc<Proxy>>,
    pub(super) tcp: TcpConnector,
}

impl Connector<()> for Dial {
    type Out = <TcpConnector as Connector<()>>::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let at = self.proxy.as_ref().map(|proxy| Arc::from(format!("the proxy {}", proxy.address)));
        let connect_error = |stage, error| ConnectError::wrap(stage, at.clone(), error);
        let addrs = self.find(details).map_err(|error| connect_error(Stage::Dns, error))?;
        let details = ConnectionDetails {
            addrs,
            now: (details.current_time)(),
            timeout: left(details),
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
            ..*details
        };
        self.tcp.connect(&details, None).map_err(|error| connect_error(Stage::Connect, error))
    }
}

impl Dial {
    fn find(&self, details: &ConnectionDetails<'_>) -> Result<ResolvedSocketAddrs, Error> {
        let (Some(scheme), Some(host)) = (details.uri.scheme(), details.uri.authority()) else {
            return Err(Error::HostNotFound);
        };
        let host = self.proxy.as_ref().map_or(host, |proxy| &proxy.address);
        let https = *scheme == Scheme::HTTPS;
        let port = host.port_u16().unwrap_or(if https { 443 } else { 80 });
        let found = self.lookup.addresses(host.host(), Deadline::within(*details.timeout.after));
        let addresses = found.map_err(|failure| Error::Other(Box::new(failure)))?;
        // Unencrypted requests must not leave this machine, whatever addresses a name resolves to.
        let allowed = addresses.into_iter().filter(|address| https || address.is_loopback());
        let mut result = none();
        allowed.take(MOST).for_each(|ip| result.push(SocketAddr::new(ip, port)));
        match result.is_empty() {
            true => Err(Error::Other(Box::new(Failure::Unknown))),
            false => Ok(result),
        }
    }
}

/// The HTTP library resolves the host before every request, even if it already has a connection. It
/// is therefore given a placeholder address, and [`Dial`] resolves the host when it connects.
pub(super) struct DeferredResolver;

impl Resolver for DeferredResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut result = none();
        result.push((Ipv4Addr::UNSPECIFIED, 0).into());
        Ok(result)
    }
}

fn none() -> ResolvedSocketAddrs {
    ArrayVec::from_fn(|_| (Ipv4Addr::UNSPECIFIED, 0).into())
}

impl fmt::Debug for DeferredResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeferredResolver")
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

#[cfg(test)]
mod tests {
    use super::super::connect;
    use super::super::raw_request::RawRequest;
    use super::super::trust::Trust;
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// A listener with a full backlog, so that no further connection to it is established.
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
        let lookup = Lookup::new(&[]).unwrap();
        let lookup = lookup.with_files(hosts.path().into(), "/nowhere".into());
        let agent = connect::Connector::new(Trust::ThisMachine, None, lookup).agent();
        let origin = format!("http://two:{port}").parse().unwrap();
        let request = RawRequest::new("GET", &origin, "/").unwrap().end(None).unwrap();
        let started = Instant::now();
        let deadline = Deadline::within(Duration::from_secs(3));
        let response = connect::run(&agent, request, deadline).unwrap().unwrap();
        assert_eq!(response.status(), 204);
        // The silent address was tried, and the one of another machine was not, because the
        // connection is unencrypted.
        let took = started.elapsed();
        assert!(took > Duration::from_secs(1) && took < Duration::from_millis(2900), "{took:?}");
        drop(silent);
    }
}
