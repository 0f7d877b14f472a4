//! Backends that handle the requests that a server receives: an engine, or a relay.

use super::rejected;
use crate::calls::{self, Call, CreateUser, FindUser, FoundUser, Handle, HandleAll, MatchedCall};
use crate::engine::Engine;
use crate::engine::model::as_written;
use crate::model::{ApiKey, UserId};
use crate::wire::{Generation, Names, Reply};
use crate::{Error, Result, codes};
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// What is known of a call apart from its parameters.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Origin {
    /// The API key; `None` for a peer of a local socket and for an operator.
    pub key: Option<ApiKey>,
    /// The id of the request in the log of the server, for the audit.
    pub request_id: Option<String>,
    /// The id of the application, once a backend has found it, for the log.
    pub app_id: OnceLock<i64>,
}

/// Handles the calls of requests: an [`Engine`], or a [`Relay`].
pub trait Backend {
    /// Returns the names in requests and replies.
    fn names(&self) -> &Names;

    /// Returns the generation of the replies to requests whose application is not known.
    fn replies(&self) -> Generation;

    /// Returns the user whose login name on this machine this is.
    ///
    /// # Errors
    /// If this cannot be found out.
    fn user_with_login(&self, login: &str) -> Result<Option<UserId>>;

    /// Checks a call that a user makes for their own account.
    ///
    /// # Errors
    /// [`Error::Rejected`] if it would add to or replace what protects the account.
    fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()>;

    /// Checks that an application has this API key.
    ///
    /// # Errors
    /// If none has.
    fn check_key(&self, key: &ApiKey) -> Result<()>;

    /// Returns whether calls may be forwarded to another service. If so, calls that were already
    /// forwarded are rejected: they could be forwarded in a loop.
    fn forwards(&self) -> bool {
        false
    }

    /// Returns whether an application had this API key when the keys of all were read last. It
    /// looks up no key, so that it costs next to nothing however many keys are tried.
    fn had_key(&self, key: &ApiKey) -> bool;

    /// Returns whether an application has this API key, as far as the keys in memory show it. It
    /// must not wait, because it is called where other connections would wait too. Default: no key
    /// is in memory.
    fn keeps_key(&self, _key: &ApiKey) -> bool {
        false
    }

    /// Handles a call of the application whose API key it has; without one, of the application that
    /// this was opened for. It sets the id of the application, if it knows it.
    ///
    /// # Errors
    /// If no application has the key. Every other error is a reply.
    fn handle_call(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply>;
}

impl Backend for Engine {
    fn names(&self) -> &Names {
        Engine::names(self)
    }

    fn replies(&self) -> Generation {
        Engine::replies(self)
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        Ok(find_user(self, login)?.map(|found| found.user_id))
    }

    fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()> {
        Engine::check_own_account(self, call, user_id)
    }

    fn check_key(&self, key: &ApiKey) -> Result<()> {
        self.authenticate(key).map(drop)
    }

    fn had_key(&self, key: &ApiKey) -> bool {
        Engine::had_key(self, key)
    }

    fn keeps_key(&self, key: &ApiKey) -> bool {
        Engine::keeps_key(self, key)
    }

    fn handle_call(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        self.handle_call_by(origin, call, params, |engine| engine)
    }
}

#[doc(hidden)]
impl Engine {
    /// Handles a call as [`Backend::handle_call`] does, with the handler that `handler` makes from
    /// the engine of the application.
    ///
    /// # Errors
    /// As for [`Backend::handle_call`].
    pub fn handle_call_by<S: HandleAll>(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
        handler: impl FnOnce(Engine) -> S,
    ) -> Result<Reply> {
        let engine = match &origin.key {
            Some(key) => self.authenticate(key)?,
            None => self.current()?,
        };
        // It comes from one application.
        let _ = origin.app_id.set(engine.app_id());
        let engine = engine.for_request(origin.request_id.as_deref());
        let replies = engine.replies();
        if origin.key.is_some()
            && let Err(error) = engine.count_request()
        {
            // As the application reads it, which need not be the server's own.
            return Ok(call.failure_writer()(&error, replies));
        }
        Ok(call.handle(&handler(engine), params, replies))
    }
}

/// Passes calls on to another service, usually a remote one, with the key that it was opened with.
/// It has no key of its own, so only a [`Peer`](super::Peer) can make calls.
///
/// The service's reply is parsed as the reply of the call and written again, so only what this
/// library understands is passed on. A failure behind the relay becomes a failure with status 502,
/// 503 or 504 that says so; other rejections, waits and error codes are passed on as the service
/// sent them.
#[derive(Clone, Debug)]
pub struct Relay<S> {
    service: S,
    names: Names,
    replies: Generation,
}

impl<S> Relay<S> {
    /// Creates a relay to a service, with the names that its own requests and replies have, and the
    /// generation of its replies.
    pub fn new(service: S, names: Names, replies: Generation) -> Relay<S> {
        Relay { service, names, replies }
    }

