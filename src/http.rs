//! The HTTP edge: one function turns a request as it was received into the reply to send, for every
//! server in front of an [`Engine`](crate::engine::Engine) or a [`Relay`]. It opens no socket:
//! connections and their time limits are the server's responsibility, and so is who the peer of a
//! local socket is.
//!
//! ```
//! use seconder::http::{Caller, RawRequest, respond};
//!
//! let service = seconder::Settings::new("sandbox:").api_key("key").open()?;
//! let request = RawRequest::new("GET", "/protected/json/app/details");
//! let request = request.header("X-Svc-API-Key", "key");
//! let reply = respond(service.require_engine()?, Caller::Network, request);
//! assert_eq!(reply.status, 200);
//! assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
//! # Ok::<(), seconder::Error>(())
//! ```

mod backend;
mod multipart;
mod operators;
mod params;
mod peer;
mod refusals;
mod sandbox;

pub use crate::wire::{OPERATOR_APP, OPERATOR_PATH};
pub use backend::{Backend, Origin, Relay};
#[cfg(feature = "https")]
pub(crate) use operators::STORAGE;
pub use operators::{bearer_token, respond_to_operator};
pub use peer::{Peer, Right, Rights};
pub use sandbox::{
    SANDBOX_API_KEY, SANDBOX_FAULTS, SANDBOX_OPERATIONS, SANDBOX_PATH, SandboxFault,
    SandboxOperation,
};

use crate::calls::{self, Call, MatchedCall, Route, RouteMatch, Verdict, Verify, match_route};
use crate::error::{Rejection, whole_seconds};
use crate::model::{ApiKey, Secret};
use crate::wire::{FORWARDED, Format, Generation, Names, Reply, Wiping};
use crate::{Error, Result, codes};
use params::Params;
use peer::Denied;
use refusals::{method_not_allowed, not_found};
use serde_json::{Map, Value};
use std::fmt;
use std::num::NonZeroI64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use zeroize::Zeroizing;

/// The maximum size of a request's body in bytes, 1 MiB, which no request of the interface reaches.
/// A server need not read further, and passes [`BodyError::TooLarge`] instead of the body.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// The most bytes of a body that a server reads before it knows whose request it is, 8 KiB: see
/// [`RoutedRequest::check_key`].
pub const UNKNOWN_BODY_LIMIT: usize = 8 * 1024;

/// The sender of a request, as far as the transport knows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caller {
    /// Anyone who can reach the server. The API key in the request identifies the application
    /// (interface 5).
    Network,
    /// A process on this machine, known by the operating system and not by a key. Its calls are
    /// calls of the application that the [`Backend`] was opened for. A request with a key is
    /// rejected: a client that sends one expects that it is checked.
    Peer(Peer),
    /// An operator whose token was right and whose role includes the call. The call is one of the application that the
    /// [`Backend`] was opened for, and a request with a key is rejected.
    Operator,
}

/// A request as it was received. Its target, headers and body are wiped when it is dropped, because
/// they may contain keys and codes. The server's own buffers are not wiped.
pub struct RawRequest {
    method: String,
    target: Zeroizing<String>,
    headers: Vec<(String, Zeroizing<Vec<u8>>)>,
    body: std::result::Result<Zeroizing<Vec<u8>>, BodyError>,
    id: Option<String>,
}

/// A request whose call was found, before its body is read. See [`route`].
#[derive(Debug)]
pub struct RoutedRequest {
    call: MatchedCall,
    request: RawRequest,
}

/// The reason why the body of a request is missing or incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// The body has more than [`BODY_LIMIT`] bytes.
    TooLarge,
    /// The body did not arrive within the server's time limit.
    TooSlow,
    /// The connection ended, or the received bytes are not HTTP.
    Incomplete,
}

