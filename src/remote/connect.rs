//! Connections of one process: establishes them, keeps them open, and does not share them with a
//! forked child.

use super::deadline::Deadline;
use super::http1;
#[cfg(feature = "unix")]
use super::local::Local;
#[cfg(feature = "https")]
use super::network::{Network, Session};
use super::process::PerProcess;
use super::stream::Stream;
use crate::Result;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Services close connections that were idle for a few seconds. A request that crosses such a close
/// fails and must not be retried, so a connection is dropped before that.
pub(super) const MAX_IDLE: Duration = Duration::from_secs(1);
/// The maximum number of idle connections: more than the threads of a host that log in users at the
/// same time.
pub(super) const KEPT: usize = 32;

/// The connections of one process share nothing where none of them uses TLS.
#[cfg(not(feature = "https"))]
#[derive(Default)]
struct Session {}

/// A connection to the service.
pub(super) type Connection = http1::Connection<Stream>;

/// Establishes connections to the service.
pub(super) enum Connector {
    #[cfg(feature = "https")]
    Network(Box<Network>),
    #[cfg(feature = "unix")]
    Local(Local),
}

/// The connections of a process that are kept open for its next call.
pub(super) struct Connections {
    connector: Connector,
    /// The time after which an idle connection is dropped. With zero, each is closed after its
    /// reply.
    max_idle: Duration,
    /// The maximum number of idle connections.
    most: usize,
    processes: PerProcess<Process>,
}

/// The connections of one process.
pub(super) struct Process {
    session: Session,
    /// The connections, and since when each is idle.
    idle: Mutex<Vec<(Instant, Connection)>>,
}

impl Connections {
    /// Keeps at most `most` idle connections.
    pub(super) fn new(connector: Connector, max_idle: Duration, most: usize) -> Connections {
        let processes = PerProcess::new(Process::new(&connector));
        Connections { processes, max_idle, most, connector }
    }

    /// Returns the connections of this process.
    pub(super) fn process(&self) -> &Process {
        self.processes.get(|| Process::new(&self.connector))
    }

    /// Returns an idle connection, or a new one.
    pub(super) fn connection(&self, process: &Process, deadline: Deadline) -> Result<Connection> {
        match self.kept(process, deadline) {
            Some(connection) => Ok(connection),
            None => self.connect(process, deadline),
        }
    }

    /// Returns an idle connection. The service may be closing it at this moment.
    pub(super) fn kept(&self, process: &Process, deadline: Deadline) -> Option<Connection> {
        let (_, mut connection) = process.take(self.max_idle)?;
        connection.stream().socket().set_deadline(deadline);
        Some(connection)
    }

    /// Establishes a new connection.
    pub(super) fn connect(&self, process: &Process, deadline: Deadline) -> Result<Connection> {
        self.connector.connect(&process.session, deadline)
    }

    /// Keeps a connection for the next call, if it can be reused.
    pub(super) fn keep(&self, process: &Process, connection: Connection) {
        if !self.max_idle.is_zero() {
            process.keep_since(Instant::now(), connection, self.most);
        }
    }

    /// Drops the connections that can no longer be used, and establishes one if there is no other.
    /// This does not reset the idle time of a connection that is kept.
    pub(super) fn keep_warm(&self, deadline: Deadline) -> Result<()> {
        if self.max_idle.is_zero() {
            return Ok(());
        }
        let process = self.process();
        let (since, connection) = match process.take(self.max_idle) {
            Some(kept) => kept,
            None => (Instant::now(), self.connect(process, deadline)?),
        };
        process.keep_since(since, connection, self.most);
        Ok(())
    }

    /// Closes the connections that were idle for too long.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub(super) fn close_old(&self) {
        self.process().idle().retain(|(since, _)| since.elapsed() < self.max_idle);
    }

    /// Acts as if this time had passed. Returns the number of idle connections.
    #[cfg(all(test, feature = "engine", feature = "https"))]
    pub(super) fn age(&self, by: Duration) -> usize {
        let mut idle = self.process().idle();
        idle.iter_mut().for_each(|(since, _)| *since = since.checked_sub(by).unwrap_or(*since));
        idle.len()
    }
}

impl Process {
    fn new(connector: &Connector) -> Process {
        Process { session: connector.session(), idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection that was used last, so that those which are not needed become old,
    /// and since when it is idle.
    fn take(&self, max_idle: Duration) -> Option<(Instant, Connection)> {
        loop {
            let mut idle = self.idle();
            idle.retain(|(since, _)| since.elapsed() < max_idle);
            let (since, mut connection) = idle.pop()?;
            drop(idle);
            if connection.stream().is_idle() {
                return Some((since, connection));
            }
        }
    }

    fn keep_since(&self, since: Instant, connection: Connection, most: usize) {
        if connection.is_reusable() {
            let mut idle = self.idle();
            if idle.len() >= most {
                idle.remove(0);
            }
            idle.push((since, connection));
        }
    }
}

impl Connector {
    fn session(&self) -> Session {
        match self {
            #[cfg(feature = "https")]
            Connector::Network(network) => network.session(),
            #[cfg(feature = "unix")]
            Connector::Local(_) => Session::default(),
        }
    }

    /// Establishes a connection.
    #[cfg_attr(not(feature = "https"), allow(unused_variables, reason = "only TLS has sessions"))]
    fn connect(&self, session: &Session, deadline: Deadline) -> Result<Connection> {
        match self {
            #[cfg(feature = "https")]
            Connector::Network(network) => network.connect(session, deadline),
            #[cfg(feature = "unix")]
            Connector::Local(local) => local.connect(deadline),
        }
    }
}
