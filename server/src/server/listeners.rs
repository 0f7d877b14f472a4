//! Addresses and sockets that a server listens on.

use crate::approver::Brand;
#[cfg(unix)]
use crate::edge::local::{LocalSocket, PeerRules};
use crate::edge::proxies::Proxies;
use crate::edge::tls::Tls;
use crate::invalid;
use crate::observe::journal::{Journal, Sink};
use crate::observe::log::Logger;
use crate::observe::metrics::Metrics;
#[cfg(feature = "otlp")]
use crate::observe::traces::Traces;
use crate::sending::routes::Routes;
use ipnet::IpNet;
use seconder::Result;
use seconder::remote::Dialer;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// The listeners of a server: addresses for HTTPS, and local sockets.
#[must_use = "listeners do nothing before Server::serve()"]
#[derive(Default)]
pub struct Listeners {
    pub(crate) tcp: Vec<TcpListener>,
    pub(crate) operators: Vec<TcpListener>,
    pub(crate) tls: Option<Tls>,
    #[cfg(unix)]
    pub(crate) local: Vec<LocalSocket>,
    pub(crate) log: Option<Sink>,
    pub(crate) logger: Option<Logger>,
    #[cfg(feature = "otlp")]
    pub(crate) traces: Option<Traces>,
    pub(crate) monitors: Option<TcpListener>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) routes: Option<Routes>,
    pub(crate) dialer: Dialer,
    pub(crate) brand: Brand,
    pub(crate) proxies: Proxies,
    /// The limit in place of the one of the server.
    pub(crate) write_limit: Option<Duration>,
}

impl Listeners {
    /// Returns no listeners.
    pub fn new() -> Listeners {
        Listeners::default()
    }

    /// Sets the certificate for HTTPS.
    pub fn tls(mut self, tls: Tls) -> Listeners {
        self.tls = Some(tls);
        self
    }

    /// Serves HTTPS at this address. Port 0 selects a free port, which [`Server::addr`](crate::Server::addr) returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the address cannot be bound.
    pub fn https(self, addr: SocketAddr) -> Result<Listeners> {
        Ok(self.passed(bound("listen", addr)?))
    }

    /// Serves clients with the tokens of operators at this address, by HTTPS: see
    /// [`Settings::operator_token`](seconder::Settings::operator_token). Port 0 selects a free port, which
    /// [`Server::operator_addrs`](crate::Server::operator_addrs) returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the address cannot be bound.
    pub fn operators(mut self, addr: SocketAddr) -> Result<Listeners> {
        self.operators.push(bound("operator-listen", addr)?);
        Ok(self)
    }

    /// Serves the metrics of [`Listeners::metrics`] at this address, for Prometheus, and the health of the service, for
    /// its supervisors, by plain HTTP: `/metrics`, `/healthz` and `/readyz`. Port 0 selects a free port, which
    /// [`Server::monitors_addr`](crate::Server::monitors_addr) returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the address cannot be bound.
    pub fn monitors(mut self, addr: SocketAddr) -> Result<Listeners> {
        self.monitors = Some(bound("metrics", addr)?);
        Ok(self)
    }

    /// Sets the metrics that monitors read.
    pub fn metrics(mut self, metrics: Metrics) -> Listeners {
        self.metrics = Some(metrics);
        self
    }

    /// Serves the requests of these routes' providers, by HTTPS: reports on messages, and documents
    /// that a voice reads out. A local socket does not serve them.
    pub fn routes(mut self, routes: Routes) -> Listeners {
        self.routes = Some(routes);
        self
    }

    /// Sets the name and the icon of the approver. Default: Seconder's.
    pub fn brand(mut self, brand: Brand) -> Listeners {
        self.brand = brand;
        self
    }

    /// Sets the dialer that connects to the hosts of pictures. Default: one with the name servers of the system, and
    /// without a proxy.
    pub fn dialer(mut self, dialer: Dialer) -> Listeners {
        self.dialer = dialer;
        self
    }

