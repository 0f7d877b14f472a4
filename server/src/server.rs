//! The server: start, time limits and graceful shutdown.

pub(crate) mod listeners;
mod opening;

use crate::edge::calls::Calls;
use crate::edge::certificate::Certificate;
use crate::edge::clients::Clients;
#[cfg(unix)]
use crate::edge::local::SocketFile;
use crate::edge::network;
use crate::edge::pool::Pools;
use crate::edge::source::Source;
use crate::edge::tls::Tls;
use crate::forwarding::Forward;
use crate::observe::journal::Journal;
use crate::observe::pulse::Pulse;
use crate::observe::signals::Signals;
#[cfg(feature = "otlp")]
use crate::observe::traces::Traces;
use crate::{internal, invalid};
use axum_server::Handle;
use listeners::Listeners;
use seconder::http::Relay;
use seconder::sandbox::Sandbox;
use seconder::wire::{Generation, Names};
use seconder::{Result, Service};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZero;
#[cfg(unix)]
use std::os::unix::net::SocketAddr as LocalAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The time that a client may leave bytes that were written to it, such as a response.
pub(crate) const WRITE: Duration = Duration::from_secs(30);
/// The interval at which the messages of expired codes are removed.
const HOUSEKEEPING: Duration = Duration::from_secs(5);
/// The time for which calls in progress may continue when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// The most threads that read requests and write responses, however many processors there are.
const MOST_WORKERS: usize = 16;
/// The most threads for work that may block besides calls: look-ups in the user database, for the names of local peers,
/// 32 of them at once; operations of operators; requests of monitors; certificates; housekeeping.
const MOST_BLOCKING: usize = 80;

/// A server in front of an engine or a remote service, on separate threads. It stops when it is
/// dropped.
pub struct Server {
    addrs: Vec<SocketAddr>,
    operator_addrs: Vec<SocketAddr>,
    certificate: Option<Arc<Certificate>>,
    certificate_pem: String,
    tcp: Handle<SocketAddr>,
    /// The tasks that accept connections to it.
    accepting: Vec<JoinHandle<std::io::Result<()>>>,
    monitors: Handle<SocketAddr>,
    monitors_addr: Option<SocketAddr>,
    calls: (Calls, Pools),
    #[cfg(unix)]
    local: Handle<LocalAddr>,
    /// Shared with the task that looks after them.
    #[cfg(unix)]
    files: Arc<Vec<SocketFile>>,
    #[cfg(unix)]
    watching: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
    #[cfg(feature = "otlp")]
    traces: Option<Traces>,
}

impl Server {
    /// Listens on an address with HTTPS. Port 0 selects a free port, which [`Server::addr`] returns.
    ///
    /// # Errors
    /// As [`Server::serve`], and if the address cannot be bound.
    pub fn start(service: Service, addr: SocketAddr, tls: Tls) -> Result<Server> {
        service.require_engine()?;
        Server::serve(service, Listeners::new().tls(tls).https(addr)?)
    }

    /// Serves an engine.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the service is not an engine
    /// in this process, if there is nothing to listen on, or if the certificate or its key is
    /// invalid or missing.
    pub fn serve(service: Service, listeners: Listeners) -> Result<Server> {
        let engine = service.require_engine()?.clone();
        Server::open(Arc::new(engine), listeners)
    }

