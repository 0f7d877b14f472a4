//! What `seconder.testing` asks of the library: an engine whose time, messages and callbacks are the
//! test's, and its answers to requests as they stand on the wire.

use crate::failure::{detached, ending};
use crate::service::Service;
use crate::settings::{Poster, deliver_by};
use crate::{calls, names, values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seconder::calls::{ROUTES, dispatch, failure};
use seconder::engine::{self, Message};
use seconder::model::Secret;
use seconder::wire::{Format, Generation, Reply, Request, form, json};
use seconder::{Error, Rejection, Settings};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A clock that stands still until it is set, in Unix seconds.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Clock(Hand);

#[derive(Clone)]
struct Hand(Arc<Mutex<Duration>>);

#[pymethods]
impl Clock {
    #[new]
    fn new(now: f64) -> PyResult<Clock> {
        Ok(Clock(Hand(Arc::new(Mutex::new(since_the_epoch(now)?)))))
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

impl engine::Clock for Hand {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn since_the_epoch(now: f64) -> PyResult<Duration> {
    let wrong = |_| PyValueError::new_err("a time must be a number of Unix seconds, 0 or more");
    Duration::try_from_secs_f64(now).map_err(wrong)
}

/// Opens an engine in memory. The package documents the settings.
#[pyfunction]
#[pyo3(signature = (url, *, clock, names, api_key, application_name, callback_url, token_length,
                    deliver, post))]
// Every setting is named, so that no two of them can be mixed up.
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

/// Another handle of the same service, which is closed by itself.
#[pyfunction]
pub(crate) fn share(py: Python<'_>, service: &Service) -> PyResult<Service> {
    let shared = service.get().map_err(|failure| failure.raise(py))?;
    Ok(Service::new(shared))
}

/// The name of the call that a method and a path make, and what the path says.
#[pyfunction]
pub(crate) fn call_of<'py>(
    py: Python<'py>,
    names: names::Given,
    method: &str,
    path: &str,
) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
    let names = names::read(names).map_err(|failure| failure.raise(py))?;
    let Some(path) = names.path_from_wire(path) else { return Ok(None) };
    let named = |route: &&seconder::calls::Route| {
        route.matches(method, &path).map(|found| (route.name, Value::Object(found.fields)))
    };
    let found = ROUTES.iter().find_map(named);
    found
        .map(|(name, fields)| Ok((name, values::to_python(py, &calls::with_user_id(fields))?)))
        .transpose()
}

/// What goes back to a client: status, seconds to wait, media type, body, and the body as values.
type Answered<'py> = (u16, Option<f64>, &'static str, Bound<'py, PyBytes>, Bound<'py, PyAny>);

/// What an engine answers to a request of the package's own client.
#[pyfunction]
#[pyo3(signature = (service, *, api_key, method, path, query, body))]
pub(crate) fn answer_request<'py>(
    py: Python<'py>,
    service: &Service,
    api_key: &str,
    method: &str,
    path: &str,
    query: &str,
    body: &[u8],
) -> PyResult<Answered<'py>> {
    let service = service.get().map_err(|failure| failure.raise(py))?;
    let answered = detached(py, || {
        let engine = service.require_engine()?;
        let names = engine.names();
        let Some(path) = names.path_from_wire(path) else { return Ok(no_such_call()) };
        let (format, mut reply) = match request(method, path, query, body) {
            Ok(request) => match engine.authenticate(&Secret::new(api_key)) {
                Ok(engine) => dispatch(&engine, &request).unwrap_or_else(no_such_call),
                Err(error) => (Format::Json, failure(&error)),
            },
            Err(error) => (Format::Json, failure(&error)),
        };
        names.body_to_wire(&mut reply.body);
        Ok((format, reply))
    });
    if let Some(ending) = ending() {
        return Err(ending);
    }
    let (format, reply) = answered?;
    let wait = reply.retry_after.map(|wait| wait.as_secs_f64());
    let text = PyBytes::new(py, &format.write(&reply.body));
    let told = values::to_python(py, &reply.body)?;
    Ok((reply.status, wait, format.media_type(), text, told))
}

fn request(method: &str, path: String, query: &str, body: &[u8]) -> seconder::Result<Request> {
    let mut params = form::read(query)?;
    match json::read(body) {
        Ok(Value::Object(fields)) => params.extend(fields),
        _ => params.extend(form::read(&String::from_utf8_lossy(body))?),
    }
    let method = if method == "POST" { "POST" } else { "GET" };
    Ok(Request { method, path, params, generation: Generation::Current })
}

fn no_such_call() -> (Format, Reply) {
    let message = "There is no such call.".to_owned();
    let rejection = Rejection { status: 404, message, ..Rejection::default() };
    (Format::Json, failure(&Error::Rejected(Box::new(rejection))))
}
