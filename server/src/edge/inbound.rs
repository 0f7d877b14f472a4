//! Requests besides the calls: from the phones of users, which have the approver, and from providers, which report the
//! outcome of a message, and fetch the document that a voice reads out. Everything else is left to the calls of the
//! service, which know no such path: so a wrong secret is answered as any other path that does not exist.

use crate::approver::{Approver, Brand};
use crate::edge::bodies::{Bodies, BodyBuffer};
use crate::edge::operators::Operators;
use crate::edge::places::Client;
use crate::edge::pool::{Lane, Pools, Unhandled};
use crate::edge::requests::{PANICKED, Record, admitted, failed};
use crate::edge::source::Source;
use crate::observe::journal::Journal;
use crate::sending::routes::{Endpoint, RouteRef, Routes};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use seconder::http::BodyError;
use seconder::model::Secret;
use seconder::remote::Dialer;
use seconder_gateways::Posted;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of a receipt.
pub(crate) const LONGEST: usize = 64 * 1024;
/// How many times as many bytes of a larger body are read, so that the sender can finish and read the response.
const DISCARD: usize = 8;
/// The time that a provider may take to send a body.
const BODY_TIME: Duration = Duration::from_secs(15);

/// The reason why nothing of a body is kept.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It did not arrive, or is too large.
    Body(BodyError),
    /// There is no memory for it now.
    Full,
}

impl From<BodyError> for Unread {
    fn from(error: BodyError) -> Unread {
        Unread::Body(error)
    }
}

/// The endpoints of a server by network, besides the calls.
#[derive(Clone, Default)]
pub(crate) struct Beside {
    pub(crate) inbound: Option<Inbound>,
    pub(crate) approver: Option<Approver>,
    /// Set on a listener for operators, on which there is nothing else.
    pub(crate) operators: Option<Operators>,
}

impl Beside {
    /// Returns the endpoints of a server with this source and these routes. The dialer connects to the hosts of
    /// pictures, and the approver has the brand.
    pub(crate) fn of(
        source: &dyn Source,
        (routes, pictures): (Option<&Routes>, (&Dialer, &Brand)),
        journal: &Arc<Journal>,
        pools: &Pools,
    ) -> seconder::Result<Beside> {
        Ok(Beside {
            inbound: Inbound::of(routes, journal, pools),
            approver: Approver::of(source.engine().as_ref(), pictures, journal, pools)?,
            operators: None,
        })
    }

    /// Returns the endpoint of a listener for operators.
    pub(crate) fn for_operators(operators: Operators) -> Beside {
        Beside { operators: Some(operators), ..Beside::default() }
    }

    /// Handles a request that is not a call. Returns the request if it is one for the calls.
    pub(crate) async fn handle(
        &self,
        client: Client,
        mut request: Request,
        record: &Record,
    ) -> Result<Response, Request> {
        if let Some(approver) = &self.approver {
            match approver.handle(client, request, record).await {
                Ok(response) => return Ok(response),
                Err(others) => request = others,
            }
        }
        match &self.inbound {
            Some(inbound) => inbound.handle(client, request, record).await,
            None => Err(request),
        }
    }
}

/// Responds to providers. Clones are the same.
#[derive(Clone)]
pub(crate) struct Inbound {
    routes: Routes,
    journal: Arc<Journal>,
    pools: Pools,
    bodies: Arc<Bodies>,
}

impl Inbound {
    /// Returns the endpoints for the providers of these routes; `None` if there are no routes.
    pub(crate) fn of(
        routes: Option<&Routes>,
        journal: &Arc<Journal>,
        pools: &Pools,
    ) -> Option<Inbound> {
        let (routes, journal) = (routes?.clone(), Arc::clone(journal));
        Some(Inbound { routes, journal, pools: pools.clone(), bodies: Arc::default() })
    }

