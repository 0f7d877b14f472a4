//! Faults that a test injects: a call, its response or its message then fails.

use super::signal::Signal;
use crate::http::{Backend, RawReply, RoutedRequest, SandboxFault};
use crate::{Error, Result};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The page of another server, which is no response of the interface.
const PAGE: &str = "<!DOCTYPE html><title>Not the service</title><p>The page of another server.";

/// The faults of a sandbox.
#[derive(Default)]
pub(super) struct Faults(Mutex<Vec<Arc<Fault>>>);

/// A fault that was injected.
pub(super) struct Fault {
    id: usize,
    kind: SandboxFault,
    /// The calls that it is limited to; empty means all.
    calls: Vec<String>,
    /// The number of calls that it is to meet; `None` means no limit.
    times: Option<u64>,
    retry_after: Duration,
    /// The time by which it delays a call.
    latency: Duration,
    status: u16,
    met: Mutex<u64>,
    /// Raised when it ends.
    ended: Signal,
}

/// A fault that a test asks for.
pub(super) struct Wanted {
    pub(super) fault: String,
    pub(super) calls: Vec<String>,
    pub(super) times: Option<u64>,
    pub(super) retry_after: Duration,
    pub(super) seconds: Duration,
    pub(super) status: u16,
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
    /// Injects a fault, and returns its id.
    pub(super) fn inject(&self, wanted: Wanted) -> Result<usize> {
        let kind = wanted.fault.parse()?;
        let mut all = self.all();
        let id = all.len() + 1;
        all.push(Arc::new(Fault {
            id,
            kind,
            calls: wanted.calls,
            times: wanted.times,
            retry_after: wanted.retry_after,
            latency: wanted.seconds,
            status: wanted.status,
            met: Mutex::default(),
            ended: Signal::default(),
        }));
        Ok(id)
    }

    /// Ends a fault, and returns its record.
    pub(super) fn end(&self, id: usize) -> Option<Value> {
        let fault = self.all().iter().find(|fault| fault.id == id).cloned()?;
        fault.ended.raise();
        Some(fault.shown())
    }

    pub(super) fn end_all(&self) {
        self.all().iter().for_each(|fault| fault.ended.raise());
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
        let concerns = self.calls.is_empty() || self.calls.iter().any(|name| name == call);
        if !concerns || self.is_ended() || (self.kind == SandboxFault::Undelivered) != delivering {
            return false;
        }
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = self.times.is_none_or(|times| *met < times);
        *met += u64::from(is_left);
        is_left
    }

    fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "fault": self.kind.name(),
            "calls": self.calls,
            "times": self.times,
            "met": *self.met.lock().unwrap_or_else(PoisonError::into_inner),
            "ended": self.is_ended(),
        })
    }

    fn is_ended(&self) -> bool {
        self.ended.count() > 0
    }

    /// Returns how long it holds a call, unless it ends before: [`Duration::MAX`] until it ends.
    pub(super) fn hold(&self) -> Duration {
        match self.kind {
            SandboxFault::Latency => self.latency,
            SandboxFault::Timeout | SandboxFault::Undelivered => Duration::MAX,
            _ => Duration::ZERO,
        }
    }

    /// Ends once the fault has ended.
    pub(super) async fn ended(&self) {
        self.ended.raised(0).await;
    }

    /// Returns the fate of a call that meets it and was held.
    pub(super) fn fate(&self, routed: &RoutedRequest, backend: &impl Backend) -> Fate {
        let replied = |error| Fate::Replied(Box::new(routed.failure(backend, &error)));
        match self.kind {
            SandboxFault::Lost => Fate::Lost,
            SandboxFault::Latency => Fate::Handled,
            SandboxFault::RateLimited => replied(Error::RateLimited {
                message: "API usage limit reached".to_owned(),
                retry_after: Some(self.retry_after),
                code: Some("60003".to_owned()),
                limit: None,
            }),
            SandboxFault::Unauthorized => replied(Error::Unauthorized {
                message: "the sandbox was asked to reject it".to_owned(),
                code: Some("60001".to_owned()),
            }),
            SandboxFault::Storage => replied(storage_failure()),
            SandboxFault::Status => {
                let mut reply = routed.failure(backend, &storage_failure());
                reply.status = self.status;
                Fate::Replied(Box::new(reply))
            }
            SandboxFault::InvalidResponse => {
                let mut reply = routed.failure(backend, &storage_failure());
                reply.status = 200;
                reply.headers = vec![("content-type", "text/html".to_owned())];
                reply.body = PAGE.into();
                reply.code = None;
                Fate::Replied(Box::new(reply))
            }
            SandboxFault::Timeout | SandboxFault::Undelivered => Fate::Dropped,
        }
    }
}
