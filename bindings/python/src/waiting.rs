//! Waits for the response to an approval request, with Python's clock and Python's sleep, which
//! Ctrl-C interrupts.

use crate::exit::Staying;
use crate::failure::{Failure, keep_exception};
use crate::fields::{read, with_user_id, write};
use crate::testing::Clock;
use crate::values::{self, Params};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::engine::Clock as _;
use seconder::model::{ApprovalId, UserId};
use seconder::sandbox::SandboxClock;
use seconder::{ApprovalPoll, Error, Service, Sleeper, interrupted as is_ended};
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time to sleep between checks whether the wait is to end.
const SLICE: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct WaitForApproval {
    uuid: ApprovalId,
    user_id: UserId,
    timeout: f64,
    bound: bool,
}

impl WaitForApproval {
    fn wait(self) -> Result<seconder::ApprovalWait, Failure> {
        let deadline = values::timeout(self.timeout)?;
        let wait = seconder::ApprovalWait::new(self.uuid, self.user_id, deadline);
        Ok(if self.bound { wait } else { wait.unbound() })
    }
}

pub(crate) fn wait_for_approval(service: &Service, params: Params) -> Result<Value, Failure> {
    let wait = read::<WaitForApproval>(params)?.wait()?;
    let mut sleeper = PythonTime::begin(None)?;
    write(&service.wait_for_approval_with(wait, &mut sleeper)?)
}

/// A wait, poll by poll, for an event loop.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct ApprovalWait(Mutex<(seconder::ApprovalWait, PythonTime)>);

#[pymethods]
impl ApprovalWait {
    /// A wait that begins now, by the clock of a sandbox if there is one.
    #[new]
    #[pyo3(signature = (params, clock = None))]
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyDict>,
        clock: Option<&Clock>,
    ) -> PyResult<ApprovalWait> {
        let _staying = Staying::new();
        let params = values::params(params)?;
        let clock = clock.map(Clock::shared);
        let wait = read(params)
            .and_then(|params: WaitForApproval| Ok((params.wait()?, PythonTime::begin(clock)?)));
        wait.map(|wait| ApprovalWait(Mutex::new(wait))).map_err(|failure| failure.raise(py))
    }
}

impl ApprovalWait {
    /// Polls once. Returns the response, or the pause before the next poll, in seconds.
    pub(crate) fn poll(&self, service: &Service) -> Result<Value, Failure> {
        // Copied, so that the lock is not held during the poll, which may take a call's timeout.
        let (mut wait, mut time) = {
            let wait = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (wait.0.clone(), wait.1.clone())
        };
        let result = service.poll_approval(&mut wait, &mut || time.elapsed());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = wait;
        match result {
            ApprovalPoll::Finished(approval) => write(&approval?).map(with_user_id),
            ApprovalPoll::PollAgain(time) => Ok(time.as_secs_f64().into()),
        }
    }
}

/// Python's monotonic clock, or a sandbox's clock, since the wait began; and Python's sleep.
#[derive(Clone)]
struct PythonTime {
    clock: Option<SandboxClock>,
    began: f64,
}

impl PythonTime {
    fn begin(clock: Option<SandboxClock>) -> Result<PythonTime, Error> {
        let mut time = PythonTime { clock, began: 0.0 };
        time.began = time.now()?;
        Ok(time)
    }

    fn now(&self) -> Result<f64, Error> {
        match &self.clock {
            Some(clock) => Ok(clock.now().as_secs_f64()),
            None => monotonic(),
        }
    }
}

impl Sleeper for PythonTime {
    fn elapsed(&mut self) -> Duration {
        // If the clock fails, the deadline counts as exceeded: a wait must always end.
        let elapsed = self.now().map(|now| Duration::try_from_secs_f64(now - self.began));
        elapsed.ok().and_then(|elapsed| elapsed.ok()).unwrap_or(Duration::MAX)
    }

    fn pause(&mut self, time: Duration) -> Result<(), Error> {
        in_python(|py| {
            let sleep = py.import("time")?.getattr("sleep")?;
            let mut left = time;
            while !left.is_zero() && !is_ended() {
                // A signal that arrived during the poll would not interrupt the sleep.
                py.check_signals()?;
                let slice = left.min(SLICE);
                sleep.call1((slice.as_secs_f64(),))?;
                left -= slice;
            }
            py.check_signals()
        })
    }
}

fn monotonic() -> Result<f64, Error> {
    in_python(|py| py.import("time")?.call_method0("monotonic")?.extract())
}

fn in_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, Error> {
    // A wait only reads, so nothing was sent that could take effect.
    let ended = |exception| {
        keep_exception(exception);
        Error::Cancelled { sent: false }
    };
    let result = Python::try_attach(|py| work(py).map_err(ended));
    result.unwrap_or_else(|| Err(Error::Internal { message: "Python is shutting down".to_owned() }))
}
