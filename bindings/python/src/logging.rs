//! One record of Python's `logging` for each call, with the logger `seconder`.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use seconder::{CallOutcome, CallRecord, Log};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The levels of `logging`.
const DEBUG: u8 = 10;
const INFO: u8 = 20;
const WARNING: u8 = 30;

thread_local! {
    /// The record of the call that has just ended on this thread, which is not attached to Python
    /// then.
    static RECORD: RefCell<Option<CallRecord>> = const { RefCell::new(None) };
    /// Set if this thread is in a handler of the log, whose own calls are not logged: it would be
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

/// Returns a log that keeps the record of each call.
pub(crate) fn keep() -> Arc<dyn Log> {
    Arc::new(Keep)
}

/// Returns the level of an outcome. A mistake of a user or a program is information; a failure that
/// an operator has to see to is a warning.
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

/// Logs the call that has just ended on this thread, if it was made, and passes its record to the
/// application's hook. `error` is the class of its exception.
pub(crate) fn log_call(
    py: Python<'_>,
    request_id: Option<&str>,
    error: Option<&Bound<'_, PyType>>,
    hook: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let Some(record) = RECORD.take() else { return Ok(()) };
    if LOGGING.replace(true) {
        return Ok(());
    }
    let emitted = emit(py, &record, request_id);
    let called = hook.map_or(Ok(()), |hook| {
        let fields = fields(py, &record, request_id)?;
        fields.set_item("error", error.map(|class| class.name()).transpose()?)?;
        hook.call1((fields,)).map(drop)
    });
    LOGGING.set(false);
    called?;
    match emitted {
        // A log that fails must not turn a call that succeeded into one that failed.
        Err(error) if error.is_instance_of::<PyException>(py) => {
            error.write_unraisable(py, None);
            Ok(())
        }
        result => result,
    }
}

/// The fields of a call's record, by the names of Python's `CallRecord`.
fn fields<'py>(
    py: Python<'py>,
    record: &CallRecord,
    request_id: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("call", record.call)?;
    fields.set_item("outcome", record.outcome.name())?;
    fields.set_item("stage", record.stage.map(seconder::Stage::name))?;
    fields.set_item("timed_out", record.timed_out)?;
    fields.set_item("user_id", record.user_id.map(|user| user.get()))?;
    fields.set_item("http_status", record.http_status)?;
    fields.set_item("code", record.code.as_deref())?;
    fields.set_item("factor", record.factor)?;
    fields.set_item("attempts", record.attempts)?;
    fields.set_item("duration", record.duration.as_secs_f64())?;
    fields.set_item("request_id", request_id)?;
    Ok(fields)
}

/// The logger of every call. It is not kept: a child that was forked while another thread filled
/// the place of a kept one would block indefinitely on that thread, whereas Python's own locks are
/// created again in a child.
pub(crate) fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", ("seconder",))
}

fn emit(py: Python<'_>, record: &CallRecord, request_id: Option<&str>) -> PyResult<()> {
    let (logger, level) = (logger(py)?, level(record.outcome));
    if !logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
        return Ok(());
    }
    let extra = PyDict::new(py);
    for (name, value) in fields(py, record, request_id)? {
        extra.set_item(format!("seconder_{name}"), value)?;
    }
    let mut line = record.to_string();
    if let Some(id) = request_id {
        line.push_str(" request_id=");
        line.push_str(id);
    }
    let options = PyDict::new(py);
    options.set_item("extra", extra)?;
    logger.call_method("log", (level, line), Some(&options))?;
    Ok(())
}