    /// Returns the service that calls are passed on to.
    pub fn service(&self) -> &S {
        &self.service
    }
}

impl<S: HandleAll> Backend for Relay<S> {
    fn names(&self) -> &Names {
        &self.names
    }

    fn replies(&self) -> Generation {
        self.replies
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        let found = find_user(&self.service, login).map_err(worded)?;
        Ok(found.map(|found| found.user_id))
    }

    /// Rejects changes of an own account: the service behind the relay treats every call as the
    /// application's, and does not report all that an engine checks.
    fn check_own_account(&self, call: &MatchedCall, _user_id: UserId) -> Result<()> {
        match call.changes_protection() {
            true => Err(rejected(
                403,
                "A relay does not let users change their own account: an administrator can.",
            )),
            false => Ok(()),
        }
    }

    fn check_key(&self, _key: &ApiKey) -> Result<()> {
        Err(keyless())
    }

    fn had_key(&self, _key: &ApiKey) -> bool {
        false
    }

    fn handle_call(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        match &origin.key {
            Some(_) => Err(keyless()),
            None => Ok(call.handle(&PassedOn(&self.service), params, self.replies)),
        }
    }
}

fn keyless() -> Error {
    calls::unauthorized("a relay has no key to compare it with")
}

/// Finds the user with a login name. A name that no user can have finds no user.
fn find_user(service: &impl Handle<FindUser>, login: &str) -> Result<Option<FoundUser>> {
    let Ok(login) = login.parse() else { return Ok(None) };
    FindUser::found(service.handle(&FindUser::new(login)))
}

/// A service whose errors are worded for the clients of a relay.
struct PassedOn<'a, S>(&'a S);

impl<C: Call, S: Handle<C>> Handle<C> for PassedOn<'_, S> {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        self.0.handle(call).map_err(worded)
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<C::Reply>> {
        if C::ROUTE.name == CreateUser::ROUTE.name {
            as_written::check_number_is_meant(params)?;
        }
        self.0.prepare(params)
    }
}

/// Returns the error for the client of a relay. Without this, the client would get the error of an
/// engine, whose messages say nothing, because they might show internal details.
fn worded(error: Error) -> Error {
    let behind = |status, code, message| Error::rejected(status, Some(code), message);
    match error {
        Error::Unavailable { ref message, .. } => {
            let status = if is_timeout(&error) { 504 } else { 503 };
            behind(
                status,
                codes::UNSPECIFIC,
                format!("The service behind this relay failed: {message}"),
            )
        }
        Error::InvalidResponse { message } => {
            let message = format!("The service behind this relay is not understood: {message}");
            behind(502, codes::UNSPECIFIC, message)
        }
        // The client of a relay sends no key: the relay's own key is wrong.
        Error::Unauthorized { message, .. } => {
            let message =
                format!("The service behind this relay rejected the relay's API key: {message}");
            behind(401, codes::INVALID_API_KEY, message)
        }
        other => other,
    }
}

#[cfg(feature = "remote")]
fn is_timeout(error: &Error) -> bool {
    error.timed_out()
}

#[cfg(not(feature = "remote"))]
fn is_timeout(_error: &Error) -> bool {
    false
}

#[cfg(test)]
mod tests;
