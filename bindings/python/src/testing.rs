//! The native part of `seconder.testing`: an engine whose time, messages and callbacks are
//! controlled by the test, and the library's HTTP edge in front of it.

use crate::failure::{detached, take_exception};
use crate::fields::with_user_id;
use crate::service::Service;
use crate::settings::{Poster, deliver_by};
use crate::{names, values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seconder::Settings;
use seconder::calls::{RouteMatch, match_route};
use seconder::engine::{self, Message};
use seconder::http::{self, BodyError, Caller, RawRequest};
use seconder::wire::Format;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A clock that stands still until it is set, in Unix seconds.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Clock(SharedTime);

/// The time that the clock in Python and the engine's clock share.
#[derive(Clone)]
struct SharedTime(Arc<Mutex<Duration>>);

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
        .clock(clock.0.clone())
        .names(names)
        .api_key(api_key)
        .application_name(application_name)
        .callback_url(callback_url)
        .token_length(token_length)
        .deliver(move |message: &Message| deliver_by(&deliver, message))
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

/// Returns the name of the call for a method and a target, and the fields in its path; `None` if
/// there is no such call.
#[pyfunction]
pub(crate) fn call_of<'py>(
    py: Python<'py>,
    names: names::Given,
    method: &str,
    target: &str,
) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
    let names = names::read(names).map_err(|failure| failure.raise(py))?;
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let Some(path) = names.path_from_wire(path) else { return Ok(None) };
    let RouteMatch::Call(call) = match_route(method, &path) else { return Ok(None) };
    let fields = with_user_id(Value::Object(call.fields().clone()));
    Ok(Some((call.route().name, values::to_python(py, &fields)?)))
}

/// The status, the headers and the body to send, and the fields of the body as Python values.
type Reply<'py> = (u16, Vec<(&'static str, String)>, Bound<'py, PyBytes>, Bound<'py, PyAny>);

/// Returns the reply of the library's HTTP edge to a request as it was received.
#[pyfunction]
#[pyo3(signature = (service, *, method, target, headers, body))]
pub(crate) fn respond<'py>(
    py: Python<'py>,
    service: &Service,
    method: &str,
    target: &str,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
) -> PyResult<Reply<'py>> {
    let service = service.get().map_err(|failure| failure.raise(py))?;
    let mut request = RawRequest::new(method, target).body(body.ok_or(BodyError::TooLarge));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let reply =
        detached(py, || Ok(http::respond(service.require_engine()?, Caller::Network, request)));
    if let Some(exception) = take_exception() {
        return Err(exception);
    }
    let reply = reply?;
    let media_type = reply.header("content-type").unwrap_or_default();
    let format = if media_type.contains("xml") { Format::Xml } else { Format::Json };
    let fields = format.read(&reply.body).unwrap_or_default();
    let body = PyBytes::new(py, &reply.body);
    Ok((reply.status, reply.headers, body, values::to_python(py, &fields)?))
}
