//! What handles the requests to a server: an engine in this process, alone or with another service for the users who are
//! still there, a sandbox, or a remote service.

use seconder::engine::Engine;
use seconder::http::{Backend, Relay};
use seconder::sandbox::Sandbox;
use seconder::{Result, Service};
use std::time::Duration;

/// The time that one deletion of expired data may take.
const BUDGET: Duration = Duration::from_secs(1);

/// A backend, and what a server knows of it.
pub(crate) trait Source: Backend + Send + Sync {
    /// Returns the engine in this process, if there is one.
    fn engine(&self) -> Option<Engine>;

    /// Returns the sandbox, if it is one.
    fn sandbox(&self) -> Option<&Sandbox> {
        None
    }

    /// Returns whether every call may wait for another service.
    fn waits_for_others(&self) -> bool {
        false
    }

    /// Does periodic work. It may block. After a failure, the next time tries again.
    ///
    /// # Errors
    /// Failures for the operator: of damaged rows, no call may ever say anything.
    fn housekeep(&self) -> Result<()> {
        self.engine().map_or(Ok(()), |engine| engine.maintain(BUDGET).map(drop))
    }
}

impl Source for Engine {
    fn engine(&self) -> Option<Engine> {
        Some(self.clone())
    }
}

impl Source for Sandbox {
    fn engine(&self) -> Option<Engine> {
        Some(Sandbox::engine(self))
    }

    fn sandbox(&self) -> Option<&Sandbox> {
        Some(self)
    }
}

impl Source for Relay<Service> {
    fn engine(&self) -> Option<Engine> {
        None
    }

    fn waits_for_others(&self) -> bool {
        true
    }

    fn housekeep(&self) -> Result<()> {
        // The next login then finds a connection. Otherwise its call returns the reason.
        drop(self.service().keep_warm());
        Ok(())
    }
}
