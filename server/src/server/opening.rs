//! The listeners of a server: by network, for monitors, and on local sockets.

use super::{HOUSEKEEPING, Server};
use crate::approver::{Approver, Brand};
use crate::edge::clients::Clients;
use crate::edge::extra::{ExtraEndpoint, ExtraEndpoints};
use crate::edge::inbound::Inbound;
#[cfg(unix)]
use crate::edge::local::{LocalSocket, PeerAcceptor, Slots, SocketFile};
use crate::edge::monitors::listen;
use crate::edge::network::NetworkAcceptor;
use crate::edge::operators::Operators;
use crate::edge::protocols::{http1, http1_and_2};
use crate::edge::source::Source;
use crate::invalid;
use crate::observe::journal::Journal;
use crate::observe::metrics::Metrics;
use crate::sending::routes::Routes;
use axum_server::Handle;
use seconder::Result;
use seconder::engine::Engine;
use seconder::remote::Dialer;
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::net::SocketAddr as LocalAddr;
use std::sync::Arc;
use std::time::Duration;

impl Server {
    /// Serves calls and operators by network, with HTTPS.
    pub(super) fn open_network(
        &mut self,
        source: &Arc<dyn Source>,
        (tcp, operators): (Vec<TcpListener>, Vec<TcpListener>),
        clients: Clients,
        (routes, metrics, pictures): (Option<&Routes>, Option<&Metrics>, (&Dialer, &Brand)),
        (journal, write_limit): (&Arc<Journal>, Duration),
    ) -> Result<()> {
        let (Some(runtime), Some(certificate)) = (&self.runtime, &self.certificate) else {
            return Ok(());
        };
        runtime.spawn(Arc::clone(certificate).watch());
        if let Some(metrics) = metrics {
            let keys = Arc::clone(&clients.wrong_keys);
            let help = "API keys that no application has";
            metrics.watch(move |registry| keys.register("wrong_keys", help, registry));
        }
        let extra = self.extra_endpoints(&**source, (routes, pictures), journal)?;
        let mut served: Vec<_> =
            tcp.into_iter().map(|listener| (listener, extra.clone())).collect();
        if !operators.is_empty() {
            let served_to = Operators::of(&**source, journal)?;
            if let Some(metrics) = metrics {
                let tokens = Arc::clone(served_to.wrong_tokens());
                let (name, help) = ("wrong_operator_tokens", "Tokens that no operator has");
                metrics.watch(move |registry| tokens.register(name, help, registry));
            }
            let extra = ExtraEndpoints { operators: Some(served_to), ..ExtraEndpoints::default() };
            served.extend(operators.into_iter().map(|listener| (listener, extra.clone())));
        }
        for (listener, extra) in served {
            let source = (source.clone(), extra);
            let (journal, clients) = (Arc::clone(journal), clients.clone());
            let (calls, config) = (self.calls.clone(), certificate.config());
            let acceptor =
                NetworkAcceptor::new(source, journal, calls, config, clients, write_limit);
            self.accepting.push(runtime.spawn(serve(listener, acceptor, self.tcp.clone())));
        }
        Ok(())
    }

    /// Returns the endpoints of this source and of the providers of these routes. The dialer connects to the hosts of
    /// pictures, and the approver has the brand.
    fn extra_endpoints(
        &self,
        source: &dyn Source,
        (routes, pictures): (Option<&Routes>, (&Dialer, &Brand)),
        journal: &Arc<Journal>,
    ) -> Result<ExtraEndpoints> {
        let mut endpoints: Vec<Box<dyn ExtraEndpoint>> = Vec::new();
        let pools = &self.calls.1;
        if let Some(approver) = Approver::of(source.engine().as_ref(), pictures, journal, pools)? {
            endpoints.push(Box::new(approver));
        }
        if let Some(inbound) = Inbound::of(routes, journal, pools) {
            endpoints.push(Box::new(inbound));
        }
        Ok(ExtraEndpoints { endpoints: Arc::new(endpoints), operators: None })
    }

