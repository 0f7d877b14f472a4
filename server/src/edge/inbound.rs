//! Requests of providers, which report the outcome of a message, and fetch the document that a voice reads out.
//! Everything else is left to the calls of the service, which know no such path: so a wrong secret is answered as any
//! other path that does not exist.

use crate::edge::bodies::Bodies;
use crate::edge::extra::{ExtraEndpoint, Handled};
use crate::edge::places::Client;
use crate::edge::pool::{Lane, Pools, Unhandled};
use crate::edge::reading::{LONGEST, Unread, read_body};
use crate::edge::requests::{PANICKED, Record, admitted, failed};
use crate::observe::journal::Journal;
use crate::sending::routes::{Endpoint, RouteRef, Routes};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use seconder::http::BodyError;
use seconder::model::Secret;
use seconder_gateways::Posted;
use std::sync::Arc;

/// Responds to providers.
pub(crate) struct Inbound {
    routes: Routes,
    journal: Arc<Journal>,
    pools: Pools,
    bodies: Arc<Bodies>,
}

impl ExtraEndpoint for Inbound {
    fn handle<'a>(&'a self, client: Client, request: Request, record: &'a Record) -> Handled<'a> {
        Box::pin(self.respond(client, request, record))
    }
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
    async fn respond(
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

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
