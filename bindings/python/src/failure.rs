//! Converts every failure to a Python exception. The exceptions are defined in Python.

use crate::exit::{self, Staying};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use seconder::{Error, Rejection, codes};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// An exception, such as Ctrl-C, that a Python function raised within a call, until that call
    /// returns to Python. It is kept here because an error of the library cannot hold it.
    static EXCEPTION: Cell<Option<PyErr>> = const { Cell::new(None) };
}

thread_local! {
    /// The exception of a function of the application that failed within a call, until that call
    /// returns to Python.
    static CAUSE: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Keeps the exception that made a call fail.
pub(crate) fn keep_cause(error: PyErr) {
    CAUSE.set(Some(error));
}

/// Returns the exception that made the call fail that has just returned. It must be called after
/// every call that can run Python code.
pub(crate) fn take_cause() -> Option<PyErr> {
    CAUSE.take()
}

/// Keeps an exception that ends a call, until that call returns to Python.
pub(crate) fn keep_exception(error: PyErr) {
    EXCEPTION.set(Some(error));
}

/// Returns whether an exception was kept.
pub(crate) fn has_exception() -> bool {
    let kept = EXCEPTION.take();
    let has = kept.is_some();
    EXCEPTION.set(kept);
    has
}

/// Keeps an exception that ends a call, and returns the error that ends the call in the library.
pub(crate) fn interrupted(error: PyErr) -> Error {
    keep_exception(error);
    Error::Internal { message: "a Python exception ended the call".to_owned() }
}

/// Returns the exception that ended the call that has just returned, if any. It must be called
/// after every call that can run Python code, or a later call on this thread would raise the
/// exception.
pub(crate) fn take_exception() -> Option<PyErr> {
    EXCEPTION.take()
}

/// The reason why a call returns no value.
pub(crate) enum Failure {
    Error(Error),
    TokenInvalid { reused: bool, message: Option<String>, code: Option<String> },
    NotChecked { message: Option<String> },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::TokenWrong { message, code, .. } => {
                Failure::TokenInvalid { reused: false, message: Some(message), code: Some(code) }
            }
            other => Failure::Error(other),
        }
    }
}

/// An invalid argument, with its requirement: `invalid("timeout", "be a number of seconds")`.
pub(crate) fn invalid(parameter: &'static str, must: &str) -> Failure {
    Error::InvalidArgument { parameter: parameter.into(), reason: format!("must {must}").into() }
        .into()
}

/// Runs work that may block, without holding up other Python threads. A panic becomes an
/// `InternalError`.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let result = exit::detach(py, || catch_unwind(AssertUnwindSafe(work)));
    let result = result.unwrap_or_else(|_| {
        let message = "the call panicked".to_owned();
        Err(Error::Internal { message }.into())
    });
    result.map_err(|failure| failure.raise(py))
}

/// The class of a rejection, by its code.
fn class_of(rejection: &Rejection) -> &'static str {
    match (rejection.code.as_deref(), rejection.status) {
        (Some(codes::USER_NOT_FOUND), _) => "UserNotFound",
        (Some(codes::INVALID_USER), 409) => "AlreadyEnrolled",
        (Some(codes::APPROVAL_NOT_FOUND), _) => "ApprovalNotFound",
        (Some(codes::APPROVAL_NOT_PENDING), _) => "ApprovalNotPending",
        (Some(codes::VERIFICATION_NOT_FOUND), _) => "VerificationNotFound",
        _ => "Rejected",
    }
}

impl Failure {
    pub(crate) fn raise(&self, py: Python<'_>) -> PyErr {
        // The classes are Python's.
        let _staying = Staying::new();
        self.exception(py).map_or_else(|error| error, PyErr::from_value)
    }

    fn exception<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("seconder.errors")?.getattr(self.class())?;
        class.call((self.message(),), Some(&self.attributes(py)?))
    }

    fn class(&self) -> &'static str {
        match self {
            Failure::TokenInvalid { reused: true, .. } => "AlreadyUsed",
            Failure::TokenInvalid { .. } => "TokenInvalid",
            Failure::NotChecked { .. } => "NotChecked",
            Failure::Error(error) => match error {
                Error::InvalidArgument { .. } => "InvalidArgument",
                Error::TokenMalformed { .. } => "TokenMalformed",
                Error::Unauthorized { .. } => "Unauthorized",
                Error::Rejected(rejection) => class_of(rejection),
                Error::RateLimited { .. } => "RateLimited",
                Error::Unavailable { .. } if error.timed_out() => "Timeout",
                Error::Unavailable { .. } => "Unavailable",
                Error::Cancelled { .. } => "Cancelled",
                Error::InvalidResponse { .. } => "InvalidResponse",
                Error::InvalidCallback { .. } => "InvalidCallback",
                Error::Storage { .. } => "StorageError",
                _ => "InternalError",
            },
        }
    }

    fn message(&self) -> String {
        let or = |message: &Option<String>, default: &str| {
            message.clone().unwrap_or_else(|| default.to_owned())
        };
        match self {
            Failure::Error(error) => error.to_string(),
            Failure::TokenInvalid { reused: true, message, .. } => {
                or(message, "the code has been used already")
            }
            Failure::TokenInvalid { message, .. } => or(message, "the code is not the user's"),
            Failure::NotChecked { message } => or(
                message,
                "the code was not checked, because the user was never confirmed and force is false",
            ),
        }
    }

    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let attributes = PyDict::new(py);
        match self {
            Failure::TokenInvalid { reused, code, .. } => {
                attributes.set_item("reused", reused)?;
                attributes.set_item("code", code)?;
            }
            Failure::NotChecked { .. } => {}
            Failure::Error(error) => {
                attributes.set_item("retry_safe", error.retry_safe())?;
                if let Some(code) = error.code() {
                    attributes.set_item("code", code)?;
                }
                if let Some(limit) = error.limit() {
                    attributes.set_item("limit", limit)?;
                    attributes.set_item("is_operator_limit", error.is_operator_limit())?;
                }
                if let Some(seconds) = error.retry_after_seconds() {
                    attributes.set_item("retry_after", seconds as f64)?;
                }
                match error {
                    Error::InvalidArgument { parameter, .. }
                    | Error::TokenMalformed { parameter, .. } => {
                        attributes.set_item("parameter", parameter.as_ref())?;
                    }
                    Error::Unauthorized { .. } => attributes.set_item("http_status", 401)?,
                    Error::Rejected(rejection) => {
                        attributes.set_item("http_status", rejection.status)?;
                        attributes.set_item("fields", (&rejection.fields).into_py_dict(py)?)?;
                    }
                    Error::Unavailable { stage, .. } => {
                        attributes.set_item("stage", stage.name())?;
                    }
                    _ => {}
                }
            }
        }
        Ok(attributes)
    }
}