/// The reply to send. The server adds the headers of the connection, such as `Content-Length`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawReply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, by their names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body, of the media type in `content-type`. It may contain a secret, such as an
    /// authenticator app's.
    pub body: Vec<u8>,
    /// For the log of the server, if a [`Peer`] may not make the call: the user and the missing
    /// right.
    pub refused: Option<Box<str>>,
    /// For the log of the server: the call, if the path belongs to one.
    pub call: Option<&'static Route>,
    /// For the log of the server: the id of the application, if it is known.
    pub app_id: Option<NonZeroI64>,
    /// For the log of the server: the verdict on the code, if the call verifies one.
    pub verdict: Option<Verdict>,
    /// For the log of the server: the error code in the body.
    pub code: Option<Box<str>>,
    /// For the log of the server: the failure in it, or in something it depends on. The body does
    /// not show it.
    pub failure: Option<Box<str>>,
    /// For the log of the server: true if an application has the API key of the request, or the
    /// peer may make the call. Anyone can send all other requests, so a server limits how many of
    /// them it logs.
    pub admitted: bool,
    /// For the server, which limits how often one address may do that: true if no application has
    /// the API key of the request, or it has none.
    pub unauthorized: bool,
}

impl RawRequest {
    /// Creates a request without headers or a body. `target` is the path, percent-encoded as it was
    /// received, followed by `?` and the query if there is one.
    pub fn new(method: impl Into<String>, target: impl Into<String>) -> RawRequest {
        RawRequest {
            method: method.into(),
            target: Zeroizing::new(target.into()),
            headers: Vec::new(),
            body: Ok(Zeroizing::default()),
            id: None,
        }
    }

    /// Adds a header. Add every header of the same name: a request with two API keys is rejected.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> RawRequest {
        self.headers.push((name.into(), Zeroizing::new(value.into())));
        self
    }

    /// Sets the body. Default: none.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> RawRequest {
        self.body = Ok(Zeroizing::new(body.into()));
        self
    }

    /// Sets the reason for the missing body.
    pub fn body_error(mut self, error: BodyError) -> RawRequest {
        self.body = Err(error);
        self
    }

    /// Sets the id of the request in the log of the server, which the audit has too. Default: none.
    pub fn id(mut self, id: impl Into<String>) -> RawRequest {
        self.id = Some(id.into());
        self
    }

    /// Returns the path and the query. Clients of proxies send a whole URL, and some a fragment, which no server needs.
    fn path_and_query(&self) -> (&str, &str) {
        let target = self.target.split_once('#').map_or(self.target.as_str(), |(target, _)| target);
        let (before, query) = target.split_once('?').unwrap_or((target, ""));
        let path = match before.split_once("://") {
            Some((_, rest)) if !before.starts_with('/') => {
                rest.find('/').map_or("/", |slash| &rest[slash..])
            }
            _ => before,
        };
        // Clients join a base URL that ends with a slash and a path that begins with one.
        match path.strip_prefix("//") {
            Some(rest) => (&path[path.len() - rest.trim_start_matches('/').len() - 1..], query),
            None => (path, query),
        }
    }

    fn query(&self) -> &str {
        self.path_and_query().1
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let named = move |(known, _): &&(String, _)| known.eq_ignore_ascii_case(name);
        self.headers.iter().filter(named).map(|(_, value)| value.as_slice())
    }
}

impl RawReply {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the reply to send if a thread that runs [`respond`] ended without a reply.
    pub fn internal_error() -> RawReply {
        encode(Format::Json, &calls::failure(&no_reply(), "/", Generation::Current))
    }
}

/// Handles any request. Blocks while the engine waits for its database and for the delivery of
/// messages, or the relay for its service.
pub fn respond(backend: &dyn Backend, caller: Caller, request: RawRequest) -> RawReply {
    match route(backend, request) {
        Ok(routed) => routed.respond(backend, caller),
        Err(reply) => reply,
    }
}

