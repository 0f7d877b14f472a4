//! The native part of Python's `Service`.

use crate::exit::Staying;
use crate::failure::{Failure, detached, invalid, take_cause, take_exception};
use crate::interrupt::CallInterrupt;
use crate::waiting::ApprovalWait;
use crate::{calls, exit, logging, settings, values};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::remote::Repeats;
use seconder::{Canceller, Error};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A service that makes calls until it is closed.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Service {
    /// Shared by the services that `with_timeout` and `with_repeats` return, so that closing one
    /// closes all of them.
    open: Arc<Mutex<Option<seconder::Service>>>,
    timeout: Option<Duration>,
    repeats: Option<Repeats>,
    /// The canceller of this handle alone, so that the services that `with_timeout` and
    /// `with_repeats` return go on.
    canceller: Canceller,
}

#[pymethods]
impl Service {
    /// Makes the call with this name and returns the fields of its reply. The identifier is for the
    /// call's record and its error; the hook gets the record.
    #[pyo3(signature = (name, params, request_id = None, hook = None))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        params: &Bound<'py, PyDict>,
        request_id: Option<&str>,
        hook: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _staying = Staying::new();
        let made = || {
            let params = values::params(params)?;
            let service = self.callable(py)?;
            let reply = detached(py, move || calls::call(&service, name, params));
            finish(py, reply, request_id, hook)
        };
        made().map_err(|error| identified(py, error, request_id))
    }

    /// Polls once for the response that is awaited. Returns it, or how long to pause, in seconds.
    #[pyo3(signature = (wait, request_id = None, hook = None))]
    fn poll_approval<'py>(
        &self,
        py: Python<'py>,
        wait: &ApprovalWait,
        request_id: Option<&str>,
        hook: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _staying = Staying::new();
        let polled = || {
            let service = self.callable(py)?;
            let reply = detached(py, || wait.poll(&service));
            finish(py, reply, request_id, hook)
        };
        polled().map_err(|error| identified(py, error, request_id))
    }

    /// Opens the service again, in place, with the arguments with which it was opened.
    fn reopen(
        &self,
        py: Python<'_>,
        url: &Bound<'_, PyAny>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let service = opened(py, url, settings)?;
        let before = self.open.lock().unwrap_or_else(PoisonError::into_inner).replace(service);
        exit::detach(py, || drop(before));
        Ok(())
    }

    /// The same service with another timeout for each call, in seconds.
    fn with_timeout(&self, timeout: &Bound<'_, PyAny>) -> PyResult<Service> {
        let invalid = |_| invalid("timeout", "be a number of seconds");
        let given = values::seconds(timeout).map_err(invalid).and_then(values::timeout);
        let timeout = Some(given.map_err(|failure| failure.raise(timeout.py()))?);
        Ok(Service { timeout, ..self.another() })
    }

    /// The same service with another choice of calls to repeat.
    fn with_repeats(&self, repeats: &Bound<'_, PyAny>) -> PyResult<Service> {
        let given = values::text("repeats", repeats)?.parse().map_err(Failure::from);
        let repeats = Some(given.map_err(|failure| failure.raise(repeats.py()))?);
        Ok(Service { repeats, ..self.another() })
    }

    /// Ends the calls of this handle, those under way and later ones.
    fn cancel(&self) {
        self.canceller.cancel();
    }

    /// True if the service is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes the service. Calls in progress are completed.
    fn close(&self, py: Python<'_>) {
        let service = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Detached, because dropping the service may close a database, which may block.
        exit::detach(py, || drop(service));
    }
}

impl Service {
    pub(crate) fn new(service: seconder::Service) -> Service {
        let open = Arc::new(Mutex::new(Some(service)));
        Service { open, timeout: None, repeats: None, canceller: Canceller::new() }
    }

    /// Returns another handle of the same service.
    fn another(&self) -> Service {
        let open = Arc::clone(&self.open);
        Service { open, timeout: self.timeout, repeats: self.repeats, canceller: Canceller::new() }
    }

    /// Returns the service for one call, which can be ended and is logged.
    fn callable(&self, py: Python<'_>) -> PyResult<seconder::Service> {
        let service = self.get().map_err(|failure| failure.raise(py))?;
        let interrupt = CallInterrupt::new(py, &self.canceller);
        Ok(service.with_interrupt(Arc::new(interrupt)).with_log(logging::keep()))
    }

    /// Returns the service, unless it is closed. It is cloned, so that the lock is not held during
    /// a call, and other threads can make calls and close it meanwhile.
    pub(crate) fn get(&self) -> Result<seconder::Service, Failure> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = open.clone().ok_or_else(|| {
            let (parameter, reason) = ("service".into(), "is closed".into());
            Failure::from(Error::InvalidArgument { parameter, reason })
        })?;
        if let Some(timeout) = self.timeout {
            service = service.with_timeout(timeout);
        }
        if let Some(repeats) = self.repeats {
            service = service.with_repeats(repeats);
        }
        Ok(service)
    }
}

/// Sets the identifier of the call on its error, or on the error in the context of an exception that
/// ended the call.
fn identified(py: Python<'_>, error: PyErr, request_id: Option<&str>) -> PyErr {
    let value = error.value(py);
    let context = value.getattr("__context__").ok();
    for one in [Some(value.as_any().clone()), context].into_iter().flatten() {
        if one.hasattr("request_id").unwrap_or(false) {
            // It is an attribute of these exceptions that can be set.
            let _ = one.setattr("request_id", request_id);
        }
    }
    error
}

/// Logs a call that has just ended, and returns its reply, or raises.
fn finish<'py>(
    py: Python<'py>,
    reply: PyResult<Value>,
    request_id: Option<&str>,
    hook: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (exception, cause) = (take_exception(), take_cause());
    if let Err(error) = &reply
        && let Some(cause) = cause
    {
        error.set_cause(py, Some(cause));
    }
    let error = exception.as_ref().or(reply.as_ref().err());
    let error = error.map(|error| error.get_type(py));
    let logged = logging::log_call(py, request_id, error.as_ref(), hook);
    // The log's too, such as Ctrl-C in a handler.
    if let Some(exception) = exception.or(logged.err()) {
        if let Err(error) = reply {
            // The error of the call says whether the call may have been carried out.
            exception.value(py).setattr("__context__", error.value(py))?;
        }
        return Err(exception);
    }
    values::to_python(py, &reply?)
}

/// Opens a service. The package documents the settings.
#[pyfunction]
pub(crate) fn open(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Service> {
    opened(py, url, settings).map(Service::new)
}

fn opened(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<seconder::Service> {
    let _staying = Staying::new();
    let settings = settings::read(values::text("url", url)?, settings)?;
    // Imports it before there are threads with calls: a child that is forked in the middle of an import cannot
    // import the same.
    logging::logger(py)?;
    detached(py, move || {
        Ok(settings.open().map_err(|error| seconder::Settings::by_argument(error, false))?)
    })
}

/// Waits until no thread uses a database, before this thread forks.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    exit::detach(py, seconder::engine::before_fork);
}

/// Lets threads use databases again, in the process that forked.
#[pyfunction]
pub(crate) fn after_fork() {
    seconder::engine::after_fork();
}
