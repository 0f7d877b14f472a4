//! Faults that a test injects: a call, its response or its message then fails.

use super::signal::Signal;
use crate::calls::ROUTES;
use crate::http::{Backend, RawReply, RoutedRequest, SandboxFault};
use crate::{Error, Result};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The page of another server, which is no response of the interface.
pub(super) const PAGE: &str =
    "<!DOCTYPE html><title>Not the service</title><p>The page of another server.";
pub(super) const STATUS: &str = "must be a status of HTTP, 200 to 599";

/// The faults of a sandbox.
#[derive(Default)]
pub(super) struct Faults(Mutex<Vec<Arc<Fault>>>);

/// A fault that was injected.
pub(super) struct Fault {
    pub(super) id: usize,
    injection: Injection,
    met: Mutex<u64>,
    /// Raised when it ends.
    ended: Signal,
}

/// A fault to inject with [`Sandbox::inject`](super::Sandbox::inject).
#[derive(Clone, Debug)]
pub struct Injection {
    pub(super) kind: SandboxFault,
    pub(super) calls: Vec<String>,
    pub(super) times: Option<u64>,
    pub(super) retry_after: Duration,
    pub(super) latency: Duration,
    pub(super) status: u16,
}

impl Injection {
    /// Returns a fault that every call meets until it ends.
    pub fn new(fault: SandboxFault) -> Injection {
        Injection {
            kind: fault,
            calls: Vec::new(),
            times: None,
            retry_after: Duration::from_secs(30),
            latency: Duration::from_secs(1),
            status: 500,
        }
    }

    /// Limits it to calls with these names, such as `verify` and `request_sms`.
    pub fn calls<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Injection {
        self.calls = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Sets the number of calls that meet it. Default: no limit.
    pub fn times(mut self, times: u64) -> Injection {
        self.times = Some(times);
        self
    }

    /// Sets the wait that [`SandboxFault::RateLimited`] asks for. It is rounded up to seconds. Default: 30 s.
    pub fn retry_after(mut self, wait: Duration) -> Injection {
        self.retry_after = wait;
        self
    }

    /// Sets the time by which [`SandboxFault::Latency`] delays a call. Default: 1 s.
    pub fn latency(mut self, latency: Duration) -> Injection {
        self.latency = latency;
        self
    }

    /// Sets the status of the response with [`SandboxFault::Status`], 200 to 599. Default: 500.
    pub fn status(mut self, status: u16) -> Injection {
        self.status = status;
        self
    }

    /// Checks the names of the calls and the status.
    fn check(&self) -> Result<()> {
        let is_call = |name: &String| ROUTES.iter().any(|call| call.name == name);
        if let Some(unknown) = self.calls.iter().find(|name| !is_call(name)) {
            let reason = format!("has {unknown:?}, which is no call of the interface");
            return Err(Error::invalid_argument("calls", reason));
        }
        match (200..=599).contains(&self.status) {
            true => Ok(()),
            false => Err(Error::invalid_argument("status", STATUS)),
        }
    }
}

fn storage_failure() -> Error {
    Error::Storage { message: "the sandbox was asked to fail".to_owned() }
}

/// The fate of a call.
pub enum Fate {
    /// It is handled.
    Handled,
    /// It is handled, and the response is lost.
    Lost,
    /// It is not handled, and there is this reply.
    Replied(Box<RawReply>),
    /// It is not handled, and there is no reply.
    Dropped,
}

impl Faults {
    pub(super) fn inject(&self, injection: Injection) -> Result<Arc<Fault>> {
        injection.check()?;
        let mut all = self.all();
        let id = all.len() + 1;
        let fault =
            Arc::new(Fault { id, injection, met: Mutex::default(), ended: Signal::default() });
        all.push(Arc::clone(&fault));
        Ok(fault)
    }

    pub(super) fn end_all(&self) {
        self.all().iter().for_each(|fault| fault.end());
    }

