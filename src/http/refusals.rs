//! Why a server refuses a request: no application has its API key, or there are too many.

use super::params::Params;
use super::{Backend, RawReply, RoutedRequest, api_key, encode};
use crate::wire::{Format, Generation};
use crate::{Error, calls, codes};
use std::time::Duration;

impl RoutedRequest {
    /// Checks the API key in a header or in the query, for a server that is about to read a body of more
    /// than [`UNKNOWN_BODY_LIMIT`], so that nobody without a key fills its memory. A key in the body comes
    /// too late for that. [`RoutedRequest::respond`] checks the key in any case.
    ///
    /// # Errors
    /// The reply to send, if there is no such key, or no application has it.
    pub fn check_key(&self, backend: &impl Backend) -> std::result::Result<(), RawReply> {
        let key = Params::read(&self.request)
            .and_then(|mut params| api_key(&self.request, &mut params, backend.names()))
            .map_err(|_| {
                calls::unauthorized("with a large body, it must be in one header or in the query")
            });
        let checked = key.and_then(|key| backend.check_key(&key));
        checked.map_err(|error| self.failure(backend, &error))
    }

    /// The reply to send instead of [`RoutedRequest::respond`] to a client that has sent too many wrong API
    /// keys, unless an application has the key of this request: 503 with the code
    /// [`TOO_MANY_WRONG_KEYS`](crate::codes::TOO_MANY_WRONG_KEYS), and the time after which the client may try
    /// again.
    pub fn refuse_stranger(
        &self,
        backend: &impl Backend,
        retry_after: Duration,
    ) -> Option<RawReply> {
        let key = Params::read(&self.request)
            .and_then(|mut params| api_key(&self.request, &mut params, backend.names()));
        if key.is_ok_and(|key| backend.had_key(&key)) {
            return None;
        }
        let message =
            "Too many wrong API keys were sent from this address. Try again later.".into();
        let code = Some(codes::TOO_MANY_WRONG_KEYS.to_owned());
        let retry_after = Some(retry_after);
        let error = Error::RateLimited { message, retry_after, code, limit: None };
        Some(self.failure(backend, &error))
    }

    /// The reply to send instead of [`RoutedRequest::respond`], if the server cannot handle the call now,
    /// and has done nothing: 503, with the time after which the client may try again.
    pub fn overloaded(&self, backend: &impl Backend, retry_after: Duration) -> RawReply {
        self.failure(backend, &too_many(retry_after))
    }
}

impl RawReply {
    /// As [`RoutedRequest::overloaded`], for a server that no longer has the request.
    pub fn overloaded(retry_after: Duration) -> RawReply {
        encode(Format::Json, &calls::failure(&too_many(retry_after), "/", Generation::Current))
    }
}

fn too_many(retry_after: Duration) -> Error {
    // A code is for what was decided about a user, such as that there were too many wrong codes.
    let message = "The service has too many calls at once. Try again later.".to_owned();
    Error::RateLimited { message, retry_after: Some(retry_after), code: None, limit: None }
}