    /// Uses the database. The error is the response: providers repeat their requests.
    async fn of_database<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, Response> {
        let (pool, unavailable) =
            (self.pools.of_database(), empty(StatusCode::SERVICE_UNAVAILABLE));
        if pool.is_full(Lane::Network) {
            return Err(unavailable);
        }
        match pool.run(Lane::Network, work).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(error)) => {
                self.journal.note(&format!("error: {error}"));
                Err(failed(unavailable, &error))
            }
            Err(Unhandled::Full) => Err(unavailable),
            Err(Unhandled::Panicked) => Err(failed(unavailable, PANICKED)),
        }
    }

    /// Handles a request of a provider. Returns the request of any other client.
    async fn handle(
        &self,
        client: Client,
        request: Request,
        record: &Record,
    ) -> Result<Response, Request> {
        if ![Method::GET, Method::POST].contains(request.method()) {
            return Err(request);
        }
        let path = request.uri().path();
        if let Some(own) = Routes::known_path(path) {
            record.note_path(own);
        }
        if let Some(route) = self.routes.forged(path) {
            self.journal.note(&format!(
                "warning: {client} sent a receipt to /receipts/{route}/…, whose last part is not that of the route: it \
                 is forged, or the provider was given another URL"
            ));
        }
        match self.routes.endpoint(path) {
            Some(Endpoint::Receipt(route)) => Ok(self.receipt(client, route, request).await),
            Some(Endpoint::Document(route, token)) => match self.document(route, token).await {
                Some(response) => Ok(response),
                None => Err(request),
            },
            None => Err(request),
        }
    }

    async fn receipt(&self, client: Client, route: RouteRef, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let body = match read_body(body, LONGEST, self.bodies.body(client)).await {
            Ok(body) => body,
            Err(Unread::Full) => return empty(StatusCode::SERVICE_UNAVAILABLE),
            Err(Unread::Body(BodyError::TooLarge)) => {
                return self.rejected(&route, StatusCode::PAYLOAD_TOO_LARGE, "it is too large");
            }
            Err(Unread::Body(BodyError::TooSlow)) => return empty(StatusCode::REQUEST_TIMEOUT),
            Err(_) => return empty(StatusCode::BAD_REQUEST),
        };
        let content_type = head.headers.get(header::CONTENT_TYPE);
        let posted = Posted {
            query: head.uri.query().unwrap_or_default(),
            content_type: content_type.and_then(|value| value.to_str().ok()).unwrap_or_default(),
            body: &body,
        };
        let receipt = match self.routes.read_receipt(&route, &posted) {
            Ok(receipt) => receipt,
            Err(wrong) => return self.rejected(&route, StatusCode::BAD_REQUEST, &wrong),
        };
        let routes = self.routes.clone();
        let stored = move || {
            let stored = routes.store_receipt(&route, &receipt);
            stored.map_err(|error| format!("a receipt was not stored: {error}"))
        };
        match self.of_database(stored).await {
            Ok(_) => admitted(empty(StatusCode::OK)),
            Err(response) => response,
        }
    }

    fn rejected(&self, route: &RouteRef, status: StatusCode, wrong: &str) -> Response {
        self.routes.count_receipt(route.name(), None);
        self.journal
            .note(&format!("warning: route {}: a receipt was rejected: {wrong}", route.name()));
        empty(status)
    }

    /// Returns a document as a response; `None` if it does not exist, or no longer does.
    async fn document(&self, route: RouteRef, token: Secret) -> Option<Response> {
        let (routes, name) = (self.routes.clone(), route.name().to_owned());
        let fetch = move || {
            let failed = |error| format!("route {name}: a document was not fetched: {error}");
            routes.fetch(&route, &token).map_err(failed)
        };
        match self.of_database(fetch).await {
            Ok(found) => found.map(|(kind, text)| {
                let mut response = Response::new(Body::from(text.expose().to_owned()));
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                admitted(response)
            }),
            Err(response) => Some(response),
        }
    }
}

/// Reads a body of at most so many bytes within a time limit.
pub(crate) async fn read_body(
    body: Body,
    most: usize,
    buffer: BodyBuffer,
) -> Result<BodyBuffer, Unread> {
    let read = tokio::time::timeout(BODY_TIME, read_to_end(body, most, buffer)).await;
    read.unwrap_or(Err(BodyError::TooSlow.into()))
}

async fn read_to_end(
    mut body: Body,
    most: usize,
    mut buffer: BodyBuffer,
) -> Result<BodyBuffer, Unread> {
    let (mut length, mut is_full) = (0, false);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Incomplete)?;
        let data: Bytes = frame.into_data().unwrap_or_default();
        length += data.len();
        if length > DISCARD * most {
            break;
        }
        is_full = is_full || length <= most && !buffer.extend(&data);
        if is_full || length > most {
            buffer.clear();
        }
    }
    match length <= most {
        true if is_full => Err(Unread::Full),
        true => Ok(buffer),
        false => Err(BodyError::TooLarge.into()),
    }
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
