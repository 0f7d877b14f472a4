//! An engine to which an application moves: calls for users and codes that are not here yet are passed on to the
//! service before it, by the client of this project, and users come over one by one.

mod passed;

use crate::edge::source::Source;
use passed::{Passed, is_unknown_user};
use seconder::calls::{MatchedCall, UserStatus, UserStatusReply};
use seconder::engine::{Engine, Forwarding, Learned};
use seconder::http::{Backend, Origin};
use seconder::model::{ApiKey, UserId};
use seconder::wire::{Generation, Names, Reply};
use seconder::{Call, Error, Handle, Result, Service, codes};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The most calls that wait for the other service at once: of the threads that handle calls, this leaves half for users
/// who are here, also while it hangs.
const MOST: usize = 64;
/// The time after which a client may try again, if there are more.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The time within which the other service has to return the status of a user, while the user waits for another reply.
const QUESTION: Duration = Duration::from_secs(2);

/// An engine, and the service before it. Clones are the same.
#[derive(Clone)]
pub struct Forward {
    engine: Engine,
    known: Forwarding,
    old: Service,
    waiting: Arc<AtomicUsize>,
}

impl Source for Forward {
    fn engine(&self) -> Option<Engine> {
        Some(Forward::engine(self).clone())
    }

    fn waits_for_others(&self) -> bool {
        true
    }
}

impl Forward {
    /// Forwards calls of this engine's application to a service that was opened as a client, with
    /// [`Settings::forwarding`](seconder::Settings::forwarding).
    ///
    /// # Errors
    /// As [`Forwarding::begin`].
    pub fn begin(engine: Engine, old: Service) -> Result<Forward> {
        let known = Forwarding::begin(&engine)?;
        Ok(Forward { engine, known, old, waiting: Arc::default() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Makes a call to the other service.
    fn ask<C: Call>(&self, call: &C) -> Result<C::Reply>
    where
        Service: Handle<C>,
    {
        let _place = Waiting::begin(&self.waiting)?;
        let reply = self.old.handle(call);
        if let Err(error) = &reply {
            self.known.count(is_failure(error))?;
        }
        reply.map_err(worded)
    }

    /// Returns the status of a user at the other service, while another call for the user waits; `None` if it does not
    /// respond in time.
    fn status(&self, user_id: UserId) -> Option<UserStatusReply> {
        let _place = Waiting::begin(&self.waiting).ok()?;
        let asked = self.old.with_timeout(QUESTION).handle(&UserStatus::new(user_id));
        asked.ok().filter(|status| status.user_id == user_id)
    }

    /// Takes a user over whom nothing keeps there. If that fails, nothing is lost: the next code tries again.
    fn take(&self, user_id: UserId, must_be_new: bool) {
        let Some(status) = self.status(user_id) else { return };
        let _ = match must_be_new && status.confirmed {
            true => self.known.learn(&status),
            false => self.known.take(&status).map(drop),
        };
    }
}

impl Backend for Forward {
    fn names(&self) -> &Names {
        Backend::names(&self.engine)
    }

    fn replies(&self) -> Generation {
        Backend::replies(&self.engine)
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        self.engine.user_with_login(login)
    }

    /// The protection of an account that is at the other service is not known here, so changes of it are for the
    /// application to make.
    fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()> {
        if call.changes_protection() && self.known.user_is_there(user_id)? {
            return Err(Error::rejected(
                403,
                Some(codes::INVALID_REQUEST),
                "Users who are at the service to which calls are forwarded cannot change their own account \
                 here: an administrator can.",
            ));
        }
        Backend::check_own_account(&self.engine, call, user_id)
    }

    fn had_key(&self, key: &ApiKey) -> bool {
        self.engine().had_key(key)
    }

    fn keeps_key(&self, key: &ApiKey) -> bool {
        self.engine().keeps_key(key)
    }

    fn check_key(&self, key: &ApiKey) -> Result<()> {
        self.engine.check_key(key)
    }

    fn forwards(&self) -> bool {
        true
    }

    fn handle_call(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        let by = |engine: Engine| {
            let forward = self.known.is_of(&engine).then_some(self);
            Handler { engine, forward }
        };
        self.engine.handle_call_by(origin, call, params, by)
    }
}

/// A call that waits for the other service.
struct Waiting<'a>(&'a AtomicUsize);

impl Waiting<'_> {
    fn begin(waiting: &AtomicUsize) -> Result<Waiting<'_>> {
        let place = Waiting(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) < MOST {
            return Ok(place);
        }
        let message = "Too many calls wait for the service before this one. Try again later.";
        let retry_after = Some(RETRY_AFTER);
        Err(Error::RateLimited { message: message.into(), retry_after, code: None, limit: None })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Handles the calls of an application.
struct Handler<'a> {
    engine: Engine,
    /// The move of the application; `None` for the other applications of the database.
    forward: Option<&'a Forward>,
}

impl<C: Passed> Handle<C> for Handler<'_>
where
    Engine: Handle<C>,
    Service: Handle<C>,
{
    fn handle(&self, call: &C) -> Result<C::Reply> {
        let Some(forward) = self.forward else { return self.engine.handle(call) };
        if !call.is_there(forward)? {
            return call.handle_here(forward, || self.engine.handle(call));
        }
        let call = call.as_passed(forward, &self.engine)?;
        let reply = forward.ask(&call)?;
        match call.seen(&reply) {
            Some((user_id, seen)) => {
                if forward.known.seen(user_id, seen)? {
                    forward.take(user_id, matches!(seen, Learned::Created(_)));
                }
            }
            None => forward.known.count(false)?,
        }
        Ok(reply)
    }

    fn prepare(&self, params: &mut Map<String, Value>) -> Result<Option<C::Reply>> {
        let prepared = self.engine.prepare(params);
        match (&prepared, self.forward, C::malformed()) {
            (Err(Error::Rejected(why)), Some(_), Some(reply)) if is_unknown_user(why) => {
                Ok(Some(reply))
            }
            _ => prepared,
        }
    }
}

/// Returns whether the other service gave no usable reply.
fn is_failure(error: &Error) -> bool {
    match error {
        Error::Rejected(why) => why.status >= 500,
        Error::RateLimited { .. } | Error::InvalidArgument { .. } | Error::TokenWrong { .. } => {
            false
        }
        _ => true,
    }
}

/// Returns the error for the client, which knows nothing of the other service and its key.
fn worded(error: Error) -> Error {
    let failed = |status, what: &str, why: String| {
        let message = format!("The service to which calls are forwarded {what}: {why}");
        Error::rejected(status, Some(codes::UNSPECIFIC), message)
    };
    match error {
        Error::Unavailable { message, .. } => failed(503, "failed", message),
        Error::InvalidResponse { message } => failed(502, "is not understood", message),
        Error::Unauthorized { message, .. } => {
            failed(503, "rejected the API key of this service", message)
        }
        other => other,
    }
}