    /// Serves a sandbox, with the paths for tests.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub fn sandbox(sandbox: Sandbox, listeners: Listeners) -> Result<Server> {
        Server::open(Arc::new(sandbox), listeners)
    }

    /// Passes calls on to a remote service, which has these names, and which the service was opened
    /// with the API key of. So it listens on local sockets only.
    ///
    /// # Errors
    /// As [`Server::serve`], and if an engine is to be served, or by HTTPS.
    pub fn relay(service: Service, names: Names, listeners: Listeners) -> Result<Server> {
        if service.engine().is_some() {
            return Err(invalid("url", "is an engine in this process, which needs no relay"));
        }
        if !listeners.tcp.is_empty() {
            let reason = "a relay has no API keys to compare, so it listens on local sockets only";
            return Err(invalid("listen", reason));
        }
        let relay = Relay::new(service, names, Generation::Current);
        Server::open(Arc::new(relay), listeners)
    }

    /// Serves an engine, and passes on calls for users who are not there yet.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub fn forward(forward: Forward, listeners: Listeners) -> Result<Server> {
        Server::open(Arc::new(forward), listeners)
    }

    fn open(source: Arc<dyn Source>, mut listeners: Listeners) -> Result<Server> {
        let unusable = |_| invalid("listen", "the socket cannot be used");
        #[cfg(unix)]
        let has_local = !listeners.local.is_empty();
        #[cfg(not(unix))]
        let has_local = false;
        if listeners.tcp.is_empty() && listeners.operators.is_empty() && !has_local {
            return Err(invalid("listen", "there is nothing to listen on"));
        }
        let journal = Arc::new(listeners.journal());
        let has_network = !listeners.tcp.is_empty() || !listeners.operators.is_empty();
        let (certificate, certificate_pem) = match has_network {
            true => Certificate::required(listeners.tls, &journal)?,
            false => (None, String::new()),
        };
        let addrs = addresses(&listeners.tcp)?;
        let operator_addrs = addresses(&listeners.operators)?;
        let runtime = runtime().map_err(|_| internal("threads could not be started"))?;
        let pools = Pools::new(source.waits_for_others());
        let calls = (Calls::default(), pools);
        let write_limit = listeners.write_limit.unwrap_or(WRITE);
        let mut server = Server {
            addrs,
            operator_addrs,
            certificate,
            certificate_pem,
            tcp: Handle::new(),
            accepting: Vec::new(),
            monitors: Handle::new(),
            monitors_addr: None,
            calls,
            #[cfg(unix)]
            local: Handle::new(),
            #[cfg(unix)]
            files: Arc::default(),
            #[cfg(unix)]
            watching: None,
            runtime: Some(runtime),
            #[cfg(feature = "otlp")]
            traces: listeners.traces,
        };
        if has_network {
            server.open_network(
                &source,
                (listeners.tcp, listeners.operators),
                Clients::new(network::places(has_local, &journal), listeners.proxies),
                (
                    listeners.routes.as_ref(),
                    listeners.metrics.as_ref(),
                    (&listeners.dialer, &listeners.brand),
                ),
                (&journal, write_limit),
            )?;
        }
        if let Some(metrics) = &listeners.metrics {
            server.register(metrics, &journal, listeners.routes.zip(source.engine()));
        }
        if let Some((listener, metrics)) = listeners.monitors.zip(listeners.metrics) {
            server.open_monitors(listener, metrics, write_limit).map_err(unusable)?;
        }
        #[cfg(unix)]
        let server = server.open_local(&source, listeners.local, &journal, write_limit)?;
        if let Some(runtime) = &server.runtime {
            runtime.spawn(housekeep(source, Arc::clone(&journal)));
        }
        Ok(server)
    }

    /// Returns the address that the server listens on with HTTPS, the first if there are several;
    /// without any, 0.0.0.0:0.
    pub fn addr(&self) -> SocketAddr {
        self.addrs.first().copied().unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into())
    }

    /// Returns all addresses that the server listens on with HTTPS.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Returns the addresses for operators.
    pub fn operator_addrs(&self) -> &[SocketAddr] {
        &self.operator_addrs
    }

    /// Returns the address for monitors, if there is one.
    pub fn monitors_addr(&self) -> Option<SocketAddr> {
        self.monitors_addr
    }

    /// Returns the base URL for clients by HTTPS.
    pub fn url(&self) -> String {
        format!("https://{}", self.addr())
    }

    /// Returns the certificate in PEM, if it is self-signed: clients trust it by their setting `ca_file`. Otherwise
    /// empty.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Receives the signals of this process from now on: see [`Signal`](crate::Signal). A SIGHUP that
    /// was ignored when the process started stays so.
    ///
    /// # Errors
    /// [`Error::Internal`](seconder::Error::Internal) if signals cannot be received.
    pub fn signals(&self) -> Result<Signals> {
        let runtime = self.runtime.as_ref().ok_or_else(|| internal("the server has stopped"))?;
        Signals::new(runtime.handle().clone())
    }

    /// Shows whether this server works.
    ///
    /// # Errors
    /// [`Error::Internal`](seconder::Error::Internal) if it has stopped.
    pub fn pulse(&self) -> Result<Pulse> {
        let runtime = self.runtime.as_ref().ok_or_else(|| internal("the server has stopped"))?;
        Ok(Pulse::of(runtime.handle().clone()))
    }

    /// Reads the files of the certificate and its key again, and presents them to every client that connects from now
    /// on. That also happens a few seconds after they have changed. Returns false if there are no files, because the
    /// certificate is self-signed or there is no HTTPS.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the files are invalid; the
    /// server then keeps the certificate that it has.
    pub fn reload(&self) -> Result<bool> {
        self.certificate.as_ref().map_or(Ok(false), |certificate| certificate.reload())
    }

    /// Stops accepting calls, waits at most 10 s for those in progress, and returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        #[cfg(unix)]
        {
            if let Some(watching) = self.watching.take() {
                watching.abort();
            }
            // While the sockets still accept connections, so that no other server takes their files
            // for stale ones and replaces them, which would then be removed.
            self.files.iter().for_each(SocketFile::remove);
        }
        // A connection that arrives now stays in the queue of a socket that another process holds too, such as systemd.
        // A connection that was accepted and has had no call would be closed by the next steps.
        let since = Instant::now();
        self.accepting.iter().for_each(JoinHandle::abort);
        runtime.block_on(self.calls.0.begun(since, || {
            let count = self.tcp.connection_count();
            #[cfg(unix)]
            let count = count + self.local.connection_count();
            count
        }));
        // This only starts the shutdown, so the connections are counted until all are closed.
        self.tcp.graceful_shutdown(Some(GRACE));
        self.monitors.graceful_shutdown(Some(GRACE));
        #[cfg(unix)]
        self.local.graceful_shutdown(Some(GRACE));
        runtime.block_on(async {
            let all_closed = async {
                while self.connection_count() > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let ended = async {
                tokio::select! {
                    () = all_closed => {}
                    () = self.calls.0.ended(since) => {}
                }
            };
            tokio::time::timeout(GRACE.saturating_sub(since.elapsed()), ended).await.ok()
        });
        // Dropping the runtime would wait without limit for a call that blocks.
        runtime.shutdown_timeout(Duration::from_secs(1));
        #[cfg(feature = "otlp")]
        self.traces.iter().for_each(Traces::end);
    }

    fn connection_count(&self) -> usize {
        let count = self.tcp.connection_count() + self.monitors.connection_count();
        #[cfg(unix)]
        let count = count + self.local.connection_count();
        count
    }
}

