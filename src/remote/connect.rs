//! Connections: how they are established, kept open, and not shared with a forked child.

use super::deadline::Deadline;
use super::http1;
#[cfg(feature = "unix")]
use super::local::Local;
#[cfg(feature = "https")]
use super::network::{Network, Session};
use super::stream::Stream;
use crate::Result;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Services close connections that were idle for a few seconds. A request that crosses such a close
/// fails and must not be retried, so a connection is dropped before that.
pub(super) const MAX_IDLE: Duration = Duration::from_secs(1);
/// The maximum number of idle connections: more than the threads of a host that log in users at the
/// same time.
const KEPT: usize = 32;

/// The connections of one process share nothing where none of them uses TLS.
#[cfg(not(feature = "https"))]
#[derive(Default)]
struct Session {}

/// A connection to the service.
pub(super) type Connection = http1::Connection<Stream>;

/// How connections to the service are established.
pub(super) enum Connector {
    #[cfg(feature = "https")]
    Network(Box<Network>),
    #[cfg(feature = "unix")]
    Local(Local),
}

/// The connections of a process that are kept open for its next call.
pub(super) struct Connections {
    connector: Connector,
    /// How long a connection may be idle before it is dropped. With zero, each is closed after its reply.
    max_idle: Duration,
    first: Process,
}

/// The connections of one process. A forked child that wrote to its parent's connections would
/// corrupt the traffic of both, so each process has separate ones. The list of processes needs no
/// lock, which another thread of the parent might have held at the time of the fork.
pub(super) struct Process {
    id: Id,
    session: Session,
    /// The connections, and since when each is idle.
    idle: Mutex<Vec<(Instant, Connection)>>,
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
    pub(super) fn new(connector: Connector, max_idle: Duration) -> Connections {
        Connections { first: Process::new(Id::now(), &connector), max_idle, connector }
    }

    /// The connections of this process.
    pub(super) fn process(&self) -> &Process {
        self.process_of(Id::now())
    }

    /// An idle connection, or a new one.
    pub(super) fn connection(&self, process: &Process, deadline: Deadline) -> Result<Connection> {
        match process.take(self.max_idle) {
            Some((_, mut connection)) => {
                connection.stream().socket().set_deadline(deadline);
                Ok(connection)
            }
            None => self.connector.connect(&process.session, deadline),
        }
    }

    /// Keeps a connection for the next call, if it can be reused.
    pub(super) fn keep(&self, process: &Process, connection: Connection) {
        if !self.max_idle.is_zero() {
            process.keep_since(Instant::now(), connection);
        }
    }

    /// Drops the connections that can no longer be used, and establishes one if none is left. One
    /// that is left does not become younger by this.
    pub(super) fn keep_warm(&self, deadline: Deadline) -> Result<()> {
        if self.max_idle.is_zero() {
            return Ok(());
        }
        let process = self.process();
        let (since, connection) = match process.take(self.max_idle) {
            Some(kept) => kept,
            None => {
                let connection = self.connector.connect(&process.session, deadline)?;
                (Instant::now(), connection)
            }
        };
        process.keep_since(since, connection);
        Ok(())
    }

    fn process_of(&self, id: Id) -> &Process {
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
        process
    }
}

impl Process {
    fn new(id: Id, connector: &Connector) -> Process {
        let session = connector.session();
        Process { id, session, idle: Mutex::default(), child: OnceLock::new() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that was used last, so that those which are not needed become old, and since
    /// when it is idle.
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

    fn keep_since(&self, since: Instant, connection: Connection) {
        if connection.is_reusable() {
            let mut idle = self.idle();
            if idle.len() >= KEPT {
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

#[cfg(feature = "https")]
#[cfg(test)]
mod tests {
    use super::super::lookup::Lookup;
    use super::super::trust::Trust;
    use super::*;

    #[test]
    fn a_forked_child_has_separate_connections() {
        let lookup = Lookup::new(&[]).unwrap();
        let network = Network::new("localhost".parse().unwrap(), Trust::ThisMachine, None, lookup);
        let connections = Connections::new(Connector::Network(Box::new(network)), MAX_IDLE);
        let own = Id::now();
        let child = Id { own: own.own + 1, parent: own.own };
        // By then the first process has ended, and its id can be reused.
        let grandchild = Id { own: own.own, parent: child.own };
        let ids = [own, child, grandchild];
        let processes = ids.map(|id| connections.process_of(id));
        assert!(std::ptr::eq(processes[0], connections.process()));
        for (at, process) in processes.into_iter().enumerate() {
            let same = processes.map(|other| std::ptr::eq(process, other));
            assert_eq!(same, [0, 1, 2].map(|other| other == at));
            assert!(std::ptr::eq(process, connections.process_of(ids[at])));
        }
    }
}
