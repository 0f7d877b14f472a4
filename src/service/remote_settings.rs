//! Calls to a remote service with another time limit, or other retries.

use super::{Backend, Service};
#[cfg(doc)]
use crate::Settings;
use crate::remote::{Remote, Repeats};
use std::time::Duration;

impl Service {
    /// Returns the same service, using the same connections, with another timeout for each call:
    /// see [`Settings::timeout`]. It has no effect on an engine in this process, which has no
    /// timeout.
    ///
    /// ```no_run
    /// # fn f(service: seconder::Service, user: seconder::model::UserId) -> seconder::Result<()> {
    /// let quick = service.with_timeout(std::time::Duration::from_secs(2));
    /// quick.user_status(user)?;
    /// # Ok(()) }
    /// ```
    ///
    /// A timeout of 0 or over an hour makes each call return [`crate::Error::InvalidArgument`].
    pub fn with_timeout(&self, timeout: Duration) -> Service {
        self.remote(|remote| remote.timeout = timeout)
    }

    /// Returns the same service, using the same connections, with another choice of the calls that
    /// are retried when the service asks to wait. It has no effect on an engine in this process.
    pub fn with_repeats(&self, repeats: Repeats) -> Service {
        self.remote(|remote| remote.repeats = repeats)
    }

    pub(super) fn remote(&self, change: impl FnOnce(&mut Remote)) -> Service {
        let mut service = self.clone();
        match &mut service.backend {
            #[cfg(feature = "engine")]
            Backend::Engine(_) => {}
            Backend::Remote(remote) => change(remote),
        }
        service
    }
}
