//! Callbacks, with a memory that the program may give.

use crate::failure::{Failure, detached, ending, interrupted};
use crate::{names, values};
use pyo3::prelude::*;
use seconder::callback::replay::{Replay, Seen};
use seconder::callback::{self, Received, Verifier, verify_parameters};
use seconder::model::Secret;
use seconder::{Error, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// Checks a callback and gives what it says. The package documents the parameters.
#[pyfunction]
#[pyo3(signature = (*, api_key, urls, method, body, query, signature, nonce, names, fresh, now,
                    replay))]
// Every part of what was received is named, so that no two of them can be mixed up.
#[allow(clippy::too_many_arguments)]
pub(crate) fn verify_callback<'py>(
    py: Python<'py>,
    api_key: &str,
    urls: Vec<String>,
    method: &str,
    body: &[u8],
    query: &str,
    signature: &str,
    nonce: &str,
    names: names::Given,
    fresh: Option<f64>,
    now: f64,
    replay: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let names = names::read(names).map_err(|failure| failure.raise(py))?;
    let mut verifier = Verifier::new(Secret::new(api_key)).names(names);
    for url in urls {
        verifier = verifier.url(url);
    }
    if let Some(window) = fresh {
        let window = seconds("fresh", window).map_err(|failure| failure.raise(py))?;
        verifier = verifier.fresh(window);
    }
    if let Some(memory) = replay {
        verifier = verifier.replay(Memory(memory));
    }
    let now = seconds("now", now).map_err(|failure| failure.raise(py))?.as_secs();
    let received = Received { url: "", method, query, body, signature, nonce };
    let event = detached(py, || Ok(verifier.verify(&received, now)?));
    if let Some(ending) = ending() {
        return Err(ending);
    }
    let event = event?;
    let mut told = json!({
        "uuid": event.uuid,
        "status": event.status,
        "svc_id": event.svc_id,
        "device": event.device,
    });
    told["parameters"] = Value::Object(event.parameters);
    values::to_python(py, &told)
}

/// The parameters that a callback's signature covers, whatever they mean.
#[pyfunction]
pub(crate) fn signed_parameters<'py>(
    py: Python<'py>,
    api_key: &str,
    url: &str,
    method: &str,
    sent: &[u8],
    signature: &str,
    nonce: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let query = str::from_utf8(sent).unwrap_or_default();
    let received = Received { url, method, query, body: sent, signature, nonce };
    let told = verify_parameters(&Secret::new(api_key), &received);
    let told = told.map_err(|error| Failure::from(error).raise(py))?;
    values::to_python(py, &told.into())
}

/// The signature of a JSON body that is posted, or of a query that is asked for.
#[pyfunction]
pub(crate) fn sign(
    py: Python<'_>,
    api_key: &str,
    nonce: &str,
    url: &str,
    body: Option<&[u8]>,
    query: &str,
) -> PyResult<String> {
    let key = Secret::new(api_key);
    let signature = match body {
        Some(body) => callback::sign(&key, nonce, url, body),
        None => callback::sign_query(&key, nonce, url, query),
    };
    signature.map_err(|error| Failure::from(error).raise(py))
}

/// The parameters of a JSON body as a query.
#[pyfunction]
pub(crate) fn query(py: Python<'_>, body: &[u8]) -> PyResult<String> {
    callback::query(body).map_err(|error| Failure::from(error).raise(py))
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