/// Starts the threads that read requests and write responses. They wait for nothing else, so there is no use for more
/// of them than processors.
fn runtime() -> std::io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(processors.min(MOST_WORKERS)).max_blocking_threads(MOST_BLOCKING);
    runtime.thread_name("seconder-io").enable_all().build()
}

/// Returns the addresses of listeners, which do not block from now on.
fn addresses(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>> {
    let address = |listener: &TcpListener| {
        listener.set_nonblocking(true)?;
        listener.local_addr()
    };
    let addresses: std::io::Result<_> = listeners.iter().map(address).collect();
    addresses.map_err(|_| invalid("listen", "the socket cannot be used"))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Does periodic work, beginning at once. Reports a failure that persists once.
async fn housekeep(source: Arc<dyn Source>, journal: Arc<Journal>) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    let mut reported = None;
    loop {
        ticks.tick().await;
        journal.report_left_out(Instant::now());
        let source = source.clone();
        // It may block. If it panicked, the next one tries again.
        let Ok(done) = tokio::task::spawn_blocking(move || source.housekeep()).await else {
            continue;
        };
        let failed = done.err().map(|error| error.to_string());
        if let Some(error) = failed.as_ref().filter(|_| failed != reported) {
            journal.note(&format!("warning: housekeeping: {error}"));
        }
        reported = failed;
    }
}
