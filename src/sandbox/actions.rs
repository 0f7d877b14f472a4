//! The actions of a test in Rust.

use super::Sandbox;
use super::faults::{Fault, Injection};
use super::records::RecordedCall;
use crate::engine::{
    ApprovalRequest, ApprovalResponse, Clock, DeviceRegistered, DeviceType, JobsRun, Message,
    SignedCallback,
};
use crate::model::{ApprovalId, Secret, Token, UserId};
use crate::{Error, Result, Service};
use std::sync::Arc;
use std::time::Duration;

impl Sandbox {
    /// Returns the service for the application under test. Its calls are recorded, and meet the faults of
    /// [`Sandbox::inject`], by the time of the sandbox: a call without a response fails at once with the error of a
    /// client of a remote service, after the time of its timeout, which [`Service::with_timeout`] sets.
    ///
    /// It belongs to the sandbox until the next `reset`.
    pub fn service(&self) -> Service {
        Service::in_sandbox(self.in_process())
    }

    /// Returns the time, since the Unix epoch.
    pub fn now(&self) -> Duration {
        self.world().clock.now()
    }

    /// Moves the time on, with all that [`Sandbox::after`] planned until then.
    ///
    /// # Errors
    /// The first error of a planned action.
    pub fn advance(&self, time: Duration) -> Result<()> {
        let clock = self.world().clock.clone();
        clock.pass_until(clock.now() + time)
    }

    /// Carries out an action once this much time has passed, by [`Sandbox::advance`] or by a fault. Its error ends what
    /// passes the time.
    pub fn after(&self, time: Duration, action: impl FnOnce() -> Result<()> + Send + 'static) {
        let clock = self.world().clock.clone();
        clock.plan(clock.now() + time, action);
    }

    /// Returns the messages that were sent, the oldest first: the latest 10,000.
    pub fn messages(&self) -> Vec<Message> {
        self.world().records.kept().messages.iter().map(|sent| sent.message.clone()).collect()
    }

    /// Returns the code that was sent to a user last.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 404 if none was sent.
    pub fn code(&self, user_id: UserId) -> Result<Token> {
        let world = self.world();
        let kept = world.records.kept();
        let is_to_user = |sent: &&super::records::SentMessage| {
            sent.user_id == Some(user_id) && !sent.message.code.is_empty()
        };
        let sent = kept.messages.iter().rev().find(is_to_user);
        let none = || super::phones::missing(format!("no code was sent to user {user_id}"));
        sent.ok_or_else(none)?.message.code.parse()
    }

    /// Returns the code that the authenticator app of a user shows now.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 404 if the user has no app of
    /// [`Service::enrol_authenticator`].
    pub fn authenticator_code(&self, user_id: UserId) -> Result<Token> {
        self.world().authenticator_code(user_id)?.expose().parse()
    }

    /// Registers a device with which a user responds to approval requests.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the user does not exist.
    pub fn add_device(&self, user_id: UserId, kind: DeviceType) -> Result<DeviceRegistered> {
        self.world().add_device(user_id, kind)
    }

    /// Returns the open requests on the device of a user, the oldest first. A user without a device gets one.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the user does not exist.
    pub fn pending(&self, user_id: UserId) -> Result<Vec<ApprovalRequest>> {
        self.world().pending(user_id)
    }

    /// Approves the latest open request of a user, and returns the callback to the application.
    ///
    /// # Errors
    /// [`Error::Rejected`], with status 404 if the user has no open request.
    pub fn approve(&self, user_id: UserId) -> Result<SignedCallback> {
        self.respond(&self.world().latest(user_id)?, ApprovalResponse::Approve, None)
    }

    /// Denies the latest open request of a user, and returns the callback to the application.
    ///
    /// # Errors
    /// As [`Sandbox::approve`].
    pub fn deny(&self, user_id: UserId) -> Result<SignedCallback> {
        self.respond(&self.world().latest(user_id)?, ApprovalResponse::Deny, None)
    }

    /// Responds to a request on the device of its user, and returns the callback to the application. `number` is typed
    /// on the device, if the request has one.
    ///
    /// # Errors
    /// [`Error::Rejected`] if there is no such request, it is no longer open, or the number is wrong, and
    /// [`Error::InvalidArgument`] if the number is missing.
    pub fn respond(
        &self,
        uuid: &ApprovalId,
        response: ApprovalResponse,
        number: Option<Secret>,
    ) -> Result<SignedCallback> {
        let world = self.world();
        let (_, callback) = world.respond(world.user_of(uuid)?, uuid, response, number)?;
        callback.ok_or_else(|| Error::invalid_argument("callback_url", "is not set"))
    }

    /// Returns the callbacks that were caused, the oldest first: the latest 10,000. Nothing is posted, unless
    /// [`Settings::post`](crate::Settings::post) has a function.
    pub fn callbacks(&self) -> Vec<SignedCallback> {
        self.world().records.kept().callbacks.clone()
    }

    /// Makes the attempts that are due, to deliver messages and to post callbacks that failed before.
    ///
    /// # Errors
    /// As [`Engine::run_jobs`](crate::engine::Engine::run_jobs).
    pub fn run_jobs(&self) -> Result<JobsRun> {
        self.world().run_jobs()
    }

    /// Injects a fault, until the returned value is dropped. Of several that a call could meet, it meets the latest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a name of a call or the status is invalid.
    pub fn inject(&self, injection: Injection) -> Result<InjectedFault> {
        Ok(InjectedFault(self.world().records.faults.inject(injection)?))
    }

    /// Returns the calls that the application made, in the order in which they ended: the latest 10,000.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.world().records.kept().calls.clone()
    }
}

/// A fault that ends when this is dropped.
#[must_use = "the fault ends when this is dropped"]
pub struct InjectedFault(Arc<Fault>);

impl InjectedFault {
    /// Returns the number of calls that have met it.
    pub fn met(&self) -> u64 {
        self.0.met()
    }
}

impl Drop for InjectedFault {
    fn drop(&mut self) {
        self.0.end();
    }
}
