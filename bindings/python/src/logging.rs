//! One record of Python's `logging` for each call, with the logger `seconder`.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use seconder::{CallOutcome, CallRecord, Log};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The levels of `logging`.
const DEBUG: u8 = 10;
const INFO: u8 = 20;
const WARNING: u8 = 30;

static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

thread_local! {
    /// The record of the call that has just ended on this thread, which is not attached to Python
    /// then.
    static RECORD: RefCell<Option<CallRecord>> = const { RefCell::new(None) };
    /// Whether this thread is in a handler of the log, whose own calls are not logged: it would be
    /// called without end.
    static LOGGING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the record of a call until [`log_call`].
struct Keep;

impl Log for Keep {
    fn log(&self, record: &CallRecord) {
        RECORD.set(Some(record.clone()));
    }
}

/// What keeps the record of each call.
pub(crate) fn keep() -> Arc<dyn Log> {
    Arc::new(Keep)
}

/// What users and programs do wrong is information; what an operator has to see to is a warning.
fn level(outcome: CallOutcome) -> u8 {
    match outcome {
        CallOutcome::Ok => DEBUG,
        CallOutcome::Unauthorized
        | CallOutcome::Unavailable
        | CallOutcome::InvalidResponse
        | CallOutcome::Storage
        | CallOutcome::Internal => WARNING,
        _ => INFO,
    }
}

/// Logs the call that has just ended on this thread, if it was made.
pub(crate) fn log_call(py: Python<'_>) -> PyResult<()> {
    let Some(record) = RECORD.take() else { return Ok(()) };
    if LOGGING.replace(true) {
        return Ok(());
    }
    let emitted = emit(py, &record);
    LOGGING.set(false);
    match emitted {
        // A log that fails must not turn a call that succeeded into one that failed.
        Err(error) if error.is_instance_of::<PyException>(py) => {
            error.write_unraisable(py, None);
            Ok(())
        }
        result => result,
    }
}

fn emit(py: Python<'_>, record: &CallRecord) -> PyResult<()> {
    let logger = LOGGER.get_or_try_init(py, || {
        let logging = py.import("logging")?;
        PyResult::Ok(logging.call_method1("getLogger", ("seconder",))?.unbind())
    })?;
    let (logger, level) = (logger.bind(py), level(record.outcome));
    if !logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        return Ok(());
    }
    let extra = PyDict::new(py);
    extra.set_item("seconder_call", record.call)?;
    extra.set_item("seconder_outcome", record.outcome.name())?;
    extra.set_item("seconder_stage", record.stage.map(seconder::Stage::name))?;
    extra.set_item("seconder_timed_out", record.timed_out)?;
    extra.set_item("seconder_user_id", record.user_id.map(|user| user.get()))?;
    extra.set_item("seconder_http_status", record.http_status)?;
    extra.set_item("seconder_code", record.code.as_deref())?;
    extra.set_item("seconder_factor", record.factor)?;
    extra.set_item("seconder_attempts", record.attempts)?;
    extra.set_item("seconder_duration", record.duration.as_secs_f64())?;
    let options = PyDict::new(py);
    options.set_item("extra", extra)?;
    logger.call_method("log", (level, record.to_string()), Some(&options))?;
    Ok(())
}
