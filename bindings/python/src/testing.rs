//! The native part of `seconder.testing`: an engine whose time, messages and callbacks are
//! controlled by the test, and the library's HTTP edge in front of it.

use crate::failure::{Failure, detached, take_exception};
use crate::fields::with_user_id;
use crate::sending::{Deliverer, Poster};
use crate::service::Service;
use crate::{names, values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seconder::Settings;
use seconder::engine;
use seconder::http::{self, BodyError, Caller, RawReply, RawRequest};
use seconder::wire::Format;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A clock that stands still until it is set, in Unix seconds.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Clock(SharedTime);

/// The time that the clock in Python and the engine's clock share.
#[derive(Clone)]
pub(crate) struct SharedTime(Arc<Mutex<Duration>>);

#[pymethods]
impl Clock {
    #[new]
    fn new(now: f64) -> PyResult<Clock> {
        Ok(Clock(SharedTime(Arc::new(Mutex::new(since_the_epoch(now)?)))))
    }

    /// The time.
    fn now(&self) -> f64 {
        engine::Clock::now(&self.0).as_secs_f64()
    }

    /// Sets the time.
    fn set(&self, now: f64) -> PyResult<()> {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = since_the_epoch(now)?;
        Ok(())
    }
}

impl Clock {
    pub(crate) fn shared(&self) -> SharedTime {
        self.0.clone()
    }
}

impl engine::Clock for SharedTime {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn since_the_epoch(now: f64) -> PyResult<Duration> {
    let invalid = |_| PyValueError::new_err("a time must be a number of Unix seconds, 0 or more");
    Duration::try_from_secs_f64(now).map_err(invalid)
}

/// Opens an engine in memory. The package documents the settings.
#[pyfunction]
#[pyo3(signature = (url, *, clock, names, api_key, application_name, callback_url, token_length,
                    deliver, post))]
// All are passed by name, so that the caller cannot confuse two of the same type.
#[allow(clippy::too_many_arguments)]
pub(crate) fn open_sandbox(
    py: Python<'_>,
    url: &str,
    clock: &Clock,
    names: names::Given,
    api_key: &str,
    application_name: &str,
    callback_url: &str,
    token_length: u8,
    deliver: Py<PyAny>,
    post: Py<PyAny>,
) -> PyResult<Service> {
    let names = names::read(names).map_err(|failure| failure.raise(py))?;
    let settings = Settings::new(url)
        .clock(clock.shared())
        .names(names)
        .api_key(api_key)
        .application_name(application_name)
        .callback_url(callback_url)
        .token_length(token_length)
        .deliver(Deliverer::new(deliver, None))
        .post(Poster(post));
    let service = detached(py, move || {
        let service = settings.open()?;
        service.require_engine()?;
        Ok(service)
    })?;
    Ok(Service::new(service))
}

/// Returns another handle of the same service, which is closed separately.
#[pyfunction]
pub(crate) fn share(py: Python<'_>, service: &Service) -> PyResult<Service> {
    let shared = service.get().map_err(|failure| failure.raise(py))?;
    Ok(Service::new(shared))
}

/// The status, the headers and the body to send.
type Reply<'py> = (u16, Vec<(&'static str, String)>, Bound<'py, PyBytes>);

/// A request whose call is known, before its body is read.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct RoutedRequest {
    name: &'static str,
    request: Mutex<Option<http::RoutedRequest>>,
}

#[pymethods]
impl RoutedRequest {
    /// The name of the call.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// Adds the body, or the reason for its absence. Returns the fields of the path, and the
    /// parameters as far as they can be read.
    fn read<'py>(
        &self,
        py: Python<'py>,
        body: Option<Vec<u8>>,
        error: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = self.take()?;
        let request = match (body, error) {
            (Some(body), _) => request.body(body),
            (None, "too_large") => request.body_error(BodyError::TooLarge),
            (None, "too_slow") => request.body_error(BodyError::TooSlow),
            (None, _) => request.body_error(BodyError::Incomplete),
        };
        let mut fields = request.params().unwrap_or_default();
        fields.extend(request.call().fields().clone());
        *self.request.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        values::to_python(py, &with_user_id(fields.into()))
    }

    /// Handles the request, once. Returns the reply to send, and the fields of its body as Python has
    /// them.
    fn respond<'py>(
        &self,
        py: Python<'py>,
        service: &Service,
    ) -> PyResult<(Reply<'py>, Bound<'py, PyAny>)> {
        let service = service.get().map_err(|failure| failure.raise(py))?;
        let request = self.take()?;
        let replied =
            detached(py, || Ok(request.respond(service.require_engine()?, Caller::Network)));
        if let Some(exception) = take_exception() {
            return Err(exception);
        }
        let reply = replied?;
        let media_type = reply.header("content-type").unwrap_or_default();
        let format = if media_type.contains("xml") { Format::Xml } else { Format::Json };
        let fields = values::to_python(py, &format.read(&reply.body).unwrap_or_default())?;
        Ok((to_python(py, reply), fields))
    }
}

impl RoutedRequest {
    fn take(&self) -> PyResult<http::RoutedRequest> {
        let request = self.request.lock().unwrap_or_else(PoisonError::into_inner).take();
        request.ok_or_else(|| PyValueError::new_err("the request was handled"))
    }
}

/// Finds the call of a request as it was received, or the reply to send if it has no call.
#[pyfunction]
#[pyo3(signature = (service, *, method, target, headers))]
pub(crate) fn route<'py>(
    py: Python<'py>,
    service: &Service,
    method: &str,
    target: &str,
    headers: Vec<(String, Vec<u8>)>,
) -> PyResult<(Option<RoutedRequest>, Option<Reply<'py>>)> {
    let service = service.get().map_err(|failure| failure.raise(py))?;
    let mut request = RawRequest::new(method, target);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let engine = service.require_engine().map_err(|error| Failure::from(error).raise(py))?;
    Ok(match http::route(engine, request) {
        Ok(request) => {
            let name = request.call().route().name;
            (Some(RoutedRequest { name, request: Mutex::new(Some(request)) }), None)
        }
        Err(reply) => (None, Some(to_python(py, reply))),
    })
}

fn to_python(py: Python<'_>, reply: RawReply) -> Reply<'_> {
    (reply.status, reply.headers, PyBytes::new(py, &reply.body))
}