    /// Sets the networks of proxies, which name the client of a request in `X-Forwarded-For`. If `announced` is set,
    /// every connection by network must come from one of them, and begin with a header of the PROXY protocol, version
    /// 2, which names the client. Default: no proxies are trusted.
    pub fn proxies(mut self, networks: Vec<IpNet>, announced: bool) -> Listeners {
        self.proxies = Proxies::new(networks, announced);
        self
    }

    /// Serves HTTPS on a socket that another process listens on and passed on.
    pub fn passed(mut self, listener: TcpListener) -> Listeners {
        self.tcp.push(listener);
        self
    }

    /// Sets the time that a client may leave a response unread, so that tests need not wait.
    #[cfg(test)]
    pub(crate) fn write_limit(mut self, limit: Duration) -> Listeners {
        self.write_limit = Some(limit);
        self
    }

    /// Serves a local socket.
    #[cfg(unix)]
    pub fn local(mut self, socket: LocalSocket) -> Listeners {
        self.local.push(socket);
        self
    }

    /// Sets the function that receives lines for the operator, such as rejected actions of a peer.
    /// At most a few each second are passed on. Default: no function.
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Listeners {
        self.log = Some(Box::new(log));
        self
    }

    /// Sets the logger that receives a line for each request. Default: no logger.
    pub fn requests(mut self, logger: Option<Logger>) -> Listeners {
        self.logger = logger;
        self
    }

    /// Sets the exporter that sends a span for each request. Default: no exporter.
    #[cfg(feature = "otlp")]
    pub fn traces(mut self, traces: Option<Traces>) -> Listeners {
        self.traces = traces;
        self
    }

    /// Returns the operator's log, with the parts that were set.
    pub(crate) fn journal(&mut self) -> Journal {
        let log = self.log.take().unwrap_or_else(|| Box::new(|_| {}));
        let journal = Journal::new(log).with_requests(self.logger.take());
        #[cfg(feature = "otlp")]
        let journal = journal.with_traces(self.traces.clone());
        journal
    }

    /// Takes the sockets that systemd passes to this process: TCP sockets serve HTTPS, and local
    /// ones have these rules. The variables that announce them are removed, so this is called
    /// before other threads are started. Returns the number of sockets for HTTPS.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if no sockets were passed, or
    /// one is of another kind.
    #[cfg(unix)]
    pub fn activated(mut self, rules: &PeerRules) -> Result<(Listeners, usize)> {
        let mut passed = listenfd::ListenFd::from_env();
        let mut https = 0;
        let wrong = |index: usize| {
            let reason = format!(
                "socket {} is not one of TCP or a local one that accepts connections",
                index + 1
            );
            invalid("socket-activation", reason)
        };
        for index in 0..passed.len() {
            if let Ok(Some(listener)) = passed.take_unix_listener(index) {
                accepts(&listener).then_some(()).ok_or_else(|| wrong(index))?;
                self.local.push(LocalSocket::passed(listener, rules.clone()));
            } else if let Ok(Some(listener)) = passed.take_tcp_listener(index) {
                accepts(&listener).then_some(()).ok_or_else(|| wrong(index))?;
                https += 1;
                self.tcp.push(listener);
            } else {
                return Err(wrong(index));
            }
        }
        match passed.len() {
            0 => Err(invalid(
                "socket-activation",
                "found no sockets: systemd passes them to a service that has a .socket unit",
            )),
            _ => Ok((self, https)),
        }
    }
}

/// Binds here rather than in the runtime, so that the caller gets the error and the port.
fn bound(parameter: &'static str, addr: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(addr)
        .map_err(|error| invalid(parameter, format!("{addr} cannot be bound: {error}")))
}

#[cfg(unix)]
fn accepts(listener: &impl std::os::fd::AsFd) -> bool {
    rustix::net::sockopt::socket_acceptconn(listener).unwrap_or(false)
}
