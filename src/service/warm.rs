//! Lifetimes of idle connections: for `seconder relay`, which has one before a call needs it, and
//! for logins, which keep none while a user is asked.

use super::{Backend, Service, Settings};
use crate::Result;
use crate::interrupt;
use std::time::Duration;

#[doc(hidden)]
impl Settings {
    /// The time for which a connection to a remote service may be idle before it is dropped, 1 s by
    /// default. Services close idle connections, and a request that crosses the close fails without
    /// being repeated: the time must be shorter than the service's. With zero, each connection is
    /// closed after its reply, as are connections to services that do not repeat
    /// `Seconder-Request-Id`.
    pub fn max_idle(mut self, time: Duration) -> Settings {
        self.remote.max_idle = time;
        self
    }
}

#[doc(hidden)]
impl Service {
    /// Establishes a connection to a remote service for the next call, with TLS where the URL has
    /// it, unless there is one that can be used. No request is sent. Without effect on an engine in
    /// this process.
    ///
    /// # Errors
    /// The errors of a call that fails before it is sent.
    pub fn keep_warm(&self) -> Result<()> {
        match &self.backend {
            #[cfg(feature = "engine")]
            Backend::Engine(_) | Backend::Sandbox(_) => Ok(()),
            Backend::Remote(remote) => {
                interrupt::scope(self.interrupt.as_ref(), || remote.keep_warm())
            }
        }
    }
}
