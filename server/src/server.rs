//! Listening, and leaving in good order.

use crate::tls::{Identity, Tls};
use crate::{edge, internal, invalid};
use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;
use seconder::engine::Engine;
use seconder::{Result, Service};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long a client may take to send the head of a request, and may keep a silent connection.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long calls that run may go on when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// A service behind HTTPS, on threads of its own. It stops when it is dropped.
pub struct Server {
    addr: SocketAddr,
    certificate_pem: String,
    handle: Handle<SocketAddr>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Listens on an address; port 0 takes any free port, which [`Server::addr`] tells.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) when the service is not an engine in this
    /// process, for a certificate that does not work, and for an address that cannot be had.
    pub fn start(service: Service, addr: SocketAddr, tls: Tls) -> Result<Server> {
        let engine = service.require_engine()?.clone();
        let Identity { certificate_pem, config } = tls.identity()?;
        let taken = |error| invalid("listen", format!("{addr} cannot be listened on: {error}"));
        let listener = TcpListener::bind(addr).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let addr = listener.local_addr().map_err(taken)?;
        let runtime = Runtime::new().map_err(|_| internal("no threads could be started"))?;
        let handle = Handle::new();
        runtime.spawn(serve(listener, RustlsConfig::from_config(config), handle.clone(), engine));
        Ok(Server { addr, certificate_pem, handle, runtime: Some(runtime) })
    }

    /// The address that is listened on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL for clients.
    pub fn url(&self) -> String {
        format!("https://{}", self.addr)
    }

    /// The certificate in PEM, for the `ca_file` of clients when it is self-signed.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Waits until the process is asked to end (SIGTERM, or SIGINT as by Ctrl-C).
    ///
    /// # Errors
    /// [`Error::Internal`](seconder::Error::Internal) when the system gives no signals.
    pub fn wait_for_signal(&self) -> Result<()> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(signal()).map_err(|_| internal("no signals come")),
            None => Ok(()),
        }
    }

    /// Takes no more calls, lets those that run end, for 10 s at most, and then returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        self.handle.graceful_shutdown(Some(GRACE));
        runtime.block_on(async {
            let all_gone = async {
                while self.handle.connection_count() > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(GRACE, all_gone).await.ok()
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
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
    let mut server =
        axum_server::from_tcp(listener)?.acceptor(acceptor).http1_only().handle(handle);
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    server.serve(app.into_make_service()).await
}

#[cfg(unix)]
async fn signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut end, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = end.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
