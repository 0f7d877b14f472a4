//! Connections: how they are established, kept open, and not shared with a forked child.

use super::deadline::Deadline;
use super::error_mapping::Fault;
use super::http1;
use super::lookup::{Failure, Lookup};
use super::proxy::Proxy;
use super::raw_request::unsendable;
use super::secure::{self, Stream};
use super::socket::Socket;
use super::trust::Trust;
use crate::{Result, Stage};
use http::Uri;
use http::uri::Authority;
use rustls::ClientConfig;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Services close connections that were idle for a few seconds. A request that crosses such a close
/// fails and must not be retried, so a connection is dropped before that.
const MAX_IDLE: Duration = Duration::from_secs(1);
/// The maximum number of idle connections: more than the threads of a host that log in users at the
/// same time.
const KEPT: usize = 32;

/// A connection to the service.
pub(super) type Connection = http1::Connection<Stream>;

/// How connections to one host are established.
pub(super) struct Connector {
    host: Authority,
    tls: Option<Box<ClientConfig>>,
    proxy: Option<Proxy>,
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
pub(super) struct Process {
    id: Id,
    tls: Option<Arc<ClientConfig>>,
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
    pub(super) fn new(connector: Connector) -> Connections {
        Connections { first: Process::new(Id::now(), &connector), connector }
    }

    /// The connections of this process.
    pub(super) fn process(&self) -> &Process {
        self.process_of(Id::now())
    }

    /// An idle connection, or a new one.
    pub(super) fn connection(&self, process: &Process, deadline: Deadline) -> Result<Connection> {
        match process.take(deadline) {
            Some(connection) => Ok(connection),
            None => self.connector.connect(process.tls.as_ref(), deadline),
        }
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
        Process { id, tls: connector.tls(), idle: Mutex::default(), child: OnceLock::new() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that was used last, so that those which are not needed become old.
    fn take(&self, deadline: Deadline) -> Option<Connection> {
        loop {
            let mut idle = self.idle();
            idle.retain(|(since, _)| since.elapsed() < MAX_IDLE);
            let (_, mut connection) = idle.pop()?;
            drop(idle);
            if connection.stream().is_idle() {
                connection.stream().socket().set_deadline(deadline);
                return Some(connection);
            }
        }
    }

    /// Keeps a connection for the next call, if it can be reused.
    pub(super) fn keep(&self, connection: Connection) {
        if connection.is_reusable() {
            let mut idle = self.idle();
            if idle.len() >= KEPT {
                idle.remove(0);
            }
            idle.push((Instant::now(), connection));
        }
    }
}

impl Connector {
    /// Connections to the host of this URL.
    pub(super) fn new(
        url: &Uri,
        trust: Trust,
        proxy: Option<Proxy>,
        lookup: Lookup,
    ) -> Result<Connector> {
        let tls = match trust {
            Trust::Tls(tls) => Some(tls),
            Trust::ThisMachine => None,
        };
        let host = url.authority().cloned().ok_or_else(unsendable)?;
        Ok(Connector { host, tls, proxy, lookup })
    }

    pub(super) fn tls(&self) -> Option<Arc<ClientConfig>> {
        self.tls.as_deref().map(secure::of_process)
    }

    /// Establishes a connection. A proxy resolves the host itself.
    pub(super) fn connect(
        &self,
        tls: Option<&Arc<ClientConfig>>,
        deadline: Deadline,
    ) -> Result<Connection> {
        let (peer, named) = match &self.proxy {
            Some(proxy) => (&proxy.address, format!("the proxy {}", proxy.address)),
            None => (&self.host, self.host.to_string()),
        };
        let at = |stage: Stage| {
            let named = &named;
            move |fault: Fault| fault.at(stage, named)
        };
        let addresses = self.addresses(peer, deadline).map_err(Fault::Lookup);
        let socket = Socket::dial(&addresses.map_err(at(Stage::Dns))?, deadline);
        let mut socket = socket.map_err(Fault::Io).map_err(at(Stage::Connect))?;
        if let Some(proxy) = &self.proxy {
            proxy.tunnel(&mut socket, &self.host).map_err(at(Stage::Connect))?;
        }
        let stream = match tls {
            Some(tls) => secure::handshake(tls, self.host.host(), socket)
                .map_err(|fault| fault.at(Stage::Tls, self.host.as_str()))?,
            None => Stream::Plain(socket),
        };
        Ok(Connection::new(stream))
    }

    fn addresses(
        &self,
        peer: &Authority,
        deadline: Deadline,
    ) -> std::result::Result<Vec<SocketAddr>, Failure> {
        let https = self.tls.is_some();
        let port = peer.port_u16().unwrap_or(if https { 443 } else { 80 });
        let found = self.lookup.addresses(peer.host(), deadline)?;
        // Unencrypted requests must not leave this machine, whatever addresses a name resolves to.
        let allowed = found.into_iter().filter(|address| https || address.is_loopback());
        let addresses: Vec<_> = allowed.map(|ip| SocketAddr::new(ip, port)).collect();
        match addresses.is_empty() {
            true => Err(Failure::Unknown),
            false => Ok(addresses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw_request::RawRequest;
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_forked_child_has_separate_connections() {
        let lookup = Lookup::new(&[]).unwrap();
        let url = "http://localhost".parse().unwrap();
        let connector = Connector::new(&url, Trust::ThisMachine, None, lookup).unwrap();
        let connections = Connections::new(connector);
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
        let origin = format!("http://two:{port}").parse().unwrap();
        let connector = Connector::new(&origin, Trust::ThisMachine, None, lookup).unwrap();
        let request = RawRequest::new("GET", &origin, "/").unwrap().end(None).unwrap();
        let started = Instant::now();
        let deadline = Deadline::within(Duration::from_secs(3));
        let mut connection = connector.connect(None, deadline).unwrap();
        connection.send(request.bytes()).unwrap();
        assert_eq!(connection.head().unwrap().status, 204);
        // The silent address was tried, and the one of another machine was not, because the
        // connection is unencrypted.
        let took = started.elapsed();
        assert!(took > Duration::from_secs(1) && took < Duration::from_millis(2900), "{took:?}");
        drop(silent);
    }
}
