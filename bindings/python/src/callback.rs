//! Verifies and signs callbacks, with a replay memory that the application may provide.

use crate::failure::{Failure, detached, interrupted, invalid, take_exception};
use crate::values::{bytes, text};
use crate::{names, values};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use seconder::callback::replay::{Replay, ReplayEntry};
use seconder::callback::{self, Event, Received, Verifier, verify_parameters};
use seconder::model::{ApiKey, UserId};
use seconder::{Error, Result};
use serde_json::json;
use std::time::Duration;

const SECONDS: &str = "be a number of seconds, 0 or more";

/// Verifies a callback and returns its event. The package documents the parameters.
#[pyfunction]
#[pyo3(signature = (*, api_key, url, method, body, query, signature, nonce, names, fresh, now,
                    replay))]
// All are passed by name, so that the caller cannot confuse two of the same type.
#[allow(clippy::too_many_arguments)]
pub(crate) fn verify_callback<'py>(
    py: Python<'py>,
    api_key: &Bound<'py, PyAny>,
    url: &Bound<'py, PyAny>,
    method: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    query: &Bound<'py, PyAny>,
    signature: &Bound<'py, PyAny>,
    nonce: &Bound<'py, PyAny>,
    names: Option<names::Given>,
    fresh: Option<Bound<'py, PyAny>>,
    now: f64,
    replay: Option<Py<PyAny>>,
) -> PyResult<ReceivedEvent> {
    let mut verifier = Verifier::new(key(api_key)?);
    if let Some(names) = names {
        verifier = verifier.names(names::read(names).map_err(|failure| failure.raise(py))?);
    }
    for url in several(url)? {
        verifier = verifier.url(text("url", &url)?);
    }
    if let Some(window) = fresh {
        let window = values::seconds(&window).map_err(|_| invalid("fresh", SECONDS));
        let window = window.and_then(|window| seconds("fresh", window));
        verifier = verifier.fresh(window.map_err(|failure| failure.raise(py))?);
    }
    if let Some(memory) = replay {
        verifier = verifier.replay(Memory(memory));
    }
    let now = seconds("now", now).map_err(|failure| failure.raise(py))?.as_secs();
    let received = received("", method, body, query, signature, nonce)?;
    let event = detached(py, || Ok(verifier.verify(&received, now)?));
    if let Some(exception) = take_exception() {
        return Err(exception);
    }
    event.map(|event| ReceivedEvent { event, parameters: PyOnceLock::new() })
}

/// The event of a callback. Fields are converted to Python values on access, because nearly every
/// application reads only a few of them.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct ReceivedEvent {
    event: Event,
    /// Converted once: a dict is mutable, so all threads must get the same one.
    parameters: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl ReceivedEvent {
    #[getter]
    fn uuid(&self) -> &str {
        self.event.uuid.as_str()
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.event.status.name()
    }

    #[getter]
    fn user_id(&self) -> Option<u64> {
        self.event.user_id.map(UserId::get)
    }

    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::to_python(py, &json!(self.event.device()))
    }

    #[getter]
    fn parameters(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let convert = || values::to_python(py, &self.event.parameters().into()).map(Bound::unbind);
        self.parameters.get_or_try_init(py, convert).map(|dict| dict.clone_ref(py))
    }
}

/// Returns the parameters that a callback's signature covers, without interpreting them.
#[pyfunction]
pub(crate) fn signed_parameters<'py>(
    api_key: &Bound<'py, PyAny>,
    url: &Bound<'py, PyAny>,
    method: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    query: &Bound<'py, PyAny>,
    signature: &Bound<'py, PyAny>,
    nonce: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (key, url) = (key(api_key)?, text("url", url)?);
    let received = received(url, method, body, query, signature, nonce)?;
    let parameters = verify_parameters(&key, &received);
    let parameters = parameters.map_err(|error| Failure::from(error).raise(api_key.py()))?;
    values::to_python(api_key.py(), &parameters.into())
}

/// Signs the JSON body of a POST, or the query of a GET.
#[pyfunction]
pub(crate) fn sign(
    api_key: &Bound<'_, PyAny>,
    nonce: &Bound<'_, PyAny>,
    url: &Bound<'_, PyAny>,
    method: &str,
    body: &Bound<'_, PyAny>,
    query: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let key = key(api_key)?;
    let (nonce, url) = (text("nonce", nonce)?, text("url", url)?);
    let signature = match method {
        "GET" => callback::sign_query(&key, nonce, url, text("query", query)?),
        _ => callback::sign(&key, nonce, url, bytes("body", body)?),
    };
    signature.map_err(|error| Failure::from(error).raise(api_key.py()))
}

/// Converts the parameters of a JSON body to a query.
#[pyfunction]
pub(crate) fn query(body: &Bound<'_, PyAny>) -> PyResult<String> {
    callback::query(bytes("body", body)?).map_err(|error| Failure::from(error).raise(body.py()))
}

/// The application's API key.
fn key(given: &Bound<'_, PyAny>) -> PyResult<ApiKey> {
    let key = text("api_key", given)?.parse();
    key.map_err(|error| Failure::from(error).raise(given.py()))
}

fn received<'a>(
    url: &'a str,
    method: &'a Bound<'_, PyAny>,
    body: &'a Bound<'_, PyAny>,
    query: &'a Bound<'_, PyAny>,
    signature: &'a Bound<'_, PyAny>,
    nonce: &'a Bound<'_, PyAny>,
) -> PyResult<Received<'a>> {
    Ok(Received {
        url,
        method: received_text("method", method)?,
        query: received_text("query", query)?,
        body: bytes("body", body)?,
        signature: received_text("signature", signature)?,
        nonce: received_text("nonce", nonce)?,
    })
}

/// A text that was received. If it cannot be encoded as UTF-8, the callback is invalid rather than
/// the argument: no service signs such a text, and the sender chose it.
fn received_text<'a>(name: &'static str, part: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let Ok(text) = part.cast::<PyString>() else { return text(name, part) };
    text.to_str().map_err(|_| {
        let message = "it contains text that cannot be encoded as UTF-8".to_owned();
        Failure::from(Error::InvalidCallback { message }).raise(part.py())
    })
}

fn seconds(parameter: &'static str, time: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(time).map_err(|_| invalid(parameter, SECONDS))
}

/// The URLs: `url` is one, or an iterable of several.
fn several<'py>(url: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if url.is_instance_of::<PyString>() {
        return Ok(vec![url.clone()]);
    }
    let several = url.try_iter().map_err(|_| invalid("url", "be text, or several").raise(url.py()));
    several?.collect()
}

/// The replay memory that the application provides. Its exceptions are raised by the call.
struct Memory(Py<PyAny>);

impl Replay for Memory {
    fn first_time(&self, callback: &ReplayEntry<'_>) -> Result<bool> {
        // Python's times are floats; whole seconds are exact in an f64 up to 2^53.
        let until = callback.until.map_or(f64::INFINITY, |until| until as f64);
        let first_time = Python::try_attach(|py| {
            let result = self.0.call_method1(py, "first_time", (callback.key, until));
            result.and_then(|result| result.extract::<bool>(py)).map_err(interrupted)
        });
        first_time.unwrap_or_else(|| {
            Err(Error::Internal { message: "Python is shutting down".to_owned() })
        })
    }
}
