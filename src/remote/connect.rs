//! Connections: how they are made, kept, and not shared with a forked child.

use super::deadline::Deadline;
use super::letter::{Letter, Sender};
use super::proxy::{Proxy, Tunnel};
use super::secure::Secure;
use super::trust::Trust;
use crate::Stage;
use rustls::ClientConfig;
use std::fmt;
use std::net::ToSocketAddrs;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::http::uri::Scheme;
use ureq::http::{Response, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, TcpConnector, Transport,
};
use ureq::{Agent, Body, Error, Timeout};

const HEADERS: usize = 32 * 1024;
/// Services close connections that were silent for a few seconds. A request that meets such a close
/// on its way fails and must not be repeated, so a connection is left before that.
const SILENT: Duration = Duration::from_secs(1);
/// More threads than a host has at the same moment in its logins.
const KEPT: usize = 32;

/// A response whose head has been read.
pub(super) type Reading = Result<Response<Body>, Error>;

/// How connections are made.
pub(super) struct Way {
    config: Config,
    tls: Option<Box<ClientConfig>>,
    proxy: Option<Arc<Proxy>>,
}

/// The connections of a process that are kept for its next call.
pub(super) struct Connections {
    way: Way,
    first: Process,
}

/// A forked child that wrote into its parent's connections would spoil both, so each process has
/// its own. No lock is held while the child looks for its own: another thread of the parent might
/// have held it when the fork happened.
struct Process {
    id: u32,
    agent: Agent,
    child: OnceLock<Box<Process>>,
}

impl Connections {
    pub(super) fn new(way: Way) -> Connections {
        Connections { first: Process::new(std::process::id(), &way), way }
    }

    pub(super) fn agent(&self) -> &Agent {
        self.agent_of(std::process::id())
    }

    fn agent_of(&self, id: u32) -> &Agent {
        let mut process = &self.first;
        while process.id != id {
            process = process.child.get_or_init(|| Box::new(Process::new(id, &self.way)));
        }
        &process.agent
    }
}

impl Process {
    fn new(id: u32, way: &Way) -> Process {
        Process { id, agent: way.agent(), child: OnceLock::new() }
    }
}

impl Way {
    pub(super) fn new(trust: Trust, proxy: Option<Proxy>) -> Way {
        let (tls, https_only) = match trust {
            Trust::Tls(tls) => (Some(tls), true),
            Trust::ThisMachine => (None, false),
        };
        Way { config: config(https_only), tls, proxy: proxy.map(Arc::new) }
    }

    /// An agent that says at which stage it failed.
    pub(super) fn agent(&self) -> Agent {
        let at = self.proxy.as_ref().map(|proxy| format!("the proxy {}", proxy.address));
        let at = at.as_deref().map(Arc::from);
        let staged = |stage| (stage, at.clone());
        let tcp = ().chain(Staged(staged(Stage::Connecting), TcpConnector::default()));
        let secure = Staged((Stage::Securing, None), Secure::new(self.tls.as_deref()));
        let resolver = OnThisThread(self.proxy.clone());
        match &self.proxy {
            None => {
                Agent::with_parts(self.config.clone(), tcp.chain(secure).chain(Sender), resolver)
            }
            Some(proxy) => {
                let tunnel = Tunnel(Arc::clone(proxy));
                let tunnel = tcp.chain(Staged(staged(Stage::Connecting), tunnel));
                Agent::with_parts(self.config.clone(), tunnel.chain(secure).chain(Sender), resolver)
            }
        }
    }
}

/// Sends a request and reads the head of its response. The body must be read by the same deadline,
/// which it keeps.
pub(super) fn run(agent: &Agent, letter: Letter, deadline: Deadline) -> crate::Result<Reading> {
    let (_ready, envelope) = letter.lay_out()?;
    let envelope = agent.configure_request(envelope).timeout_global(Some(deadline.left())).build();
    Ok(agent.run(envelope))
}

/// Every setting whose default would follow, repeat, leak or wait for ever.
fn config(https_only: bool) -> Config {
    Agent::config_builder()
        .https_only(https_only)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .max_idle_age(SILENT)
        .max_idle_connections(KEPT)
        .max_idle_connections_per_host(KEPT)
        .max_response_header_size(HEADERS)
        .input_buffer_size(2 * HEADERS)
        .output_buffer_size(HEADERS)
        .build()
}

/// An error while a connection was made, when nothing of the request was sent yet.
#[derive(Debug)]
pub(super) struct Early {
    pub(super) stage: Stage,
    /// Who was talked to, if not the service.
    pub(super) at: Option<Arc<str>>,
    pub(super) error: Error,
}

impl Early {
    fn wrap(stage: Stage, at: Option<Arc<str>>, error: Error) -> Error {
        Error::Other(Box::new(Early { stage, at, error }))
    }
}

impl fmt::Display for Early {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed while {}", self.stage)
    }
}

impl std::error::Error for Early {}

#[derive(Debug)]
struct Staged<C>((Stage, Option<Arc<str>>), C);

impl<In: Transport, C: Connector<In>> Connector<In> for Staged<C> {
    type Out = C::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<C::Out>, Error> {
        let (stage, at) = &self.0;
        self.1.connect(details, chained).map_err(|error| Early::wrap(*stage, at.clone(), error))
    }
}

/// Looks names up on the caller's thread; the library's own way starts one for each look-up. With a
/// proxy, its name is the one that is looked up, and the service's is the proxy's matter.
struct OnThisThread(Option<Arc<Proxy>>);

impl Resolver for OnThisThread {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let at = self.0.as_ref().map(|proxy| format!("the proxy {}", proxy.address));
        let found = self.look_up(uri, timeout);
        found.map_err(|error| Early::wrap(Stage::Resolving, at.as_deref().map(Arc::from), error))
    }
}

impl OnThisThread {
    fn look_up(&self, uri: &Uri, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Error::HostNotFound);
        };
        let authority = self.0.as_ref().map_or(authority, |proxy| &proxy.address);
        let name = DefaultResolver::host_and_port(scheme, authority).ok_or(Error::HostNotFound)?;
        let started = Instant::now();
        let found = name.to_socket_addrs();
        if started.elapsed() >= *timeout.after {
            return Err(Error::Timeout(Timeout::Resolve));
        }
        let addresses = found.map_err(|_| Error::HostNotFound)?;
        // What is not encrypted must not leave this machine, whatever `localhost` stands for here.
        let allowed = addresses.filter(|to| *scheme == Scheme::HTTPS || to.ip().is_loopback());
        let mut result = self.empty();
        allowed.take(16).for_each(|address| result.push(address));
        if result.is_empty() { Err(Error::HostNotFound) } else { Ok(result) }
    }
}

impl fmt::Debug for OnThisThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnThisThread")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_to_defaults() {
        let config = config(true);
        assert!(config.proxy().is_none());
        assert_eq!(config.max_redirects(), 0);
    }

    #[test]
    fn a_forked_child_has_connections_of_its_own() {
        let connections = Connections::new(Way::new(Trust::ThisMachine, None));
        let (own, child) = (connections.agent(), connections.agent_of(0));
        assert!(!std::ptr::eq(own, child));
        assert!(std::ptr::eq(own, connections.agent()));
        assert!(std::ptr::eq(child, connections.agent_of(0)));
    }
}
