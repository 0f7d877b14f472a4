//! The endpoint for Prometheus and the probes of a supervisor: plain HTTP, apart from the calls.

use crate::edge::places::{Place, Places};
use crate::edge::protocols::http1;
use crate::edge::time_limits::TimeLimits;
use crate::observe::metrics::Metrics;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum_server::accept::Accept;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// The most connections: a few monitors ask, and strangers must not take the descriptors of the calls.
const CONNECTIONS: usize = 32;
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Responds to requests until the handle ends it.
pub(crate) async fn listen(
    listener: TcpListener,
    metrics: Metrics,
    write_limit: Duration,
    handle: axum_server::Handle<SocketAddr>,
) -> io::Result<()> {
    let acceptor = Acceptor { metrics, places: Places::new(CONNECTIONS), write_limit };
    let server = axum_server::from_tcp(listener)?.acceptor(acceptor).handle(handle);
    // The acceptor makes the service of each connection.
    http1(server).serve(Router::new().into_make_service()).await
}

#[derive(Clone)]
struct Acceptor {
    metrics: Metrics,
    places: Arc<Places>,
    write_limit: Duration,
}

impl<S> Accept<TcpStream, S> for Acceptor {
    type Stream = TimeLimits<TcpStream>;
    type Service = Router;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Router)>> + Send>>;

    fn accept(&self, stream: TcpStream, _: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let place = this.places.take(stream.peer_addr()?.ip());
            let place = place.map_err(|full| io::Error::other(full.to_string()))?;
            let stream = TimeLimits::new(stream, this.write_limit);
            let state = (this.metrics, Arc::new(place));
            Ok((stream, Router::new().fallback(respond).with_state(state)))
        })
    }
}

/// Responds to a request. The place is given back when the connection is closed.
async fn respond(
    State((metrics, _place)): State<(Metrics, Arc<Place>)>,
    request: Request,
) -> Response {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let allow = [(header::ALLOW, "GET, HEAD")];
        return (StatusCode::METHOD_NOT_ALLOWED, allow, "use GET\n").into_response();
    }
    match request.uri().path() {
        "/metrics" => match of_database(metrics, Metrics::text).await {
            Some(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
            None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        },
        "/readyz" => match of_database(metrics, Metrics::is_ready).await {
            Some(true) => "ready\n".into_response(),
            _ => {
                let problem = "the database does not respond, or takes no writes\n";
                (StatusCode::SERVICE_UNAVAILABLE, problem).into_response()
            }
        },
        // A client that reads this knows that the process handles connections.
        "/healthz" => "ok\n".into_response(),
        _ => (StatusCode::NOT_FOUND, "see /metrics, /healthz and /readyz\n").into_response(),
    }
}

/// Runs a query on a thread for the database, which blocks. Returns `None` if that panicked.
async fn of_database<T: Send + 'static>(metrics: Metrics, ask: fn(&Metrics) -> T) -> Option<T> {
    tokio::task::spawn_blocking(move || ask(&metrics)).await.ok()
}
