//! The calls of an application in the process of its test.

use super::World;
use super::faults::{Fault, PAGE};
use super::records::{Records, user_of, without_secrets};
use crate::calls::{Call, failure};
use crate::engine::{Clock, Engine};
use crate::error::whole_seconds;
use crate::http::SandboxFault;
use crate::model::UserId;
#[cfg(feature = "remote")]
use crate::remote::Repeats;
use crate::service::{Sleep, Sleeper};
use crate::wire::{Format, Generation, Reply};
use crate::{CallOutcome, Error, Handle, Result, Stage};
use std::sync::Arc;
use std::time::Duration;

/// The default timeout of a call, the same as for a client.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest wait before a call is retried; it doubles each time, as for a client.
const PAUSE: Duration = Duration::from_millis(100);

/// An engine whose calls meet faults, by the time of the sandbox, and are recorded. A call that fails has the error of a
/// client of a remote service.
#[derive(Clone)]
pub(crate) struct InProcess {
    pub(super) world: Arc<World>,
    pub(super) is_recorded: bool,
    pub(super) has_real_waits: bool,
    pub(crate) timeout: Duration,
    #[cfg(feature = "remote")]
    pub(crate) repeats: Repeats,
}

impl<C: Call> Handle<C> for InProcess
where
    Engine: Handle<C>,
{
    fn handle(&self, call: &C) -> Result<C::Reply> {
        if !self.world.clock.is_own() {
            // It fails, because the engine is another process's.
            return self.engine().handle(call);
        }
        let arguments = without_secrets(crate::wire::object(call));
        let result = self.make(call, user_of(&arguments));
        let records = &self.world.records;
        let outcome = match &result {
            Ok(reply) => records.read(&C::ROUTE, &arguments, &C::write(reply)),
            Err(error) => CallOutcome::from(error).name(),
        };
        if self.is_recorded {
            records.note(C::ROUTE.name, arguments, outcome, false);
        }
        result
    }
}

impl InProcess {
    pub(super) fn new(world: Arc<World>) -> InProcess {
        InProcess {
            world,
            is_recorded: true,
            has_real_waits: false,
            timeout: TIMEOUT,
            #[cfg(feature = "remote")]
            repeats: Repeats::default(),
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.world.engine
    }

    /// Makes a call, and retries it as a client does.
    fn make<C: Call>(&self, call: &C, user: Option<UserId>) -> Result<C::Reply>
    where
        Engine: Handle<C>,
    {
        let (mut waited, mut pause) = (Duration::ZERO, PAUSE);
        loop {
            let Some(fault) = self.world.records.faults.take(C::ROUTE.name, false) else {
                return self.carry_out(call, user);
            };
            let result = self.meet(call, user, &fault);
            let Err(Error::RateLimited { retry_after: Some(wait), .. }) = &result else {
                return result;
            };
            let wait = (*wait).max(pause);
            if !self.repeats::<C>() || waited + wait >= self.timeout {
                return result;
            }
            self.pass(wait)?;
            waited += wait;
            pause *= 2;
        }
    }

    /// Makes a call that meets a fault.
    fn meet<C: Call>(&self, call: &C, user: Option<UserId>, fault: &Fault) -> Result<C::Reply>
    where
        Engine: Handle<C>,
    {
        let result = self.reply_of(call, user, fault);
        match C::REPEATABLE {
            true => result.map_err(Error::of_reading),
            false => result,
        }
    }

    fn reply_of<C: Call>(&self, call: &C, user: Option<UserId>, fault: &Fault) -> Result<C::Reply>
    where
        Engine: Handle<C>,
    {
        let lost = |reason| Error::unavailable(Stage::Response, format!("the sandbox: {reason}"));
        match fault.kind() {
            SandboxFault::Latency if fault.hold() < self.timeout => {
                self.pass(fault.hold())?;
                return self.carry_out(call, user);
            }
            SandboxFault::Lost => {
                drop(self.carry_out(call, user));
                return Err(lost("it closed the connection"));
            }
            _ => {}
        }
        let reply = match fault.error() {
            Some((error, status)) => {
                let mut reply = failure::write::<C>(&error, Generation::Current);
                reply.status = status.unwrap_or(reply.status);
                let wait = reply.retry_after.map(|wait| Duration::from_secs(whole_seconds(wait)));
                Reply { retry_after: wait, ..reply }
            }
            None if fault.kind() == SandboxFault::InvalidResponse => {
                Reply::read(200, Format::Json.read(PAGE.as_bytes()))?
            }
            None => {
                // It would be a wait for nothing.
                if !self.has_real_waits {
                    self.pass(self.timeout)?;
                }
                return Err(lost(crate::error::DEADLINE_EXCEEDED));
            }
        };
        call.read_own(reply)
    }

    fn carry_out<C: Call>(&self, call: &C, user: Option<UserId>) -> Result<C::Reply>
    where
        Engine: Handle<C>,
    {
        Records::begin(C::ROUTE.name, user);
        let result = self.engine().handle(call);
        Records::begin("", None);
        result
    }

    #[cfg(feature = "remote")]
    fn repeats<C: Call>(&self) -> bool {
        self.repeats.allow::<C>()
    }

    #[cfg(not(feature = "remote"))]
    fn repeats<C: Call>(&self) -> bool {
        C::REPEATABLE
    }

    /// Passes the time of the sandbox, or real time.
    fn pass(&self, time: Duration) -> Result<()> {
        match self.has_real_waits {
            true => Sleep::begin().pause(time),
            false => self.world.clock.pass_until(self.world.clock.now() + time),
        }
    }
}
