//! The functions of the application by which an engine sends messages and posts callbacks.

use crate::failure::{interrupted, keep_cause, keep_exception};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use seconder::engine::{Deliver, Message, NumberLookup, Outcome, PhoneLine, Post, SignedCallback};
use std::time::Duration;

/// The maximum time of an attempt that has no limit of its own, as the library assumes.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(30);

/// The return value of a function of the package: the kind of the outcome, the provider's id or the reason, and the
/// number of seconds after which to try again.
type Returned = (String, Option<String>, Option<f64>);

/// Delivers messages by a Python function. The text of its exception is part of the error, unless it
/// includes the code.
pub(crate) struct Deliverer {
    function: Py<PyAny>,
    longest_attempt: Duration,
}

impl Deliverer {
    /// `limit` is how long the function may take, in seconds.
    pub(crate) fn new(function: Py<PyAny>, limit: Option<f64>) -> Deliverer {
        let limit = limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        // Waiting for the function to end takes a moment more.
        let limit = limit.map(|limit| limit.saturating_add(Duration::from_secs(1)));
        Deliverer { function, longest_attempt: limit.unwrap_or_default().max(LONGEST_ATTEMPT) }
    }
}

impl Deliver for Deliverer {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        accepted(self.attempt(message, ""))
    }

    fn attempt(&self, message: &Message, _route: &str) -> Outcome {
        // The install message has no code to hide.
        let hidden = Some(message.code.as_str()).filter(|code| !code.is_empty());
        in_python(hidden, Outcome::Permanent, |py| {
            let Message { id, to, via, text, language, code, expires_at, .. } = message;
            self.function.call1(py, (id, to, via.name(), text, language, code, expires_at))
        })
    }

    fn longest_attempt(&self, _route: &str) -> Duration {
        self.longest_attempt
    }
}

/// Posts callbacks by a Python function.
pub(crate) struct Poster(pub(crate) Py<PyAny>);

impl Post for Poster {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        accepted(self.attempt(callback))
    }

    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        let again = |reason| Outcome::Retry { after: None, reason };
        in_python(None, again, |py| {
            let headers = callback.headers.clone();
            // The URL itself has no question mark.
            let url = match callback.query.as_str() {
                "" => callback.url.to_string(),
                query => format!("{}?{query}", callback.url),
            };
            self.0.call1(py, (url, callback.body.as_slice(), headers))
        })
    }
}

/// Looks numbers up by a Python function.
pub(crate) struct Lookup(pub(crate) Py<PyAny>);

impl NumberLookup for Lookup {
    fn look_up(&self, number: &str) -> Option<PhoneLine> {
        /// The carrier, the type, and whether the number was ported; None if the look-up failed.
        type LineParts = Option<(Option<String>, Option<String>, Option<bool>)>;
        Python::try_attach(|py| {
            let found =
                self.0.call1(py, (number,)).and_then(|found| found.extract::<LineParts>(py));
            match found {
                Ok(found) => found.map(|(carrier, kind, ported)| {
                    let kind = kind.and_then(|kind| kind.parse().ok());
                    PhoneLine { carrier, kind, ported }
                }),
                Err(error) => {
                    // An exception such as KeyboardInterrupt. Others are logged by the package.
                    if !error.is_instance_of::<PyException>(py) {
                        keep_exception(error);
                    }
                    None
                }
            }
        })?
    }
}

fn accepted(outcome: Outcome) -> Result<(), String> {
    outcome.reason().map_or(Ok(()), |reason| Err(reason.to_owned()))
}

/// Calls a Python function of the application. If it raises, `failed` converts the text without `hidden` to the
/// outcome, and the exception is kept as the cause of the call's exception. One that is not an `Exception`, such as
/// `KeyboardInterrupt`, is raised by the call: it is not known then how far the function came.
fn in_python(
    hidden: Option<&str>,
    failed: fn(String) -> Outcome,
    work: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
) -> Outcome {
    let attempted = Python::try_attach(|py| {
        let outcome = work(py).and_then(|returned| outcome(returned.extract(py)?));
        outcome.unwrap_or_else(|error| {
            if !error.is_instance_of::<PyException>(py) {
                return Outcome::Ambiguous(interrupted(error).to_string());
            }
            let text = error.to_string();
            keep_cause(error);
            failed(match hidden.is_some_and(|code| text.contains(code)) {
                true => "deliver raised an exception whose text includes the code".to_owned(),
                false => text,
            })
        })
    });
    let never_called =
        || Outcome::NotAttempted { after: None, reason: "Python is shutting down".to_owned() };
    attempted.unwrap_or_else(never_called)
}

fn outcome((kind, text, after): Returned) -> PyResult<Outcome> {
    let reason = text.clone().unwrap_or_default();
    Ok(match kind.as_str() {
        "sent" => Outcome::Sent(text.filter(|id| !id.is_empty())),
        "retry" => Outcome::Retry { after: wait(after)?, reason },
        "not_attempted" => Outcome::NotAttempted { after: wait(after)?, reason },
        "number_refused" => Outcome::NumberRefused(reason),
        "permanent" => Outcome::Permanent(reason),
        "ambiguous" => Outcome::Ambiguous(reason),
        _ => return Err(PyValueError::new_err("there is no such outcome")),
    })
}

fn wait(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let wrong = |_| PyValueError::new_err("the wait before another attempt is no time");
    seconds.map(Duration::try_from_secs_f64).transpose().map_err(wrong)
}
