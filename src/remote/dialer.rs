//! Connections to hosts: their names, the addresses that are allowed, and the proxy.

use super::deadline::Deadline;
use super::error_mapping::Fault;
use super::lookup::{Failure, Lookup};
use super::proxy::{Proxy, may_reach_another, rejection};
use super::reach::Reach;
use super::socket::{Socket, is_interrupted};
use crate::model::Secret;
use crate::{Error, Result, Stage};
use std::net::SocketAddr;
use std::sync::Arc;

/// Resolves names and connects, by the settings `name_server` and `proxy`.
///
/// A program has one for all its connections, so that these settings mean the same for each of them.
/// [`Settings::dialer`](crate::Settings::dialer) makes it.
#[derive(Clone, Default)]
pub struct Dialer {
    lookup: Lookup,
    proxy: Option<Arc<Proxy>>,
}

/// The other end of a connection.
pub(super) struct Peer<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    /// The host in messages.
    pub(super) shown: &'a str,
    pub(super) reach: Reach,
    /// Set if all that matters is sent with TLS.
    pub(super) is_encrypted: bool,
}

impl Dialer {
    /// Uses these name servers, or the system's if the list is empty.
    pub(super) fn new(name_servers: &[String], proxy: Option<&Secret>) -> Result<Dialer> {
        let proxy = proxy.map(Proxy::parse).transpose()?.map(Arc::new);
        Ok(Dialer { lookup: Lookup::new(name_servers)?, proxy })
    }

    /// Uses this resolver and no proxy.
    #[cfg(test)]
    pub(super) fn resolving_by(lookup: Lookup) -> Dialer {
        Dialer { lookup, proxy: None }
    }

    /// Uses this proxy.
    #[cfg(test)]
    pub(super) fn through(self, proxy: &str) -> Dialer {
        let proxy = Proxy::parse(&Secret::new(proxy)).unwrap();
        Dialer { proxy: Some(Arc::new(proxy)), ..self }
    }

    /// Connects to a host, through the proxy unless the connection is unencrypted or must not leave this machine.
    pub(super) fn dial(&self, to: &Peer<'_>, deadline: Deadline) -> Result<Socket> {
        let is_proxied = to.is_encrypted && to.reach != Reach::ThisMachine;
        match self.proxy.as_deref().filter(|_| is_proxied) {
            Some(proxy) => self.tunnel(proxy, to, deadline),
            None => connect(&self.addresses(to, deadline)?, to.shown, deadline),
        }
    }

    /// Connects through a proxy. It resolves the host itself, unless only some addresses are allowed: it is then asked
    /// for an address that was checked here, because it could find another one for the name.
    fn tunnel(&self, proxy: &Proxy, to: &Peer<'_>, deadline: Deadline) -> Result<Socket> {
        let shown = format!("the proxy {}", proxy.address);
        let peer = Peer {
            host: proxy.address.host(),
            port: proxy.port,
            shown: &shown,
            reach: Reach::Anywhere,
            is_encrypted: false,
        };
        let targets: Vec<String> = match to.reach {
            #[cfg(feature = "engine")]
            Reach::Public => {
                self.addresses(to, deadline)?.iter().map(ToString::to_string).collect()
            }
            _ => vec![format!("{}:{}", to.host, to.port)],
        };
        let addresses = self.addresses(&peer, deadline)?;
        let mut failure = None;
        for (at, target) in targets.iter().enumerate() {
            let mut socket = connect(&addresses, &shown, deadline)?;
            if at + 1 < targets.len() {
                // An address that does not respond leaves time for the next one.
                socket.set_deadline(deadline.sooner(deadline.left() / 2));
            }
            let (fault, may_go_on) = match proxy.tunnel(&mut socket, target) {
                Ok(200..300) => {
                    socket.set_deadline(deadline);
                    return Ok(socket);
                }
                Ok(status) => (rejection(status), may_reach_another(status)),
                Err(fault) => {
                    let is_ended = matches!(&fault, Fault::Io(error) if is_interrupted(error));
                    (fault, !is_ended)
                }
            };
            let fault = fault.at(Stage::Connect, &shown);
            if !may_go_on {
                return Err(fault);
            }
            failure = Some(fault);
        }
        Err(failure.unwrap_or_else(|| unresolved(Failure::Unknown, to)))
    }

    /// Returns the addresses of a host that are allowed.
    fn addresses(&self, of: &Peer<'_>, deadline: Deadline) -> Result<Vec<SocketAddr>> {
        let found = self.lookup.addresses(of.host, deadline);
        let found = found.map_err(|failure| unresolved(failure, of))?;
        // Only these addresses are connected to: the name is not resolved again, so that its
        // addresses cannot change after the check.
        let (allowed, refused): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|address| of.reach.allows(*address));
        match (allowed.is_empty(), refused.first()) {
            (false, _) => Ok(allowed.into_iter().map(|ip| SocketAddr::new(ip, of.port)).collect()),
            (true, Some(address)) if of.reach != Reach::ThisMachine => {
                Err(Fault::Lookup(Failure::Refused(*address)).at(Stage::Connect, of.shown))
            }
            (true, _) => Err(unresolved(Failure::Unknown, of)),
        }
    }
}

fn connect(addresses: &[SocketAddr], shown: &str, deadline: Deadline) -> Result<Socket> {
    Socket::dial(addresses, deadline).map_err(|error| Fault::Io(error).at(Stage::Connect, shown))
}

fn unresolved(failure: Failure, peer: &Peer<'_>) -> Error {
    Fault::Lookup(failure).at(Stage::Dns, peer.shown)
}
