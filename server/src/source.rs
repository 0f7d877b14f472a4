//! The destination of a server's requests: an engine in this process, a sandbox, or a remote
//! service.

use crate::forwarding::Forward;
use crate::sandbox;
use seconder::calls::MatchedCall;
use seconder::engine::Engine;
use seconder::http::{Backend, Relay, RoutedRequest};
use seconder::model::{ApiKey, UserId};
use seconder::sandbox::{Fate, Sandbox};
use seconder::wire::{Generation, Names, Reply};
use seconder::{Result, Service};
use serde_json::{Map, Value};
use std::time::Duration;

/// The time that one deletion of expired data may take.
const BUDGET: Duration = Duration::from_secs(1);

/// An engine, an engine to which an application moves, a sandbox, or a relay to a remote service.
#[derive(Clone)]
pub(crate) enum Source {
    Engine(Engine),
    Forward(Forward),
    Sandbox(Sandbox),
    Relay(Relay<Service>),
}

impl Source {
    /// Returns whether every call may wait for another service.
    pub(crate) fn waits_for_others(&self) -> bool {
        matches!(self, Source::Forward(_) | Source::Relay(_))
    }

    /// Returns the engine in this process, if there is one.
    pub(crate) fn engine(&self) -> Option<Engine> {
        match self {
            Source::Engine(engine) => Some(engine.clone()),
            Source::Forward(forward) => Some(forward.engine().clone()),
            Source::Sandbox(sandbox) => Some(sandbox.engine()),
            Source::Relay(_) => None,
        }
    }

    /// Returns the fate of a call, which only a sandbox decides before it is handled.
    pub(crate) async fn fate(&self, routed: &RoutedRequest) -> Fate {
        match self {
            Source::Sandbox(sandbox) => sandbox::fate(sandbox, routed).await,
            _ => Fate::Handled,
        }
    }

    /// Does periodic work. It may block. After a failure, the next time tries again.
    ///
    /// # Errors
    /// Failures for the operator: of damaged rows, no call may ever say anything.
    pub(crate) fn housekeep(&self) -> Result<()> {
        match self {
            Source::Engine(engine) => engine.maintain(BUDGET).map(drop),
            Source::Sandbox(sandbox) => sandbox.engine().maintain(BUDGET).map(drop),
            Source::Forward(forward) => forward.engine().maintain(BUDGET).map(drop),
            // The next login then finds a connection. Otherwise its call returns the reason.
            Source::Relay(relay) => {
                drop(relay.service().keep_warm());
                Ok(())
            }
        }
    }
}

impl Backend for Source {
    fn names(&self) -> &Names {
        match self {
            Source::Engine(engine) => Backend::names(engine),
            Source::Sandbox(sandbox) => sandbox.names(),
            Source::Forward(forward) => forward.names(),
            Source::Relay(relay) => relay.names(),
        }
    }

    fn replies(&self) -> Generation {
        match self {
            Source::Engine(engine) => Backend::replies(engine),
            Source::Sandbox(sandbox) => sandbox.replies(),
            Source::Forward(forward) => forward.replies(),
            Source::Relay(relay) => relay.replies(),
        }
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        match self {
            Source::Engine(engine) => engine.user_with_login(login),
            Source::Sandbox(sandbox) => sandbox.user_with_login(login),
            Source::Forward(forward) => forward.user_with_login(login),
            Source::Relay(relay) => relay.user_with_login(login),
        }
    }

    fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()> {
        match self {
            Source::Engine(engine) => Backend::check_own_account(engine, call, user_id),
            Source::Sandbox(sandbox) => sandbox.check_own_account(call, user_id),
            Source::Forward(forward) => forward.check_own_account(call, user_id),
            Source::Relay(relay) => relay.check_own_account(call, user_id),
        }
    }

    fn check_key(&self, key: &ApiKey) -> Result<()> {
        match self {
            Source::Engine(engine) => engine.check_key(key),
            Source::Sandbox(sandbox) => sandbox.check_key(key),
            Source::Forward(forward) => forward.check_key(key),
            Source::Relay(relay) => relay.check_key(key),
        }
    }

    fn forwards(&self) -> bool {
        matches!(self, Source::Forward(_))
    }

    fn had_key(&self, key: &ApiKey) -> bool {
        match self {
            Source::Engine(engine) => engine.had_key(key),
            Source::Sandbox(sandbox) => sandbox.had_key(key),
            Source::Forward(forward) => forward.had_key(key),
            Source::Relay(relay) => relay.had_key(key),
        }
    }

    fn keeps_key(&self, key: &ApiKey) -> bool {
        match self {
            Source::Engine(engine) => engine.keeps_key(key),
            Source::Sandbox(sandbox) => sandbox.keeps_key(key),
            Source::Forward(forward) => forward.keeps_key(key),
            Source::Relay(relay) => relay.keeps_key(key),
        }
    }

    fn handle_call(
        &self,
        key: Option<&ApiKey>,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        match self {
            Source::Engine(engine) => engine.handle_call(key, call, params),
            Source::Sandbox(sandbox) => sandbox.handle_call(key, call, params),
            Source::Forward(forward) => forward.handle_call(key, call, params),
            Source::Relay(relay) => relay.handle_call(key, call, params),
        }
    }
}
