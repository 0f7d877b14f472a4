//! Messages and callbacks that are to be sent again, and what the functions of the program say of an
//! attempt to send one.

use super::error::seconder_error;
use super::ffi::{engine_only, with_optional_out};
use super::open::seconder_service;
use super::status::seconder_status;
#[cfg(feature = "engine")]
use crate::engine::Engine;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The result of seconder_run_jobs().
#[cfg_attr(false, c(freed = "the reply of seconder_run_jobs()"))]
pub struct seconder_jobs_run {
    /// The number of messages and callbacks that were sent.
    pub(super) sent: u32,
    /// The number of messages and callbacks that have to wait for another attempt.
    pub(super) waiting: u32,
    /// The number of messages and callbacks that failed for good.
    pub(super) failed: u32,
    /// True if the budget was used up, or the handle was cancelled, so that there may be more to send at
    /// once.
    pub(super) more: bool,
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
/// 8 and so on, at most 60 seconds, or later if seconder_message_set_retry_after_ms() asks for it. A
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
            engine_only!(service, |handle| {
                let budget = Duration::from_millis(budget_ms.into());
                let run = |engine: &Engine| engine.run_jobs(budget);
                let run = handle.service.with_engine("run_jobs", None, run)?;
                let (sent, waiting, failed) = (run.sent, run.waiting, run.failed);
                Ok(seconder_jobs_run { sent, waiting, failed, more: run.more })
            })
        })
    }
}

/// Details of an attempt that a function of the program reports, besides the number that it returns.
#[derive(Default)]
pub(super) struct Details(Mutex<Said>);

#[derive(Default)]
pub(super) struct Said {
    pub(super) id: Option<String>,
    pub(super) after: Option<Duration>,
    pub(super) reason: Option<String>,
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

    pub(super) fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
