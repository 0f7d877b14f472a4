//! Callbacks, with a memory that the program may give.

use crate::failure::{Failure, detached, ending, interrupted};
use crate::values::text;
use crate::{names, values};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use seconder::callback::replay::{Replay, Seen};
use seconder::callback::{self, Event, Received, Verifier, verify_parameters};
use seconder::model::{Secret, UserId};
use seconder::{Error, Result};
use serde_json::json;
use std::time::Duration;

/// Checks a callback and gives what it says. The package documents the parameters.
#[pyfunction]
#[pyo3(signature = (*, api_key, urls, method, body, query, signature, nonce, names, fresh, now,
                    replay))]
// Every part of what was received is named, so that no two of them can be mixed up.
#[allow(clippy::too_many_arguments)]
pub(crate) fn verify_callback<'py>(
    py: Python<'py>,
    api_key: &Bound<'py, PyString>,
    urls: Vec<Bound<'py, PyString>>,
    method: &Bound<'py, PyString>,
    body: &[u8],
    query: &Bound<'py, PyString>,
    signature: &Bound<'py, PyString>,
    nonce: &Bound<'py, PyString>,
    names: Option<names::Given>,
    fresh: Option<Bound<'py, PyAny>>,
    now: f64,
    replay: Option<Py<PyAny>>,
) -> PyResult<Told> {
    let mut verifier = Verifier::new(Secret::new(text("api_key", api_key)?));
    if let Some(names) = names {
        verifier = verifier.names(names::read(names).map_err(|failure| failure.raise(py))?);
    }
    for url in &urls {
        verifier = verifier.url(text("url", url)?);
    }
    if let Some(window) = fresh {
        let window =
            seconds("fresh", values::seconds(&window)?).map_err(|failure| failure.raise(py))?;
        verifier = verifier.fresh(window);
    }
    if let Some(memory) = replay {
        verifier = verifier.replay(Memory(memory));
    }
    let now = seconds("now", now).map_err(|failure| failure.raise(py))?.as_secs();
    let (method, query) = (sent(method)?, sent(query)?);
    let (signature, nonce) = (sent(signature)?, sent(nonce)?);
    let received = Received { url: "", method, query, body, signature, nonce };
    let event = detached(py, || Ok(verifier.verify(&received, now)?));
    if let Some(ending) = ending() {
        return Err(ending);
    }
    event.map(|event| Told { event, parameters: PyOnceLock::new() })
}

/// What a callback says. Values of Python are made when they are asked for.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Told {
    event: Event,
    /// Made once, because a dict can be changed: threads must not have one each.
    parameters: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl Told {
    #[getter]
    fn uuid(&self) -> &str {
        self.event.uuid.as_str()
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.event.status.name()
    }

    #[getter]
    fn svc_id(&self) -> Option<u64> {
        self.event.svc_id.map(UserId::get)
    }

    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::to_python(py, &json!(self.event.device()))
    }

    #[getter]
    fn parameters(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || values::to_python(py, &self.event.parameters().into()).map(Bound::unbind);
        self.parameters.get_or_try_init(py, make).map(|made| made.clone_ref(py))
    }
}

/// The parameters that a callback's signature covers, whatever they mean.
#[pyfunction]
pub(crate) fn signed_parameters<'py>(
    api_key: &Bound<'py, PyString>,
    url: &Bound<'py, PyString>,
    method: &Bound<'py, PyString>,
    body: &[u8],
    query: &Bound<'py, PyString>,
    signature: &Bound<'py, PyString>,
    nonce: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    let (key, url) = (Secret::new(text("api_key", api_key)?), text("url", url)?);
    let (method, query) = (sent(method)?, sent(query)?);
    let (signature, nonce) = (sent(signature)?, sent(nonce)?);
    let received = Received { url, method, query, body, signature, nonce };
    let told = verify_parameters(&key, &received);
    let told = told.map_err(|error| Failure::from(error).raise(api_key.py()))?;
    values::to_python(api_key.py(), &told.into())
}

/// The signature of a JSON body that is posted, or of a query that is asked for.
#[pyfunction]
pub(crate) fn sign(
    py: Python<'_>,
    api_key: &Bound<'_, PyString>,
    nonce: &Bound<'_, PyString>,
    url: &Bound<'_, PyString>,
    body: Option<&[u8]>,
    query: &Bound<'_, PyString>,
) -> PyResult<String> {
    let key = Secret::new(text("api_key", api_key)?);
    let (nonce, url) = (text("nonce", nonce)?, text("url", url)?);
    let signature = match body {
        Some(body) => callback::sign(&key, nonce, url, body),
        None => callback::sign_query(&key, nonce, url, sent(query)?),
    };
    signature.map_err(|error| Failure::from(error).raise(py))
}

/// The parameters of a JSON body as a query.
#[pyfunction]
pub(crate) fn query(py: Python<'_>, body: &[u8]) -> PyResult<String> {
    callback::query(body).map_err(|error| Failure::from(error).raise(py))
}

/// A part of what was received. No service signs what UTF-8 cannot hold.
fn sent<'a>(part: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    part.to_str().map_err(|_| {
        let message = "it has text that UTF-8 cannot hold".to_owned();
        Failure::from(Error::Forged { message }).raise(part.py())
    })
}

fn seconds(parameter: &'static str, time: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(time).map_err(|_| {
        let reason = "must be a number of seconds, 0 or more".into();
        Error::Invalid { parameter: parameter.into(), reason }.into()
    })
}

/// The memory of the program, whose exceptions come back to it.
struct Memory(Py<PyAny>);

impl Replay for Memory {
    fn first_time(&self, callback: &Seen<'_>) -> Result<bool> {
        // Every whole second until then can be told as a float.
        let until = callback.until.map_or(f64::INFINITY, |until| until as f64);
        let asked = Python::try_attach(|py| {
            let told = self.0.call_method1(py, "first_time", (callback.key, until));
            told.and_then(|told| told.extract::<bool>(py)).map_err(interrupted)
        });
        let gone = || Err(Error::Internal { message: "Python is shutting down".to_owned() });
        asked.unwrap_or_else(gone)
    }
}
