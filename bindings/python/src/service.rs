//! The native part of Python's `Service`.

use crate::failure::{Failure, detached, invalid, take_exception};
use crate::interrupt::CallInterrupt;
use crate::waiting::ApprovalWait;
use crate::{calls, logging, settings, values};
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
    /// Its own, so that the services that `with_timeout` and `with_repeats` return go on.
    canceller: Canceller,
}

#[pymethods]
impl Service {
    /// Makes the call with this name and returns the fields of its reply.
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        params: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let params = values::params(params)?;
        let service = self.callable(py)?;
        let reply = detached(py, move || calls::call(&service, name, params));
        finish(py, reply)
    }

    /// Polls once for the response that is awaited. Returns it, or how long to pause, in seconds.
    fn poll_approval<'py>(
        &self,
        py: Python<'py>,
        wait: &ApprovalWait,
    ) -> PyResult<Bound<'py, PyAny>> {
        let service = self.callable(py)?;
        let reply = detached(py, || wait.poll(&service));
        finish(py, reply)
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
        let given = settings::repeats(values::text("repeats", repeats)?);
        let repeats = Some(given.map_err(|failure| failure.raise(repeats.py()))?);
        Ok(Service { repeats, ..self.another() })
    }

    /// Ends the calls of this handle, those under way and later ones.
    fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Whether the service is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes the service. Calls in progress are completed.
    fn close(&self, py: Python<'_>) {
        let service = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Detached, because dropping the service may close a database, which may block.
        py.detach(|| drop(service));
    }
}

impl Service {
    pub(crate) fn new(service: seconder::Service) -> Service {
        let open = Arc::new(Mutex::new(Some(service)));
        Service { open, timeout: None, repeats: None, canceller: Canceller::new() }
    }

    /// Another handle of the same service.
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

/// Logs a call that has just ended, and returns its reply, or raises.
fn finish<'py>(py: Python<'py>, reply: PyResult<Value>) -> PyResult<Bound<'py, PyAny>> {
    let exception = take_exception();
    let logged = logging::log_call(py);
    // The log's too, such as Ctrl-C in a handler.
    if let Some(exception) = exception.or(logged.err()) {
        if let Err(error) = reply {
            // It says whether the call may have been carried out.
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
    let codes = settings::argument_of_codes(settings)?;
    let settings = settings::read(values::text("url", url)?, settings)?;
    let named = |error| settings::by_argument(error, codes);
    let service = detached(py, move || Ok(settings.open().map_err(named)?))?;
    Ok(Service::new(service))
}
