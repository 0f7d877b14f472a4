//! Settings for a remote service.

use super::{Backend, Service, Settings};
use crate::remote::{Remote, Repeats};
use crate::wire::{Format, Generation};
use std::time::Duration;

impl Settings {
    /// The total time that a call to a remote service may take: name resolution, the connection,
    /// the TLS handshake, the request, the response, and all waits between retries. More than 0 and
    /// at most an hour; default 10 s. [`Service::with_timeout`] sets it for individual calls.
    pub fn timeout(mut self, timeout: Duration) -> Settings {
        self.remote.timeout = timeout;
        self.note("timeout")
    }

    /// The calls that are retried when the service asks to wait. Default: [`Repeats::Questions`].
    /// [`Service::with_repeats`] sets it for individual calls.
    pub fn repeats(mut self, repeats: Repeats) -> Settings {
        self.remote.repeats = repeats;
        self.note("repeats")
    }

    /// The number of the user who runs a service on this machine (`unix:`), as `id -u NAME` prints
    /// it. Before anything is sent, the user who listens on the socket is checked: root, the user of
    /// this process and this one are trusted, and everyone else is [`Error::Unavailable`]. Default:
    /// only the first two.
    ///
    /// [`Error::Unavailable`]: crate::Error::Unavailable
    #[cfg(feature = "unix")]
    pub fn service_uid(mut self, uid: u32) -> Settings {
        self.remote.service_uid = Some(uid);
        self.note("service_uid")
    }

    /// The format requested from a remote service. Default JSON.
    pub fn format(mut self, format: Format) -> Settings {
        self.remote.format = format;
        self.note("format")
    }

    /// The generation of the interface used with a remote service (interface 9). Default: the
    /// current one. Replies of both generations are understood, with one exception: a verification
    /// without `success` counts as right only in the older generation, because the current one
    /// always includes it.
    pub fn generation(mut self, generation: Generation) -> Settings {
        self.remote.generation = generation;
        self.note("generation")
    }

    /// Sends `details`, `hidden_details` and the `data` of activities as they are, in a JSON body,
    /// if they hold anything but texts: numbers, flags, lists or objects. For services that are
    /// known to read JSON. Default: a form, which every service reads, and which carries them as
    /// [`RegisterActivity::data`](crate::calls::RegisterActivity::data) describes.
    pub fn nested_as_json(mut self, nested_as_json: bool) -> Settings {
        self.remote.nested_as_json = nested_as_json;
        if nested_as_json { self.note("nested_as_json") } else { self }
    }
}

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
