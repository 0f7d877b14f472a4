//! Connections: how they are established, kept open, and not shared with a forked child.

use super::deadline::Deadline;
use super::dial::{DeferredResolver, Dial};
use super::lookup::Lookup;
use super::proxy::{Proxy, Tunnel};
use super::raw_request::{RawRequest, RawSender};
use super::secure::Secure;
use super::trust::Trust;
use crate::Stage;
use rustls::ClientConfig;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use ureq::config::Config;
use ureq::http::Response;
use ureq::unversioned::transport::Connector as _;
use ureq::unversioned::transport::{self, ConnectionDetails, TcpConnector, Transport};
use ureq::{Agent, Body, Error};

/// The maximum size of a response's headers.
const HEADERS: usize = 32 * 1024;
/// Services close connections that were idle for a few seconds. A request that crosses such a close
/// fails and must not be retried, so a connection is dropped before that.
const MAX_IDLE: Duration = Duration::from_secs(1);
/// The maximum number of idle connections: more than the threads of a host that log in users at the
/// same time.
const KEPT: usize = 32;

/// A response whose head has been read.
pub(super) type Reading = Result<Response<Body>, Error>;

/// How connections are established.
pub(super) struct Connector {
    config: Config,
    tls: Option<Box<ClientConfig>>,
    proxy: Option<Arc<Proxy>>,
    lookup: Lookup,
}

/// The connections of a process that are kept open for its next call.
pub(super) struct Connections {
    connector: Connector,
    first: Process,
}

/// The connections of one process. A forked child that wrote to its parent's connections would
/// corrupt the traffic of both, so each process has separate ones. The list of processes needs no
/// lock, which another thread of the parent might have held at the time of the fork.
struct Process {
    id: Id,
    agent: Agent,
    child: OnceLock<Box<Process>>,
}

/// Identifies a process. The id of a process that has ended may be reused for a descendant, but not
/// with the same parent, unless the parent's id was reused too, or both processes are the first of
/// a PID namespace; a program that creates one must open its service afterwards. A process whose
/// parent ends gets a new identity, which costs it a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Id {
    own: u32,
    parent: u32,
}

impl Id {
    fn now() -> Id {
        #[cfg(unix)]
        let parent = std::os::unix::process::parent_id();
        #[cfg(not(unix))]
        let parent = 0;
        Id { own: std::process::id(), parent }
    }
}

impl Connections {
    pub(super) fn new(connector: Connector) -> Connections {
        Connections { first: Process::new(Id::now(), &connector), connector }
    }

    pub(super) fn agent(&self) -> &Agent {
        self.agent_of(Id::now())
    }

    fn agent_of(&self, id: Id) -> &Agent {
        let mut process = &self.first;
        while process.id != id {
            process = match process.child.get() {
                Some(child) => child,
                // Created before `get_or_init`: a fork during that call would leave the cell locked
                // in the child for ever.
                None => {
                    let child = Box::new(Process::new(id, &self.connector));
                    process.child.get_or_init(|| child)
                }
            };
        }
        &process.agent
    }
}

impl Process {
    fn new(id: Id, connector: &Connector) -> Process {
        Process { id, agent: connector.agent(), child: OnceLock::new() }
    }
}

impl Connector {
    pub(super) fn new(trust: Trust, proxy: Option<Proxy>, lookup: Lookup) -> Connector {
        let (tls, https_only) = match trust {
            Trust::Tls(tls) => (Some(tls), true),
            Trust::ThisMachine => (None, false),
        };
        Connector { config: config(https_only), tls, proxy: proxy.map(Arc::new), lookup }
    }

    /// An HTTP agent with errors that include the stage that failed.
    pub(super) fn agent(&self) -> Agent {
        let dial = Dial {
            lookup: self.lookup.clone(),
            proxy: self.proxy.clone(),
            tcp: TcpConnector::default(),
        };
        let secure = WithStage((Stage::Tls, None), Secure::new(self.tls.as_deref()));
        match &self.proxy {
            None => Agent::with_parts(
                self.config.clone(),
                dial.chain(secure).chain(RawSender),
                DeferredResolver,
            ),
            Some(proxy) => {
                let at = Arc::from(format!("the proxy {}", proxy.address));
                let tunnel = WithStage((Stage::Connect, Some(at)), Tunnel(Arc::clone(proxy)));
                let through = dial.chain(tunnel).chain(secure).chain(RawSender);
                Agent::with_parts(self.config.clone(), through, DeferredResolver)
            }
        }
    }
}

/// Sends a request and reads the head of its response. The returned body has the same deadline.
pub(super) fn run(
    agent: &Agent,
    request: RawRequest,
    deadline: Deadline,
) -> crate::Result<Reading> {
    let (_staged, placeholder) = request.stage_for_send()?;
    let placeholder =
        agent.configure_request(placeholder).timeout_global(Some(deadline.left())).build();
    Ok(agent.run(placeholder))
}

/// Sets everything for which the default could follow redirects, use a proxy, retry or wait for
/// ever.
fn config(https_only: bool) -> Config {
    Agent::config_builder()
        .https_only(https_only)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .max_idle_age(MAX_IDLE)
        .max_idle_connections(KEPT)
        .max_idle_connections_per_host(KEPT)
        .max_response_header_size(HEADERS)
        .input_buffer_size(2 * HEADERS)
        .output_buffer_size(HEADERS)
        .build()
}

/// An error while a connection was being established, before any part of the request was sent.
#[derive(Debug)]
pub(super) struct ConnectError {
    pub(super) stage: Stage,
    /// The peer, if it was not the service.
    pub(super) at: Option<Arc<str>>,
    pub(super) error: Error,
}

impl ConnectError {
    pub(super) fn wrap(stage: Stage, at: Option<Arc<str>>, error: Error) -> Error {
        Error::Other(Box::new(ConnectError { stage, at, error }))
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed while {}", self.stage)
    }
}

impl std::error::Error for ConnectError {}

#[derive(Debug)]
struct WithStage<C>((Stage, Option<Arc<str>>), C);

impl<In: Transport, C: transport::Connector<In>> transport::Connector<In> for WithStage<C> {
    type Out = C::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<C::Out>, Error> {
        let (stage, at) = &self.0;
        self.1
            .connect(details, chained)
            .map_err(|error| ConnectError::wrap(*stage, at.clone(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_and_proxies_are_disabled() {
        let config = config(true);
        assert!(config.proxy().is_none());
        assert_eq!(config.max_redirects(), 0);
    }

    #[test]
    fn a_forked_child_has_separate_connections() {
        let connections =
            Connections::new(Connector::new(Trust::ThisMachine, None, Lookup::new(&[]).unwrap()));
        let own = Id::now();
        let child = Id { own: own.own + 1, parent: own.own };
        // By then the first process has ended, and its id can be reused.
        let grandchild = Id { own: own.own, parent: child.own };
        let ids = [own, child, grandchild];
        let agents = ids.map(|id| connections.agent_of(id));
        assert!(std::ptr::eq(agents[0], connections.agent()));
        for (at, agent) in agents.into_iter().enumerate() {
            let same = agents.map(|other| std::ptr::eq(agent, other));
            assert_eq!(same, [0, 1, 2].map(|other| other == at));
            assert!(std::ptr::eq(agent, connections.agent_of(ids[at])));
        }
    }
}
