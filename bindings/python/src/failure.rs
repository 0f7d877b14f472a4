//! The one way from a failure to a Python exception; the exceptions are defined in Python.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use seconder::{Error, Stage};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// What ended a function of Python's that a call had called, such as Ctrl-C, until that call
    /// has come back to Python. The library between the two cannot carry it.
    static ENDING: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Keeps an exception that ends a call, and gives the error that ends it in the library.
pub(crate) fn interrupted(error: PyErr) -> Error {
    ENDING.set(Some(error));
    Error::Internal { message: "an exception of Python ended the call".to_owned() }
}

/// The exception that ended the call that has just come back.
pub(crate) fn ending() -> Option<PyErr> {
    ENDING.take()
}

/// Why a call gives no value.
pub(crate) enum Failure {
    Error(Error),
    TokenInvalid { reused: bool, message: Option<String> },
    NotChecked { message: Option<String> },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

/// An argument that must be something else: `invalid("timeout", "be a number of seconds")`.
pub(crate) fn invalid(parameter: &'static str, must: &str) -> Failure {
    Error::InvalidArgument { parameter: parameter.into(), reason: format!("must {must}").into() }
        .into()
}

/// Does what may wait while other Python threads run. A panic becomes an error like any other.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let done = done.unwrap_or_else(|_| {
        let message = "something that cannot happen has happened".to_owned();
        Err(Error::Internal { message }.into())
    });
    done.map_err(|failure| failure.raise(py))
}

/// The stages of a call, by the names that Python has for them.
pub(crate) const STAGES: [(Stage, &str); 5] = [
    (Stage::Dns, "dns"),
    (Stage::Connect, "connect"),
    (Stage::Tls, "tls"),
    (Stage::Response, "response"),
    (Stage::Delivery, "delivery"),
];

/// A stage that has no name here may have sent something.
fn name_of(stage: Stage) -> &'static str {
    STAGES.iter().find(|(known, _)| *known == stage).map_or("response", |(_, name)| name)
}

impl Failure {
    pub(crate) fn raise(&self, py: Python<'_>) -> PyErr {
        self.exception(py).map_or_else(|error| error, PyErr::from_value)
    }

    fn exception<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("seconder.errors")?.getattr(self.class())?;
        class.call((self.message(),), Some(&self.attributes(py)?))
    }

    fn class(&self) -> &'static str {
        match self {
            Failure::TokenInvalid { .. } => "TokenInvalid",
            Failure::NotChecked { .. } => "NotChecked",
            Failure::Error(error) => match error {
                Error::InvalidArgument { .. } => "InvalidArgument",
                Error::Unauthorized { .. } => "Unauthorized",
                Error::Rejected(_) => "Rejected",
                Error::RateLimited { .. } => "RateLimited",
                Error::Unavailable { .. } if error.timed_out() => "Timeout",
                Error::Unavailable { .. } => "Unavailable",
                Error::InvalidResponse { .. } => "InvalidResponse",
                Error::InvalidCallback { .. } => "InvalidCallback",
                Error::Storage { .. } => "StorageError",
                _ => "InternalError",
            },
        }
    }

    fn message(&self) -> String {
        let or = |message: &Option<String>, usual: &str| {
            message.clone().unwrap_or_else(|| usual.to_owned())
        };
        match self {
            Failure::Error(error) => error.to_string(),
            Failure::TokenInvalid { reused: true, message } => {
                or(message, "the code has been used already")
            }
            Failure::TokenInvalid { message, .. } => or(message, "the code is not the user's"),
            Failure::NotChecked { message } => or(
                message,
                "the code was not checked, because the user was never confirmed: force=True checks \
                 it regardless",
            ),
        }
    }

    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let attributes = PyDict::new(py);
        match self {
            Failure::TokenInvalid { reused, .. } => attributes.set_item("reused", reused)?,
            Failure::NotChecked { .. } => {}
            Failure::Error(error) => {
                attributes.set_item("retry_safe", error.retry_safe())?;
                match error {
                    Error::InvalidArgument { parameter, .. } => {
                        attributes.set_item("parameter", parameter.as_ref())?;
                    }
                    Error::Unauthorized { .. } => attributes.set_item("http_status", 401)?,
                    Error::Rejected(no) => {
                        attributes.set_item("http_status", no.status)?;
                        attributes.set_item("code", no.code.as_deref())?;
                        attributes.set_item("fields", (&no.fields).into_py_dict(py)?)?;
                    }
                    Error::Unavailable { stage, .. } => {
                        attributes.set_item("stage", name_of(*stage))?;
                    }
                    Error::RateLimited { retry_after: Some(time), .. } => {
                        attributes.set_item("retry_after", time.as_secs_f64())?;
                    }
                    _ => {}
                }
            }
        }
        Ok(attributes)
    }
}