/// Finds the call of a request, as the first half of [`respond`]: a server that has only read the head
/// of a request can reply at once if there is no such call, instead of waiting for the body.
///
/// # Errors
/// The reply to send: 404, or 405 with the methods that are allowed.
pub fn route(
    backend: &dyn Backend,
    request: RawRequest,
) -> std::result::Result<RoutedRequest, RawReply> {
    let (path, _) = request.path_and_query();
    let replies = backend.replies();
    let Some(path) = backend.names().path_from_wire(path).map(Zeroizing::new) else {
        return Err(not_found(path, replies));
    };
    match match_route(&request.method, &path) {
        RouteMatch::Call(call) => Ok(RoutedRequest { call, request }),
        RouteMatch::MethodNotAllowed(methods) => Err(method_not_allowed(&path, &methods, replies)),
        RouteMatch::NotFound => Err(not_found(&path, replies)),
    }
}

impl RoutedRequest {
    /// Returns the call, as far as the path determines it.
    pub fn call(&self) -> &MatchedCall {
        &self.call
    }

    /// Sets the body as [`RawRequest::body`] does.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> RoutedRequest {
        self.request = self.request.body(body);
        self
    }

    /// Sets the reason for the missing body as [`RawRequest::body_error`] does.
    pub fn body_error(mut self, error: BodyError) -> RoutedRequest {
        self.request = self.request.body_error(error);
        self
    }

    /// Returns the reply to send instead of [`RoutedRequest::respond`], if the server does not handle the call because
    /// of this error.
    pub fn failure(&self, backend: &dyn Backend, error: &Error) -> RawReply {
        let mut reply = self.call.failure_writer()(error, backend.replies());
        backend.names().body_to_wire(&mut reply.body);
        let unauthorized = matches!(error, Error::Unauthorized { .. });
        let call = Some(self.call.route());
        RawReply { call, unauthorized, ..encode(self.call.format(), &reply) }
    }

    /// Reads the parameters in the query and the body, without the API key.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if they cannot be read.
    pub fn params(&self) -> Result<Map<String, Value>> {
        let mut params = Params::read(&self.request)?;
        drop(params.remove("api_key").map(Wiping));
        Ok(params.take())
    }

    /// Handles the request, as the second half of [`respond`].
    pub fn respond(mut self, backend: &dyn Backend, caller: Caller) -> RawReply {
        let (format, failure) = (self.call.format(), self.call.failure_writer());
        let route = self.call.route();
        let mut refused = None;
        let mut origin = Origin { request_id: self.request.id.take(), ..Origin::default() };
        // A panic is a bug, and still the client gets a reply in its format.
        let handled = catch_unwind(AssertUnwindSafe(|| {
            self.handle(backend, &caller, &mut refused, &mut origin)
        }));
        let reply = handled.unwrap_or_else(|_| Err(no_reply()));
        let (admitted, unauthorized) =
            (reply.is_ok(), matches!(reply, Err(Error::Unauthorized { .. })));
        // The application of such a request may be unknown, so the server's own setting decides.
        let mut reply = reply.unwrap_or_else(|error| failure(&error, backend.replies()));
        let is_verification = *route == Verify::ROUTE;
        let read = is_verification.then(|| Verify::read(reply.clone()).ok()).flatten();
        let verdict = read.map(|read| read.verdict);
        backend.names().body_to_wire(&mut reply.body);
        let call = Some(route);
        let app_id = origin.app_id.get().and_then(|id| NonZeroI64::new(*id));
        RawReply {
            refused,
            app_id,
            verdict,
            call,
            admitted,
            unauthorized,
            ..encode(format, &reply)
        }
    }

    fn handle(
        self,
        backend: &dyn Backend,
        caller: &Caller,
        refused: &mut Option<Box<str>>,
        origin: &mut Origin,
    ) -> Result<Reply> {
        let RoutedRequest { call, request } = self;
        if backend.forwards() && request.values(FORWARDED).next().is_some() {
            return Err(rejected(508, "This service forwards calls, and accepts none that was."));
        }
        if let Caller::Peer(peer) = caller {
            peer.permit(&call, backend).map_err(|denied| match denied {
                Denied::Forbidden(reason) => {
                    let error = rejected(403, &reason);
                    *refused = Some(reason.into());
                    error
                }
                Denied::Failed(error) => error,
            })?;
        }
        let mut params = Params::read(&request)?;
        origin.key = match caller {
            Caller::Network => Some(api_key(&request, &mut params, backend.names())?),
            Caller::Peer(_) | Caller::Operator => {
                no_api_key(&request, &mut params, backend.names())?;
                None
            }
        };
        // The request is wiped before the call runs, because that may wait for a message to be sent.
        drop(request);
        backend.handle_call(origin, call, params.take())
    }
}

