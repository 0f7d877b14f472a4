//! From the name of a host to a connection to it.

use super::connect::Early;
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

/// Looks up the host, or the proxy where there is one, and connects to it. What a proxy is asked to
/// connect to is the proxy's to look up.
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
        let early = |stage, error| Early::wrap(stage, at.clone(), error);
        let addrs = self.find(details).map_err(|error| early(Stage::Resolving, error))?;
        let details = ConnectionDetails {
            addrs,
            now: (details.current_time)(),
            timeout: left(details),
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
            ..*details
        };
        self.tcp.connect(&details, None).map_err(|error| early(Stage::Connecting, error))
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
        // What is not encrypted must not leave this machine, whatever a name stands for here.
        let allowed = addresses.into_iter().filter(|address| https || address.is_loopback());
        let mut result = none();
        allowed.take(MOST).for_each(|ip| result.push(SocketAddr::new(ip, port)));
        match result.is_empty() {
            true => Err(Error::Other(Box::new(Failure::Unknown))),
            false => Ok(result),
        }
    }
}

/// The HTTP library asks for addresses before every request, also before one for which it has a
/// connection. So it is given one that stands for none, and [`Dial`] looks the host up.
pub(super) struct Later;

impl Resolver for Later {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut result = none();
        result.push((Ipv4Addr::UNSPECIFIED, 0).into());
        Ok(result)
    }
}

fn none() -> ResolvedSocketAddrs {
    ArrayVec::from_fn(|_| (Ipv4Addr::UNSPECIFIED, 0).into())
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Later")
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}
