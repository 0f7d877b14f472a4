//! The service behind Python's `Service`.

use crate::failure::{Failure, detached, ending, invalid};
use crate::waiting::ApprovalWait;
use crate::{calls, settings, values};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::Error;
use seconder::remote::Repeats;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What answers the calls, until it is closed.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Service {
    /// Those that differ in `timeout` and `repeats` alone share it, and are closed as one.
    open: Arc<Mutex<Option<seconder::Service>>>,
    timeout: Option<Duration>,
    repeats: Option<Repeats>,
}

#[pymethods]
impl Service {
    /// Makes the call of that name and gives the fields of its reply.
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        params: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let params = values::params(params)?;
        let service = self.get().map_err(|failure| failure.raise(py))?;
        let reply = detached(py, move || calls::call(&service, name, params));
        match ending() {
            Some(ending) => Err(ending),
            None => values::to_python(py, &reply?),
        }
    }

    /// Asks once for the answer that is waited for: gives it, or how long to wait, in seconds.
    fn poll_approval<'py>(
        &self,
        py: Python<'py>,
        wait: &ApprovalWait,
    ) -> PyResult<Bound<'py, PyAny>> {
        let service = self.get().map_err(|failure| failure.raise(py))?;
        let reply = detached(py, || wait.ask(&service));
        match ending() {
            Some(ending) => Err(ending),
            None => values::to_python(py, &reply?),
        }
    }

    /// The same service with another time limit for each call, in seconds.
    fn with_timeout(&self, timeout: &Bound<'_, PyAny>) -> PyResult<Service> {
        let none = |_| invalid("timeout", "be a number of seconds");
        let given = values::seconds(timeout).map_err(none).and_then(values::timeout);
        let timeout = Some(given.map_err(|failure| failure.raise(timeout.py()))?);
        Ok(Service { open: Arc::clone(&self.open), timeout, repeats: self.repeats })
    }

    /// The same service with other calls repeated.
    fn with_repeats(&self, repeats: &Bound<'_, PyAny>) -> PyResult<Service> {
        let given = settings::repeats(values::text("repeats", repeats)?);
        let repeats = Some(given.map_err(|failure| failure.raise(repeats.py()))?);
        Ok(Service { open: Arc::clone(&self.open), timeout: self.timeout, repeats })
    }

    /// Whether calls can be made no longer.
    #[getter]
    fn closed(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Lets go of what the service holds; a call that is under way comes to its end.
    fn close(&self, py: Python<'_>) {
        let service = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(service));
    }
}

impl Service {
    pub(crate) fn new(service: seconder::Service) -> Service {
        Service { open: Arc::new(Mutex::new(Some(service))), timeout: None, repeats: None }
    }

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

/// Opens a service. The package documents the settings.
#[pyfunction]
pub(crate) fn open(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Service> {
    let (settings, repeats) = settings::read(values::text("url", url)?, settings)?;
    let open = move || Ok(settings.open().map_err(settings::by_argument)?.with_repeats(repeats));
    let service = detached(py, open)?;
    Ok(Service::new(service))
}
