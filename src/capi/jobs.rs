//! Messages and callbacks that are to be sent again, and what the functions of the program say of an
//! attempt to send one.

use super::error::seconder_error;
use super::ffi::{self, free, read_handle, with_optional_out};
use super::open::seconder_service;
use super::status::seconder_status;
#[cfg(feature = "engine")]
use super::status::{
    SECONDER_OUTCOME_AMBIGUOUS, SECONDER_OUTCOME_NOT_ATTEMPTED, SECONDER_OUTCOME_PERMANENT,
    SECONDER_OUTCOME_RETRY, SECONDER_OUTCOME_SENT,
};
#[cfg(feature = "engine")]
use crate::engine::Outcome;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The result of seconder_run_jobs().
pub struct seconder_jobs_run {
    sent: u32,
    waiting: u32,
    failed: u32,
    more: bool,
}

/// Sends messages and posts callbacks whose next attempt is due, with an engine in this process: jobs
/// that failed before and are to be repeated, and jobs of a process that was killed.
///
/// Nothing does so by itself. A program whose deliver function returns SECONDER_OUTCOME_RETRY or
/// SECONDER_OUTCOME_AMBIGUOUS, or that has a callback URL, calls this every few seconds, on a thread of
/// its own or from a timer. Several processes can do so on one database: each message is sent by one of
/// them. After `budget_ms` milliseconds, or once the handle is cancelled, no further attempt begins.
///
/// A message is repeated until its code has expired, and never sent once the code is void: after 2, 4,
/// 8 and so on, at most 60 seconds, or later if seconder_message_set_retry_after() asks for it. A
/// callback is posted again after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours and 10 hours. Each
/// of these waits is up to a quarter shorter or longer.
///
/// What failed to be sent is no failure of this call. `out` may be NULL; otherwise free it with
/// seconder_jobs_run_free(). SECONDER_STORAGE if the database cannot be read or written;
/// SECONDER_INVALID_ARGUMENT if the service is a remote one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_run_jobs(
    service: Option<&seconder_service>,
    budget_ms: u32,
    out: *mut *mut seconder_jobs_run,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            within::run_jobs(service, Duration::from_millis(budget_ms.into()))
        })
    }
}

/// The number of messages and callbacks that were sent.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_sent(run: Option<&seconder_jobs_run>) -> u32 {
    read_handle(run, |run| run.sent)
}

/// The number of messages and callbacks that have to wait for another attempt.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_waiting(run: Option<&seconder_jobs_run>) -> u32 {
    read_handle(run, |run| run.waiting)
}

/// The number of messages and callbacks that failed for good.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_failed(run: Option<&seconder_jobs_run>) -> u32 {
    read_handle(run, |run| run.failed)
}

/// Returns whether the budget was used up, or the handle was cancelled, so that there may be more to send at
/// once.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_more(run: Option<&seconder_jobs_run>) -> bool {
    read_handle(run, |run| run.more)
}

/// Frees the reply of seconder_run_jobs(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_free(run: Option<Box<seconder_jobs_run>>) {
    free(run);
}

/// Details of an attempt that a function of the program reports, besides the number that it returns.
#[derive(Default)]
pub(super) struct Details(Mutex<Said>);

#[derive(Default)]
struct Said {
    id: Option<String>,
    after: Option<Duration>,
    reason: Option<String>,
}

impl Details {
    pub(super) fn set_id(&self, id: Option<&CStr>) {
        self.said().id = id.map(text);
    }

    pub(super) fn set_retry_after(&self, after_ms: u64) {
        self.said().after = Some(Duration::from_millis(after_ms));
    }

