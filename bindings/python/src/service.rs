//! The service behind Python's `Service`.

use crate::calls;
use crate::failure::{Failure, detached, ending, interrupted};
use crate::values;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::engine::Message;
use seconder::{Error, Settings};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What answers the calls, until it is closed.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Service {
    open: Mutex<Option<seconder::Service>>,
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
        Service { open: Mutex::new(Some(service)) }
    }

    pub(crate) fn get(&self) -> Result<seconder::Service, Failure> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| {
            let (parameter, reason) = ("service".into(), "is closed".into());
            Error::Invalid { parameter, reason }.into()
        })
    }
}

/// Opens a service. The package documents the settings.
#[pyfunction]
#[pyo3(signature = (url, *, api_key, timeout, ca_file, allow_loopback_http, application_name,
                    callback_url, deliver))]
// Every setting is named, so that no two of them can be mixed up.
#[allow(clippy::too_many_arguments)]
pub(crate) fn open(
    py: Python<'_>,
    url: &str,
    api_key: Option<String>,
    timeout: f64,
    ca_file: Option<PathBuf>,
    allow_loopback_http: bool,
    application_name: Option<String>,
    callback_url: Option<String>,
    deliver: Option<Py<PyAny>>,
) -> PyResult<Service> {
    let timeout = seconds(timeout).map_err(|failure| failure.raise(py))?;
    let mut settings = Settings::new(url).timeout(timeout).allow_loopback_http(allow_loopback_http);
    if let Some(key) = api_key {
        settings = settings.api_key(key);
    }
    if let Some(file) = ca_file {
        settings = settings.ca_file(file);
    }
    if let Some(name) = application_name {
        settings = settings.application_name(name);
    }
    if let Some(url) = callback_url {
        settings = settings.callback_url(url);
    }
    if let Some(function) = deliver {
        settings = settings.deliver(move |message: &Message| deliver_by(&function, message));
    }
    let service = detached(py, move || Ok(settings.open()?))?;
    Ok(Service::new(service))
}

pub(crate) fn seconds(timeout: f64) -> Result<Duration, Failure> {
    match Duration::try_from_secs_f64(timeout) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => {
            let reason = "must be a number of seconds above 0".into();
            Err(Error::Invalid { parameter: "timeout".into(), reason }.into())
        }
    }
}

/// Calls the function that the program gave. Its exception is told, but never one with the code.
pub(crate) fn deliver_by(function: &Py<PyAny>, message: &Message) -> Result<(), String> {
    let delivered = Python::try_attach(|py| {
        let channel = message.via.name();
        let parts = (&message.to, channel, &message.text, &message.code, message.expires_at);
        function.call1(py, parts).map(drop).map_err(|error| {
            let told = error.to_string();
            if !error.is_instance_of::<PyException>(py) {
                interrupted(error);
            }
            match told.contains(&message.code) {
                true => "deliver raised an exception that holds the code".to_owned(),
                false => told,
            }
        })
    });
    delivered.unwrap_or_else(|| Err("Python is shutting down".to_owned()))
}
