//! Limits the connections by network, so that strangers cannot take the descriptors that the logins of this machine
//! need.

use crate::edge::calls::Calls;
use crate::edge::clients::{Clients, Connection};
use crate::edge::endpoint::Edge;
use crate::edge::extra::ExtraEndpoints;
use crate::edge::framing::Framing;
#[cfg(unix)]
use crate::edge::local::slots;
use crate::edge::places::{Client, Places};
use crate::edge::pool::Pools;
use crate::edge::source::Source;
use crate::edge::time_limits::{Activity, TimeLimits};
use crate::observe::journal::Journal;
use axum::Router;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// The most connections by network, however many descriptors there are: each has memory too.
pub(crate) const MOST: usize = 8192;
/// The fewest connections, even if the process may open hardly any files.
const FEWEST: usize = 32;
/// Descriptors for the database, deliveries, callbacks, and the files of the runtime.
#[cfg(unix)]
const OWN: usize = 128;
/// The most bytes of responses that the system keeps until a client takes them: for a slow client, it would let this
/// grow to megabytes on each connection.
#[cfg(unix)]
const SEND_BUFFER: usize = 128 * 1024;
/// The time that a client may take for the TLS handshake.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time that a connection may have no call.
pub(crate) const NO_CALL: Duration = Duration::from_secs(30);

/// Makes the TLS handshake of each connection, and closes those beyond the limit.
#[derive(Clone)]
pub(crate) struct NetworkAcceptor {
    source: (Arc<dyn Source>, ExtraEndpoints),
    journal: Arc<Journal>,
    calls: (Calls, Pools),
    handshakes: RustlsAcceptor,
    clients: Clients,
    write_limit: Duration,
}

impl NetworkAcceptor {
    pub(crate) fn new(
        source: (Arc<dyn Source>, ExtraEndpoints),
        journal: Arc<Journal>,
        calls: (Calls, Pools),
        tls: RustlsConfig,
        clients: Clients,
        write_limit: Duration,
    ) -> NetworkAcceptor {
        let handshakes = RustlsAcceptor::new(tls).handshake_timeout(HANDSHAKE);
        NetworkAcceptor { source, journal, calls, handshakes, clients, write_limit }
    }
}

type Encrypted = <RustlsAcceptor as Accept<TimeLimits<TcpStream>, ()>>::Stream;

impl<S> Accept<TcpStream, S> for NetworkAcceptor {
    type Stream = Framing<Encrypted>;
    type Service = Router;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Router)>> + Send>>;

    fn accept(&self, mut stream: TcpStream, _: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let peer = stream.peer_addr()?.ip();
            let place = match this.clients.place(peer) {
                Ok(place) => place,
                Err(full) => {
                    this.journal.requests().refuse_connection(full.reason());
                    this.journal.note(&format!("warning: {full}, and another one was closed"));
                    return Err(io::Error::other(full.to_string()));
                }
            };
            // Otherwise the end of a response could wait until the client acknowledges its beginning.
            stream.set_nodelay(true)?;
            #[cfg(unix)]
            rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER)?;
            let from =
                this.clients.proxies.begin(peer, &mut stream).await.inspect_err(|error| {
                    this.journal.requests().refuse_connection("proxy_header");
                    let what = format!("a connection from {peer} was closed: {error}");
                    this.journal.note(&format!("warning: {what}"));
                })?;
            // The limits are beneath TLS, so that they apply to everything that is read and written.
            let activity = Activity::new();
            let stream = TimeLimits::new(stream, this.write_limit).idle(activity.clone(), NO_CALL);
            let (stream, ()) = this.handshakes.accept(stream, ()).await?;
            let (journal, client) = (Arc::clone(&this.journal), Client::of(from));
            let stream = Framing::new(stream, move || {
                journal.note(&format!(
                    "warning: a request of {client} was rejected, because a proxy could read its length in another way"
                ));
            });
            let held = Connection { _place: place, activity, clients: this.clients, from };
            Ok((stream, Edge::network(this.source, this.journal, this.calls, held).router()))
        })
    }
}

/// Returns the places for all listeners of a server together: the descriptors of the process that are left when the
/// ones for local sockets, if there are any, and for its own work are set aside.
#[cfg(unix)]
pub(crate) fn places(has_local: bool, journal: &Journal) -> Arc<Places> {
    let descriptors = descriptors();
    let set_aside = OWN + if has_local { slots::ALL } else { 0 };
    let places = descriptors.saturating_sub(set_aside).clamp(FEWEST, MOST);
    if descriptors < set_aside + FEWEST {
        journal.note(&format!(
            "warning: this process may open {descriptors} files only, so local logins and {places} \
             connections by network may be too many: raise the limit (ulimit -n, LimitNOFILE=) to \
             {} or more",
            set_aside + FEWEST
        ));
    }
    Places::new(places)
}

#[cfg(not(unix))]
pub(crate) fn places(_: bool, _: &Journal) -> Arc<Places> {
    Places::new(MOST)
}

/// Returns the number of files that this process may open.
#[cfg(unix)]
fn descriptors() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Keeps the memory of this process, which holds keys and codes, out of core dumps, and from other processes of its
/// user.
#[cfg(target_os = "linux")]
pub fn protect_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Linux has this since version 2.3, so an error means that a sandbox forbids it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Lets this process open as many files as a server can use, if the machine allows it: by default it
/// has a low limit, for the sake of programs that use `select`.
#[cfg(unix)]
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = (MOST + OWN + slots::ALL) as u64;
    let wanted = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if limit.current.is_some_and(|current| current < wanted) {
        // With the limit that it has, the server accepts fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}
