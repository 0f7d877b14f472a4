//! Callbacks, with a memory that the program may give.

use crate::failure::{Failure, detached, ending, interrupted};
use crate::values;
use pyo3::prelude::*;
use seconder::callback::replay::{Replay, Seen};
use seconder::callback::{Received, Verifier};
use seconder::model::Secret;
use seconder::{Error, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// Checks a callback and gives what it says. The package documents the parameters.
#[pyfunction]
#[pyo3(signature = (*, api_key, urls, method, body, query, signature, nonce, fresh, now, replay))]
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
    fresh: Option<f64>,
    now: f64,
    replay: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut verifier = Verifier::new(Secret::new(api_key));
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
