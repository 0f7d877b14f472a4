//! Handles of a service that make their calls otherwise: with other time limits or retries, a flag that ends them, or a log.

#[cfg(feature = "remote")]
use super::Backend;
use super::Service;
#[cfg(doc)]
use crate::Error;
use crate::Result;
#[cfg(doc)]
use crate::Settings;
use crate::call_log::{Log, Logged, Replied};
use crate::calls::Call;
#[cfg(feature = "engine")]
use crate::engine::Engine;
use crate::interrupt::{self, Interrupt};
use crate::model::UserId;
#[cfg(feature = "remote")]
use crate::remote::Repeats;
use std::sync::Arc;
#[cfg(feature = "remote")]
use std::time::Duration;

#[cfg(feature = "remote")]
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
        self.remote(|time, _| *time = timeout)
    }

    /// Returns the same service, using the same connections, with another choice of the calls that
    /// are retried when the service asks to wait. It has no effect on an engine in this process.
    pub fn with_repeats(&self, repeats: Repeats) -> Service {
        self.remote(|_, own| *own = repeats)
    }

    /// Returns the same service, with another timeout and another choice of retries.
    pub(super) fn remote(&self, change: impl FnOnce(&mut Duration, &mut Repeats)) -> Service {
        let mut service = self.clone();
        match &mut service.backend {
            #[cfg(feature = "engine")]
            Backend::Engine(_) => {}
            #[cfg(feature = "engine")]
            Backend::Sandbox(sandbox) => change(&mut sandbox.timeout, &mut sandbox.repeats),
            Backend::Remote(remote) => change(&mut remote.timeout, &mut remote.repeats),
        }
        service
    }
}

impl Service {
    /// Returns the same service, with calls that `interrupt` may end: they fail with [`Error::Cancelled`] within 100
    /// ms, also while they wait for the network. Calls of other handles are not affected.
    /// [`Canceller`](crate::Canceller) is a flag for this.
    ///
    /// ```
    /// # fn f(service: seconder::Service, user: seconder::model::UserId) {
    /// let canceller = seconder::Canceller::new();
    /// let login = service.with_interrupt(std::sync::Arc::new(canceller.clone()));
    /// // On another thread, or in a signal handler: canceller.cancel();
    /// if let Err(seconder::Error::Cancelled { sent: true }) = login.request_sms(user) {
    ///     // The request may have been sent, so the code may be on its way.
    /// }
    /// # }
    /// ```
    ///
    /// A call of an engine in this process is cancelled before it begins, or not at all.
    pub fn with_interrupt(&self, interrupt: Arc<dyn Interrupt>) -> Service {
        Service { interrupt: Some(interrupt), ..self.clone() }
    }

    /// Returns the same service, with a log that receives one record for each call of this handle,
    /// and of handles made from it. A record holds no secret.
    ///
    /// ```
    /// # fn f(service: seconder::Service) {
    /// let service = service.with_log(std::sync::Arc::new(|record: &seconder::CallRecord| {
    ///     eprintln!("{record}");
    /// }));
    /// # }
    /// ```
    ///
    /// A wait for an approval is one call. An argument that is not a value of its type, such as a
    /// token with a letter, is an error before there is a call, and is not logged.
    pub fn with_log(&self, log: Arc<dyn Log>) -> Service {
        Service { log: Some(log), ..self.clone() }
    }

    /// Makes an operation that only an engine supports into a call: it can be cancelled, and is
    /// logged.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if this is a remote service, [`Error::Cancelled`], and the errors
    /// of `work`.
    #[cfg(feature = "engine")]
    #[doc(hidden)]
    pub fn with_engine<T>(
        &self,
        call: &'static str,
        user_id: Option<UserId>,
        work: impl FnOnce(&Engine) -> Result<T>,
    ) -> Result<T> {
        let engine = self.require_engine()?;
        self.carry_out(call, user_id, || work(engine))
    }

    /// Makes a call. `reply` finds the call's reply in the result of `work`.
    pub(super) fn make<C: Call, T>(
        &self,
        call: &C,
        work: impl FnOnce() -> Result<T>,
        reply: impl FnOnce(&T) -> &C::Reply,
    ) -> Result<T> {
        let logged = self.begin(C::ROUTE.name, call.user());
        let result = match call.check() {
            Ok(()) => interrupt::scope(self.interrupt.as_ref(), work),
            Err(error) => Err(error),
        };
        if let Some(logged) = logged {
            let replied = result.as_ref().map(|value| {
                let reply = reply(value);
                Replied {
                    user_id: C::user_of(reply),
                    verification: C::verification(reply),
                    recognition: C::recognition(reply),
                }
            });
            logged.end(replied);
        }
        result
    }

    /// Carries out work that is not a call of the interface, as if it were one.
    pub(crate) fn carry_out<T>(
        &self,
        call: &'static str,
        user_id: Option<UserId>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let logged = self.begin(call, user_id);
        let result = interrupt::scope(self.interrupt.as_ref(), work);
        if let Some(logged) = logged {
            logged.end(result.as_ref().map(|_| Replied::default()));
        }
        result
    }

    /// Logs a call `close` if the program has closed descriptors of the database. The C interface
    /// calls this before it frees a handle, which can return no error.
    #[cfg(feature = "engine")]
    #[cfg_attr(not(feature = "capi"), allow(dead_code, reason = "the C interface calls it"))]
    pub(crate) fn log_closed_descriptors(&self) {
        if let Ok(engine) = self.require_engine()
            && let Err(error) = engine.check_database()
            && let Some(logged) = self.begin("close", None)
        {
            logged.end(Err(&error));
        }
    }

    /// Begins a call; `None` if it is not logged.
    pub(super) fn begin(&self, call: &'static str, user_id: Option<UserId>) -> Option<Logged<'_>> {
        Logged::begin(self.log.as_deref(), call, user_id)
    }

    /// Returns the same service, with calls that are part of another one, which is logged.
    pub(super) fn unlogged(&self) -> Service {
        Service { log: None, ..self.clone() }
    }
}
