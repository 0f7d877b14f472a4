//! Waiting for the answer to an approval request, by Python's clock and Python's sleep, which
//! Ctrl-C interrupts.

use crate::failure::{Failure, interrupted};
use crate::fields::{read, with_user_id, write};
use crate::values::{self, Params};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::model::{ApprovalId, UserId};
use seconder::{ApprovalPoll, Error, Service, Sleeper};
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Deserialize)]
struct WaitForApproval {
    uuid: ApprovalId,
    user_id: UserId,
    timeout: f64,
}

pub(crate) fn wait_for_approval(service: &Service, params: Params) -> Result<Value, Failure> {
    let WaitForApproval { uuid, user_id, timeout } = read(params)?;
    let deadline = values::timeout(timeout)?;
    let mut pace = PythonTime { began: monotonic()? };
    write(&service.wait_for_approval_with(&uuid, user_id, deadline, &mut pace)?)
}

/// A wait that asks once at a time, for an event loop.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct ApprovalWait(Mutex<(seconder::ApprovalWait, PythonTime)>);

#[pymethods]
impl ApprovalWait {
    #[new]
    fn new(py: Python<'_>, params: &Bound<'_, PyDict>) -> PyResult<ApprovalWait> {
        let params = values::params(params)?;
        let made = read(params).and_then(|WaitForApproval { uuid, user_id, timeout }| {
            let wait = seconder::ApprovalWait::new(uuid, user_id, values::timeout(timeout)?);
            Ok((wait, PythonTime { began: monotonic()? }))
        });
        made.map(|wait| ApprovalWait(Mutex::new(wait))).map_err(|failure| failure.raise(py))
    }
}

impl ApprovalWait {
    pub(crate) fn ask(&self, service: &Service) -> Result<Value, Failure> {
        let (mut wait, mut time) = {
            let wait = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (wait.0.clone(), PythonTime { began: wait.1.began })
        };
        let asked = service.poll_approval(&mut wait, &mut || time.elapsed());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = wait;
        match asked {
            ApprovalPoll::Finished(found) => write(&found?).map(with_user_id),
            ApprovalPoll::PollAgain(time) => Ok(time.as_secs_f64().into()),
        }
    }
}

struct PythonTime {
    began: f64,
}

impl Sleeper for PythonTime {
    fn elapsed(&mut self) -> Duration {
        // A clock that fails has come to the end of every wait.
        let elapsed = monotonic().map(|now| Duration::try_from_secs_f64(now - self.began));
        elapsed.ok().and_then(|elapsed| elapsed.ok()).unwrap_or(Duration::MAX)
    }

    fn pause(&mut self, time: Duration) -> Result<(), Error> {
        in_python(|py| {
            // A signal that came while the service was asked would not end the sleep.
            py.check_signals()?;
            py.import("time")?.call_method1("sleep", (time.as_secs_f64(),))?;
            py.check_signals()
        })
    }
}

fn monotonic() -> Result<f64, Error> {
    in_python(|py| py.import("time")?.call_method0("monotonic")?.extract())
}

fn in_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, Error> {
    let done = Python::try_attach(|py| work(py).map_err(interrupted));
    let gone = || Err(Error::Internal { message: "Python is shutting down".to_owned() });
    done.unwrap_or_else(gone)
}
