//! Endpoints besides the calls, which the server gives to the edge.

use crate::edge::operators::Operators;
use crate::edge::places::Client;
use crate::edge::requests::Record;
use axum::extract::Request;
use axum::response::Response;
use std::pin::Pin;
use std::sync::Arc;

/// The response of an endpoint, or the request if it is for another one.
pub(crate) type Handled<'a> = Pin<Box<dyn Future<Output = Result<Response, Request>> + Send + 'a>>;

/// An endpoint besides the calls: for the phones of users, or for providers.
pub(crate) trait ExtraEndpoint: Send + Sync {
    /// Handles a request, or returns it if its path belongs to another endpoint.
    fn handle<'a>(&'a self, client: Client, request: Request, record: &'a Record) -> Handled<'a>;
}

/// The endpoints of a listener by network, besides the calls.
#[derive(Clone, Default)]
pub(crate) struct ExtraEndpoints {
    pub(crate) endpoints: Arc<Vec<Box<dyn ExtraEndpoint>>>,
    /// Set on a listener for operators, on which there is nothing else.
    pub(crate) operators: Option<Operators>,
}

impl ExtraEndpoints {
    /// Handles a request that is not a call. Returns the request if it is one for the calls.
    pub(crate) async fn handle(
        &self,
        client: Client,
        mut request: Request,
        record: &Record,
    ) -> Result<Response, Request> {
        for endpoint in &*self.endpoints {
            match endpoint.handle(client, request, record).await {
                Ok(response) => return Ok(response),
                Err(others) => request = others,
            }
        }
        Err(request)
    }
}