    /// Has the metrics show the threads for calls, the requests, and the routes of an engine.
    pub(super) fn register(
        &self,
        metrics: &Metrics,
        journal: &Journal,
        routes: Option<(Routes, Engine)>,
    ) {
        let (pools, requests) = (self.calls.1.clone(), journal.requests().clone());
        metrics.watch(move |registry| pools.register(registry));
        metrics.watch(move |registry| requests.register(registry));
        if let Some((routes, engine)) = routes {
            metrics.watch(move |registry| routes.register(&engine, registry));
        }
    }

    /// Serves the monitors of the service.
    pub(super) fn open_monitors(
        &mut self,
        listener: TcpListener,
        metrics: Metrics,
        write_limit: Duration,
    ) -> std::io::Result<()> {
        let Some(runtime) = &self.runtime else { return Ok(()) };
        if let Some(certificate) = &self.certificate {
            let certificate = Arc::clone(certificate);
            metrics.watch(move |registry| certificate.register(registry));
        }
        listener.set_nonblocking(true)?;
        self.monitors_addr = Some(listener.local_addr()?);
        runtime.spawn(listen(listener, metrics, write_limit, self.monitors.clone()));
        Ok(())
    }

    /// Serves the local sockets.
    #[cfg(unix)]
    pub(super) fn open_local(
        mut self,
        source: &Arc<dyn Source>,
        sockets: Vec<LocalSocket>,
        journal: &Arc<Journal>,
        write_limit: Duration,
    ) -> Result<Server> {
        let Some(runtime) = &self.runtime else { return Ok(self) };
        // One set of limits: the sockets share what they protect.
        let (slots, mut files) = (Arc::new(Slots::default()), Vec::new());
        for socket in sockets {
            let unusable = |_| invalid("unix", "the socket cannot be used");
            socket.listener.set_nonblocking(true).map_err(unusable)?;
            files.extend(socket.file);
            let (slots, journal) = (Arc::clone(&slots), Arc::clone(journal));
            let rules = socket.rules;
            let acceptor = PeerAcceptor::new(
                source.clone(),
                rules,
                slots,
                journal,
                self.calls.clone(),
                write_limit,
            );
            let accepting = serve_local(socket.listener, acceptor, self.local.clone());
            self.accepting.push(runtime.spawn(accepting));
        }
        self.files = Arc::new(files);
        if !self.files.is_empty() {
            let watching = watch(Arc::clone(&self.files), Arc::clone(journal));
            self.watching = Some(runtime.spawn(watching));
        }
        Ok(self)
    }
}

/// Reports a socket that clients no longer reach, because its file was removed or replaced.
#[cfg(unix)]
async fn watch(files: Arc<Vec<SocketFile>>, journal: Arc<Journal>) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    let mut lost = vec![false; files.len()];
    loop {
        ticks.tick().await;
        for (file, lost) in files.iter().zip(&mut lost) {
            let was_lost = std::mem::replace(lost, !file.is_ours());
            if *lost && !was_lost {
                let path = file.path().display();
                journal.note(&format!(
                    "error: {path} was removed or replaced, so nobody reaches this server by it: \
                     restart it"
                ));
            }
        }
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: NetworkAcceptor,
    handle: Handle<SocketAddr>,
) -> std::io::Result<()> {
    let server = axum_server::from_tcp(listener)?.acceptor(acceptor).handle(handle);
    // The acceptor makes the service of each connection.
    http1_and_2(server).serve(axum::Router::new().into_make_service()).await
}

#[cfg(unix)]
async fn serve_local(
    listener: std::os::unix::net::UnixListener,
    acceptor: PeerAcceptor,
    handle: Handle<LocalAddr>,
) -> std::io::Result<()> {
    let server = axum_server::from_unix(listener)?.acceptor(acceptor).handle(handle);
    // As above.
    http1(server).serve(axum::Router::new().into_make_service()).await
}