fn no_reply() -> Error {
    Error::Internal { message: "a call did not return a reply".into() }
}

/// Reads the API key from its header, or from the parameters, where many clients send it (interface
/// 5.2). If two different keys are given, neither is used: a proxy in front of the service may have
/// checked the other one.
fn api_key(request: &RawRequest, params: &mut Params, names: &Names) -> Result<ApiKey> {
    let header = names.api_key();
    let mut headers = request.values(&header);
    // An empty parameter is absent, as in every call.
    let parameter = params.remove("api_key").and_then(|value| match value {
        Value::Null => None,
        Value::String(key) if key.is_empty() => None,
        Value::String(key) => Some(Secret::new(key)),
        other => {
            drop(Wiping(other));
            Some(Secret::default())
        }
    });
    let in_header = headers.next().map(|key| std::str::from_utf8(key).ok().map(Secret::new));
    let key = match (in_header, headers.next(), parameter) {
        (None, None, Some(key)) => Some(key),
        (Some(key), None, None) => key,
        // Secrets are compared in constant time.
        (Some(key), None, Some(parameter)) if key.as_ref() == Some(&parameter) => key,
        (None, None, None) => return Err(calls::unauthorized("the request has none")),
        _ => return Err(calls::unauthorized("the request has several")),
    };
    let key = key.filter(|key| !key.expose().is_empty());
    let key = key.ok_or_else(|| calls::unauthorized("it is empty or not text"))?;
    ApiKey::try_from(key).map_err(|_| calls::unauthorized("no application has it"))
}

/// Rejects a request of a peer with an API key, which would not be checked.
fn no_api_key(request: &RawRequest, params: &mut Params, names: &Names) -> Result<()> {
    let parameter = params.remove("api_key").map(Wiping);
    match request.values(&names.api_key()).next().is_some() || parameter.is_some() {
        true => Err(Error::invalid_argument(
            "api_key",
            "must not be sent by peers of a local socket and by operators, who are known without one",
        )),
        false => Ok(()),
    }
}

fn rejected(status: u16, message: &str) -> Error {
    let code = Some(codes::INVALID_REQUEST.to_owned());
    Error::Rejected(Box::new(Rejection {
        status,
        code,
        message: message.into(),
        ..Rejection::default()
    }))
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Error {
        match error {
            BodyError::TooLarge => rejected(413, "The body is larger than 1 MiB."),
            BodyError::TooSlow => rejected(408, "The body did not arrive in time."),
            BodyError::Incomplete => rejected(400, "The body is incomplete."),
        }
    }
}

fn encode(format: Format, reply: &Reply) -> RawReply {
    let mut headers = vec![
        ("content-type", format.media_type().to_owned()),
        // A reply may contain a secret, and is soon out of date.
        ("cache-control", "no-store".to_owned()),
        // An error may repeat what a client sent, which a browser must not interpret as a page.
        ("x-content-type-options", "nosniff".to_owned()),
    ];
    if let Some(wait) = reply.retry_after {
        headers.push(("retry-after", whole_seconds(wait).to_string()));
    }
    let body = format.write(&reply.body);
    // A relay is sent one that may be any text.
    let is_code = |code: &String| code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit());
    let code = reply.text("error_code").filter(is_code).map(String::into_boxed_str);
    RawReply {
        status: reply.status,
        headers,
        body,
        refused: None,
        call: None,
        app_id: None,
        verdict: None,
        code,
        failure: reply.failure.as_deref().map(Into::into),
        admitted: false,
        unauthorized: false,
    }
}

impl fmt::Debug for RawRequest {
    /// Shows only the method: the target, the headers and the body may contain a key or a code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

impl fmt::Debug for RawReply {
    /// Shows only the status: the body may contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawReply").field("status", &self.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
