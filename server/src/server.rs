//! The HTTPS server: start, time limits and graceful shutdown.

use crate::signals::Signals;
use crate::tls::{Identity, Tls};
use crate::{edge, internal, invalid};
use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;
use seconder::engine::Engine;
use seconder::{Result, Service};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long a client may take to send the head of a request. It also limits how long a connection
/// may be idle.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may take for the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How often the messages of expired codes are removed.
const HOUSEKEEPING: Duration = Duration::from_secs(5);
/// How long calls in progress may continue when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// An HTTPS server in front of an engine, on separate threads. It stops when it is dropped.
pub struct Server {
    addr: SocketAddr,
    certificate_pem: String,
    source: Tls,
    tls: RustlsConfig,
    handle: Handle<SocketAddr>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Listens on an address. Port 0 selects a free port, which [`Server::addr`] returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the service is not an engine
    /// in this process, if the certificate or its key is invalid, or if the address cannot be
    /// bound.
    pub fn start(service: Service, addr: SocketAddr, tls: Tls) -> Result<Server> {
        let engine = service.require_engine()?.clone();
        let Identity { certificate_pem, config } = tls.identity()?;
        let unbound = |error| invalid("listen", format!("{addr} cannot be bound: {error}"));
        // Bound here rather than in the runtime, so that the caller gets the error and the port.
        let listener = TcpListener::bind(addr).map_err(unbound)?;
        listener.set_nonblocking(true).map_err(unbound)?;
        let addr = listener.local_addr().map_err(unbound)?;
        let runtime = Runtime::new().map_err(|_| internal("threads could not be started"))?;
        let handle = Handle::new();
        let config = RustlsConfig::from_config(config);
        runtime.spawn(housekeep(engine.clone()));
        runtime.spawn(serve(listener, config.clone(), handle.clone(), engine));
        let (source, runtime) = (tls, Some(runtime));
        Ok(Server { addr, certificate_pem, source, tls: config, handle, runtime })
    }

    /// The address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL for clients.
    pub fn url(&self) -> String {
        format!("https://{}", self.addr)
    }

    /// The certificate in PEM. If it is self-signed, clients trust it by their setting `ca_file`.
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

    /// Reads the files of the certificate and its key again, and presents them to every client that
    /// connects from now on. Returns false if there are none, because the certificate is self-signed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the files are invalid; the
    /// server then keeps the certificate that it has.
    pub fn reload(&mut self) -> Result<bool> {
        if self.source == Tls::SelfSigned {
            return Ok(false);
        }
        let Identity { certificate_pem, config } = self.source.identity()?;
        self.certificate_pem = certificate_pem;
        self.tls.reload_from_config(config);
        Ok(true)
    }

    /// Stops accepting calls, waits at most 10 s for those in progress, and returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        // This only starts the shutdown, so the connections are counted until all are closed.
        self.handle.graceful_shutdown(Some(GRACE));
        runtime.block_on(async {
            let all_closed = async {
                while self.handle.connection_count() > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(GRACE, all_closed).await.ok()
        });
        // Dropping the runtime would wait without limit for a call that blocks.
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Removes the messages of expired codes from time to time, beginning at once: an earlier process may
/// have left some.
async fn housekeep(engine: Engine) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    loop {
        ticks.tick().await;
        let engine = engine.clone();
        // It reads a folder, which may block. If it panicked, the next one tries again.
        let _ = tokio::task::spawn_blocking(move || engine.housekeep()).await;
    }
}

async fn serve(
    listener: TcpListener,
    tls: RustlsConfig,
    handle: Handle<SocketAddr>,
    engine: Engine,
) -> std::io::Result<()> {
    let app = Router::new().fallback(edge::handle).with_state(engine);
    let acceptor = RustlsAcceptor::new(tls).handshake_timeout(HANDSHAKE);
    // Otherwise the end of a response could wait until the client acknowledges its beginning.
    let acceptor = acceptor.acceptor(NoDelayAcceptor::new());
    let mut server =
        axum_server::from_tcp(listener)?.acceptor(acceptor).http1_only().handle(handle);
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    server.serve(app.into_make_service()).await
}