    /// Returns the fault with this id.
    pub(super) fn find(&self, id: usize) -> Option<Arc<Fault>> {
        self.all().iter().find(|fault| fault.id == id).cloned()
    }

    /// Returns all faults, ended ones included, in the order in which they were injected.
    pub(super) fn shown(&self) -> Vec<Value> {
        self.all().iter().map(|fault| fault.shown()).collect()
    }

    /// Takes the fault that a call meets, or the message of a call. The latest goes first.
    pub(super) fn take(&self, call: &str, delivering: bool) -> Option<Arc<Fault>> {
        let all = self.all();
        all.iter().rev().find(|fault| fault.meets(call, delivering)).cloned()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Fault>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fault {
    /// Returns whether it meets this call, which is then counted.
    fn meets(&self, call: &str, delivering: bool) -> bool {
        let Injection { kind, calls, times, .. } = &self.injection;
        let concerns = calls.is_empty() || calls.iter().any(|name| name == call);
        if !concerns || self.is_ended() || (*kind == SandboxFault::Undelivered) != delivering {
            return false;
        }
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = times.is_none_or(|times| *met < times);
        *met += u64::from(is_left);
        is_left
    }

    pub(super) fn met(&self) -> u64 {
        *self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls meet it no longer, and those that it holds go on.
    pub(super) fn end(&self) {
        self.ended.raise();
    }

    pub(super) fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "fault": self.injection.kind.name(),
            "calls": self.injection.calls,
            "times": self.injection.times,
            "met": self.met(),
            "ended": self.is_ended(),
        })
    }

    fn is_ended(&self) -> bool {
        self.ended.count() > 0
    }

    /// Returns how long it holds a call, unless it ends before: [`Duration::MAX`] until it ends.
    pub(super) fn hold(&self) -> Duration {
        match self.injection.kind {
            SandboxFault::Latency => self.injection.latency,
            SandboxFault::Timeout | SandboxFault::Undelivered => Duration::MAX,
            _ => Duration::ZERO,
        }
    }

    /// Blocks until the call is to go on.
    pub(super) fn wait(&self) {
        self.ended.wait_while(self.hold(), |count| count == 0);
    }

    /// Ends once the fault has ended.
    pub(super) async fn ended(&self) {
        self.ended.raised(0).await;
    }

    pub(super) fn kind(&self) -> SandboxFault {
        self.injection.kind
    }

    /// Returns the error that a service replies with, and its status if that is another one than the error's.
    pub(super) fn error(&self) -> Option<(Error, Option<u16>)> {
        match self.injection.kind {
            SandboxFault::RateLimited => Some((
                Error::RateLimited {
                    message: "API usage limit reached".to_owned(),
                    retry_after: Some(self.injection.retry_after),
                    code: Some("60003".to_owned()),
                    limit: None,
                },
                None,
            )),
            SandboxFault::Unauthorized => Some((
                Error::Unauthorized {
                    message: "the sandbox was asked to reject it".to_owned(),
                    code: Some("60001".to_owned()),
                },
                None,
            )),
            SandboxFault::Storage => Some((storage_failure(), None)),
            SandboxFault::Status => Some((storage_failure(), Some(self.injection.status))),
            _ => None,
        }
    }

    /// Returns the fate of a call that meets it and was held.
    pub(super) fn fate(&self, routed: &RoutedRequest, backend: &dyn Backend) -> Fate {
        if let Some((error, status)) = self.error() {
            let mut reply = routed.failure(backend, &error);
            reply.status = status.unwrap_or(reply.status);
            return Fate::Replied(Box::new(reply));
        }
        match self.injection.kind {
            SandboxFault::Latency => Fate::Handled,
            SandboxFault::Lost => Fate::Lost,
            SandboxFault::InvalidResponse => {
                let mut reply = routed.failure(backend, &storage_failure());
                reply.status = 200;
                reply.headers = vec![("content-type", "text/html".to_owned())];
                reply.body = PAGE.into();
                reply.code = None;
                Fate::Replied(Box::new(reply))
            }
            _ => Fate::Dropped,
        }
    }
}
