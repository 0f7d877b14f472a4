//! Settings for a service elsewhere.

use super::{Answerer, Service, Settings};
use crate::remote::{Remote, Repeats};
use crate::wire::{Format, Generation};
use std::path::PathBuf;
use std::time::Duration;

impl Settings {
    /// How long a call of a service elsewhere may take from its first step to its last: the name
    /// look-up, the connection, TLS, the request, the reply, and all waits between repeats. More
    /// than 0 and at most an hour; default 10 s. [`Service::with_timeout`] sets it for single
    /// calls.
    pub fn timeout(mut self, timeout: Duration) -> Settings {
        self.remote.timeout = timeout;
        self
    }

    /// A file of certificates in PEM to trust in place of the system's.
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Settings {
        self.remote.ca_file = Some(file.into());
        self
    }

    /// Allows `http://` to this machine itself. For tests: the key then travels in the clear.
    pub fn allow_loopback_http(mut self, allow: bool) -> Settings {
        self.remote.allow_loopback_http = allow;
        self
    }

    /// The format that a service elsewhere is asked for. Default JSON.
    pub fn format(mut self, format: Format) -> Settings {
        self.remote.format = format;
        self
    }

    /// The generation of the interface that a service elsewhere is spoken to in (interface 9).
    /// Default the current one; replies of either are understood.
    pub fn generation(mut self, generation: Generation) -> Settings {
        self.remote.generation = generation;
        self
    }
}

impl Service {
    /// The same service, on the same connections, with another time limit for each call: see
    /// [`Settings::timeout`]. An engine in this process waits for nobody and has none.
    ///
    /// ```no_run
    /// # fn f(service: seconder::Service, user: seconder::model::UserId) -> seconder::Result<()> {
    /// let quick = service.with_timeout(std::time::Duration::from_secs(2));
    /// quick.user_status(user)?;
    /// # Ok(()) }
    /// ```
    ///
    /// A limit of 0 or over an hour is told by each call, as [`Error::Invalid`].
    pub fn with_timeout(&self, timeout: Duration) -> Service {
        self.remote(|remote| remote.timeout = timeout)
    }

    /// The same service, on the same connections, with other calls repeated when the service says
    /// "wait". An engine in this process repeats nothing.
    pub fn with_repeats(&self, repeats: Repeats) -> Service {
        self.remote(|remote| remote.repeats = repeats)
    }

    fn remote(&self, change: impl FnOnce(&mut Remote)) -> Service {
        let mut service = self.clone();
        match &mut service.0 {
            #[cfg(feature = "engine")]
            Answerer::Engine(_) => {}
            Answerer::Remote(remote) => change(remote),
        }
        service
    }
}