    pub(super) fn set_reason(&self, reason: Option<&CStr>) {
        self.said().reason = reason.map(text);
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the outcome of the attempt. `other` is for a number that is not one of the constants.
    #[cfg(feature = "engine")]
    pub(super) fn outcome(
        &self,
        returned: i32,
        function: &str,
        other: fn(String) -> Outcome,
    ) -> Outcome {
        let Said { id, after, reason } = std::mem::take(&mut *self.said());
        let reason = reason.filter(|reason| !reason.is_empty());
        let reason =
            reason.unwrap_or_else(|| format!("the {function} function returned {returned}"));
        match returned {
            SECONDER_OUTCOME_SENT => Outcome::Sent(id.filter(|id| !id.is_empty())),
            SECONDER_OUTCOME_PERMANENT => Outcome::Permanent(reason),
            SECONDER_OUTCOME_RETRY => Outcome::Retry { after, reason },
            SECONDER_OUTCOME_NOT_ATTEMPTED => Outcome::NotAttempted { after, reason },
            SECONDER_OUTCOME_AMBIGUOUS => Outcome::Ambiguous(reason),
            _ => other(reason),
        }
    }
}

fn text(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// The text behind a pointer of the program, which an error must not depend on.
///
/// # Safety
/// `given` is NULL or NUL-terminated, and does not change during `'a`.
pub(super) unsafe fn given<'a>(given: *const c_char) -> Option<&'a CStr> {
    // SAFETY: promised by the caller.
    (!given.is_null()).then(|| unsafe { CStr::from_ptr(given) })
}

#[cfg(feature = "engine")]
mod within {
    use super::*;
    use crate::engine::Engine;

    pub(super) fn run_jobs(
        service: &seconder_service,
        budget: Duration,
    ) -> ffi::Outcome<seconder_jobs_run> {
        let run = |engine: &Engine| engine.run_jobs(budget);
        let run = service.service.with_engine("run_jobs", None, run)?;
        let (sent, waiting, failed) = (run.sent, run.waiting, run.failed);
        Ok(seconder_jobs_run { sent, waiting, failed, more: run.more })
    }
}

/// This build has no engine, so its functions only return an error.
#[cfg(not(feature = "engine"))]
mod within {
    use super::*;

    pub(super) fn run_jobs(_: &seconder_service, _: Duration) -> ffi::Outcome<seconder_jobs_run> {
        Err(ffi::no_engine())
    }
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;

    fn again(reason: String) -> Outcome {
        Outcome::Retry { after: None, reason }
    }

    #[test]
    fn a_number_that_is_no_constant_means_what_the_function_decides() {
        for (returned, failed) in [(-1, "the post function returned -1"), (5, "returned 5")] {
            let outcome = Details::default().outcome(returned, "post", again);
            assert!(matches!(&outcome, Outcome::Retry { reason, .. } if reason.contains(failed)));
            let outcome = Details::default().outcome(returned, "deliver", Outcome::Permanent);
            assert!(matches!(outcome, Outcome::Permanent(_)));
        }
    }

    #[test]
    fn the_details_belong_to_the_constant_that_is_returned() {
        let outcome_of = |returned| {
            let details = Details::default();
            details.set_id(Some(c"SM-1"));
            details.set_retry_after(1500);
            details.set_reason(Some(c"busy"));
            details.outcome(returned, "post", again)
        };
        let (after, busy) = (Some(Duration::from_millis(1500)), "busy".to_owned());
        assert_eq!(outcome_of(SECONDER_OUTCOME_SENT), Outcome::Sent(Some("SM-1".to_owned())));
        assert_eq!(
            outcome_of(SECONDER_OUTCOME_RETRY),
            Outcome::Retry { after, reason: busy.clone() }
        );
        assert_eq!(outcome_of(SECONDER_OUTCOME_PERMANENT), Outcome::Permanent(busy.clone()));
        assert_eq!(
            outcome_of(SECONDER_OUTCOME_NOT_ATTEMPTED),
            Outcome::NotAttempted { after, reason: busy.clone() }
        );
        assert_eq!(outcome_of(SECONDER_OUTCOME_AMBIGUOUS), Outcome::Ambiguous(busy));
    }
}
