//! Where Prometheus and the probes of a supervisor ask: plain HTTP, apart from the calls.

use super::Metrics;
use crate::places::{Place, Places};
use crate::write_timeout::WriteTimeout;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
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

/// Responds to those who ask, until the handle ends it.
pub(crate) async fn listen(
    listener: TcpListener,
    metrics: Metrics,
    write_limit: Duration,
    handle: axum_server::Handle<SocketAddr>,
) -> io::Result<()> {
    let acceptor = Acceptor { metrics, places: Places::new(CONNECTIONS), write_limit };
    let server = axum_server::from_tcp(listener)?.acceptor(acceptor).handle(handle);
    // The acceptor makes the service of each connection.
    crate::server::limited(server).serve(Router::new().into_make_service()).await
}

#[derive(Clone)]
struct Acceptor {
    metrics: Metrics,
    places: Arc<Places>,
    write_limit: Duration,
}

impl<S> Accept<TcpStream, S> for Acceptor {
    type Stream = WriteTimeout<TcpStream>;
    type Service = Router;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Router)>> + Send>>;

    fn accept(&self, stream: TcpStream, _: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let place = this.places.take(stream.peer_addr()?.ip());
            let place = place.map_err(|full| io::Error::other(full.to_string()))?;
            let stream = WriteTimeout::new(stream, this.write_limit);
            let state = (this.metrics, Arc::new(place));
            Ok((stream, Router::new().fallback(respond).with_state(state)))
        })
    }
}

/// The place is given back when the connection is closed.
async fn respond(
    State((metrics, _place)): State<(Metrics, Arc<Place>)>,
    request: Request,
) -> Response {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let allow = [(header::ALLOW, HeaderValue::from_static("GET, HEAD"))];
        return (StatusCode::METHOD_NOT_ALLOWED, allow, "use GET\n").into_response();
    }
    // The database blocks.
    let of_database = |ask: fn(&Metrics) -> seconder::Result<String>| async move {
        tokio::task::spawn_blocking(move || ask(&metrics))
            .await
            .unwrap_or_else(|_| Err(crate::internal("it ended with a panic")))
            .map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")))
    };
    match request.uri().path() {
        "/metrics" => of_database(Metrics::text).await.map(|text| {
            let of_text = HeaderValue::from_static(OPEN_METRICS);
            ([(header::CONTENT_TYPE, of_text)], text)
        }),
        "/readyz" => {
            let ready = of_database(|metrics| metrics.ready().map(|()| "ready\n".to_owned()));
            return ready.await.into_response();
        }
        // Whoever reads this knows that the process handles connections.
        "/healthz" => return "ok\n".into_response(),
        _ => Err((StatusCode::NOT_FOUND, "see /metrics, /healthz and /readyz\n".to_owned())),
    }
    .into_response()
}
