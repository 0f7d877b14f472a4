//! The paths of a sandbox over HTTPS, for tests in any language.

use crate::edge::bodies::BodyBuffer;
use crate::edge::reading::{LONGEST, Unread, read_body};
use crate::edge::replies;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use seconder::http::{
    Backend, BodyError, RawReply, RoutedRequest, SANDBOX_OPERATIONS, SANDBOX_PATH, SandboxOperation,
};
use seconder::model::{ApiKey, Secret};
use seconder::sandbox::{Fate, Sandbox, TestRequest};
use seconder::{Error, Result, codes};
use serde_json::Value;
use std::time::Duration;

/// Returns whether a path is one of those for tests.
pub(crate) fn owns(path: &str) -> bool {
    // Clients join a base URL that ends with a slash and a path that begins with one.
    format!("/{}", path.trim_start_matches('/')).starts_with(SANDBOX_PATH)
}

/// Responds to a request for one of those paths.
pub(crate) async fn respond(sandbox: &Sandbox, request: Request) -> Response {
    match reply(sandbox, request).await {
        Ok(reply) => response(&reply),
        Err(error) => failed(&error),
    }
}

/// Returns the fate of a call, by the faults that were injected.
pub(crate) async fn fate(sandbox: &Sandbox, routed: &RoutedRequest) -> Fate {
    let Some(fault) = sandbox.fault_of(routed) else { return Fate::Handled };
    drop(tokio::time::timeout(fault.hold(), fault.ended()).await);
    fault.fate(routed)
}

async fn reply(sandbox: &Sandbox, request: Request) -> Result<Value> {
    let (head, body) = request.into_parts();
    let operation = find(head.uri.path(), head.method.as_str())?;
    check_key(sandbox, &head.headers)?;
    let body =
        read_body(body, LONGEST, BodyBuffer::default()).await.map_err(|error| match error {
            Unread::Body(BodyError::TooLarge) => {
                Error::rejected(413, None, "The body is larger than 64 KiB.")
            }
            Unread::Body(BodyError::TooSlow) => {
                Error::rejected(408, None, "The body did not arrive in time.")
            }
            _ => Error::rejected(400, None, "The body is incomplete."),
        })?;
    let request = TestRequest::read(operation, head.uri.query().unwrap_or_default(), &body)?;
    drop(tokio::time::timeout(request.wait(), sandbox.found(&request)).await);
    let sandbox = sandbox.clone();
    // It may post a callback, and wait for the application.
    let carried_out = tokio::task::spawn_blocking(move || sandbox.carry_out(&request));
    carried_out.await.unwrap_or_else(|_| Err(crate::internal("a thread ended")))
}

/// Returns whether a request has the key of this sandbox.
pub(crate) fn is_authorized(sandbox: &Sandbox, headers: &HeaderMap) -> bool {
    check_key(sandbox, headers).is_ok()
}

/// Returns the reply to a client that has sent too many wrong keys.
pub(crate) fn refused(wait: Duration) -> Response {
    let message = "Too many wrong API keys were sent from this address. Try again later.";
    let mut response = failed(&Error::rejected(503, None, message));
    let seconds = HeaderValue::from(wait.as_secs() + 1);
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

fn check_key(sandbox: &Sandbox, headers: &HeaderMap) -> Result<()> {
    let name = sandbox.names().api_key();
    let mut keys = headers.get_all(&name).iter();
    let unauthorized =
        |message: String| Error::rejected(401, Some(codes::INVALID_API_KEY), message);
    let key = match (keys.next().map(|key| key.to_str()), keys.next()) {
        (Some(Ok(key)), None) => ApiKey::try_from(Secret::new(key)).ok(),
        _ => return Err(unauthorized(format!("The API key must be in one header {name}."))),
    };
    let known = key.and_then(|key| sandbox.engine().check_key(&key).ok());
    known.ok_or_else(|| unauthorized("The sandbox has another API key.".to_owned()))
}

fn find(path: &str, method: &str) -> Result<&'static SandboxOperation> {
    let name = path.trim_start_matches('/').strip_prefix(SANDBOX_PATH.trim_start_matches('/'));
    let operation = SANDBOX_OPERATIONS.iter().find(|operation| Some(operation.name) == name);
    let operation = operation.ok_or_else(|| {
        let names: Vec<_> = SANDBOX_OPERATIONS.iter().map(|operation| operation.name).collect();
        let message = format!("A sandbox has no such path. There are {}.", names.join(", "));
        Error::rejected(404, None, message)
    })?;
    match operation.method == method {
        true => Ok(operation),
        false => Err(Error::rejected(405, None, format!("The method is {}.", operation.method))),
    }
}

fn failed(error: &Error) -> Response {
    replies::response(RawReply::of_error(error))
}

fn response(body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
