//! A sandbox that a program opens by its URL, and that a test controls by the service: for the C interface.

use super::records::Kept;
use super::request::TestRequest;
use super::{InProcess, SandboxClock, World, invalid, operations};
use crate::engine::{ApprovalResponse, Message};
use crate::model::{Secret, UserId};
use crate::{Error, Result, Service, Settings};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Opens a service as [`Settings::open`] does. At a `sandbox:` URL, it has the functions of tests.
///
/// # Errors
/// As [`Settings::open`].
pub(crate) fn open(settings: Settings) -> Result<Service> {
    if !settings.is_sandbox() {
        return settings.open();
    }
    let world = World::of(settings, SandboxClock::new(None, false), true)?;
    // No function of C shows the calls.
    Ok(Service::in_sandbox(InProcess { is_recorded: false, ..InProcess::new(Arc::new(world)) }))
}

impl InProcess {
    /// Fails in a forked child.
    pub(crate) fn check(&self) -> Result<()> {
        let failed = || Error::storage("the sandbox was opened before this process was forked");
        self.world.clock.is_own().then_some(()).ok_or_else(failed)
    }

    /// Returns the messages that were sent to a user, or all, the newest first, each with its user.
    pub(crate) fn messages(&self, user_id: Option<UserId>) -> Vec<(Option<UserId>, Message)> {
        let kept = self.world.records.kept();
        let newest_first = kept.messages.iter().rev();
        let wanted = newest_first.filter(|sent| user_id.is_none() || sent.user_id == user_id);
        wanted.map(|sent| (sent.user_id, sent.message.clone())).collect()
    }

    /// Responds to the latest open approval request of a user, on the user's device.
    ///
    /// # Errors
    /// As [`Sandbox::respond`](super::Sandbox::respond).
    pub(crate) fn respond(
        &self,
        user_id: UserId,
        response: ApprovalResponse,
        number: Option<Secret>,
    ) -> Result<()> {
        let uuid = self.world.latest(user_id)?;
        self.world.respond(user_id, &uuid, response, number).map(drop)
    }

    /// Carries out an operation as [`Sandbox::operate`](super::Sandbox::operate) does, except for `reset`.
    ///
    /// # Errors
    /// As [`Sandbox::operate`](super::Sandbox::operate).
    pub(crate) fn operate(&self, name: &str, params: Map<String, Value>) -> Result<Value> {
        if name == "reset" {
            // Handles keep the engine that it would replace.
            return Err(invalid(
                "name",
                "must not be reset: open another sandbox, or clear this one",
            ));
        }
        let request = TestRequest::named(name, params)?;
        request.wait_in(&self.world);
        operations::run(&self.world, name, request.search.as_ref(), &request.params)
    }

    /// Empties the sandbox, forgets its messages and callbacks, and ends the faults. The time goes on.
    ///
    /// # Errors
    /// As [`Engine::clear_sandbox`](crate::engine::Engine::clear_sandbox).
    pub(crate) fn clear(&self) -> Result<()> {
        self.world.engine.clear_sandbox()?;
        let records = &self.world.records;
        *records.kept() = Kept::default();
        records.faults.end_all();
        Ok(())
    }
}
