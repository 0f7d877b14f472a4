//! Refusals of requests: no application has the API key, or there are too many requests.

use super::params::Params;
use super::{Backend, RawReply, RoutedRequest, api_key, encode, rejected};
use crate::model::ApiKey;
use crate::wire::{Format, Generation};
use crate::{Error, Result, calls, codes};
use std::time::Duration;

impl RoutedRequest {
    /// Checks the API key in a header or in the query, for a server that is about to read a body of more than
    /// [`UNKNOWN_BODY_LIMIT`](super::UNKNOWN_BODY_LIMIT), so that no client without a key fills its memory. A key in
    /// the body comes too late for that. [`RoutedRequest::respond`] checks the key in any case.
    ///
    /// # Errors
    /// The reply to send, if the request has no such key here, or no application has the key. Only in the latter case,
    /// the reply is `unauthorized`: a request that has no key here may have it in its body.
    pub fn check_key(&self, backend: &dyn Backend) -> std::result::Result<(), RawReply> {
        let Ok(key) = self.key(backend, Params::read(&self.request)) else {
            let where_to = "with a large body, it must be in one header or in the query";
            let reply = self.failure(backend, &calls::unauthorized(where_to));
            return Err(RawReply { unauthorized: false, ..reply });
        };
        backend.check_key(&key).map_err(|error| self.failure(backend, &error))
    }

    fn key(&self, backend: &dyn Backend, params: Result<Params>) -> Result<ApiKey> {
        params.and_then(|mut params| api_key(&self.request, &mut params, backend.names()))
    }

    /// Returns whether an application had the API key of this request when the keys of all were read last: see
    /// [`Backend::had_key`]. If the body did not arrive or cannot be read, a key in a header or in the query counts.
    pub fn has_known_key(&self, backend: &dyn Backend) -> bool {
        self.any_key(backend).is_some_and(|key| backend.had_key(&key))
    }

    /// The same as far as the keys in memory show it, for a thread that must not wait: see
    /// [`Backend::keeps_key`].
    pub fn has_kept_key(&self, backend: &dyn Backend) -> bool {
        self.any_key(backend).is_some_and(|key| backend.keeps_key(&key))
    }

    fn any_key(&self, backend: &dyn Backend) -> Option<ApiKey> {
        let key = self.key(backend, Params::read(&self.request));
        key.or_else(|_| self.key(backend, Params::in_query(&self.request))).ok()
    }

    /// Returns the reply to send instead of [`RoutedRequest::respond`] to a client that has sent too many wrong API
    /// keys, unless an application has the key of this request: 503 with the code
    /// [`TOO_MANY_WRONG_KEYS`](crate::codes::TOO_MANY_WRONG_KEYS), and the time after which the client may try again.
    pub fn refuse_stranger(
        &self,
        backend: &dyn Backend,
        retry_after: Duration,
    ) -> Option<RawReply> {
        if self.has_known_key(backend) {
            return None;
        }
        let message =
            "Too many wrong API keys were sent from this address. Try again later.".into();
        let code = Some(codes::TOO_MANY_WRONG_KEYS.to_owned());
        let retry_after = Some(retry_after);
        let error = Error::RateLimited { message, retry_after, code, limit: None };
        Some(self.failure(backend, &error))
    }

    /// Returns the reply to send instead of [`RoutedRequest::respond`], if the server cannot handle the call now, and
    /// has done nothing: 503, with the time after which the client may try again.
    pub fn overloaded(&self, backend: &dyn Backend, retry_after: Duration) -> RawReply {
        self.failure(backend, &too_many(retry_after))
    }
}

impl RawReply {
    /// Returns the reply of [`RoutedRequest::overloaded`], for a server that no longer has the request.
    pub fn overloaded(retry_after: Duration) -> RawReply {
        encode(Format::Json, &calls::failure(&too_many(retry_after), "/", Generation::Current))
    }
}

fn too_many(retry_after: Duration) -> Error {
    // No code: codes are for decisions about a user, such as that there were too many wrong codes.
    let message = "The service has too many calls at once. Try again later.".to_owned();
    Error::RateLimited { message, retry_after: Some(retry_after), code: None, limit: None }
}

/// Returns the format that a path asks for, if no call has that path.
fn format_of(path: &str) -> Format {
    path.split('/').nth(2).and_then(Format::named).unwrap_or(Format::Json)
}

pub(super) fn not_found(path: &str, replies: Generation) -> RawReply {
    let error = rejected(404, "There is no such call.");
    encode(format_of(path), &calls::failure(&error, path, replies))
}

pub(super) fn method_not_allowed(
    path: &str,
    methods: &[&'static str],
    replies: Generation,
) -> RawReply {
    let methods = methods.join(", ");
    let error = rejected(405, &format!("This call is made with {methods}."));
    let mut reply = encode(format_of(path), &calls::failure(&error, path, replies));
    reply.headers.push(("allow", methods));
    reply
}
