//! Written by tools/generate from src/capi/jobs.rs.

use crate::capi::ffi::{free, read_handle};
use crate::capi::jobs::seconder_jobs_run;

/// The number of messages and callbacks that were sent.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_sent(jobs_run: Option<&seconder_jobs_run>) -> u32 {
    read_handle(jobs_run, |reply| reply.sent)
}

/// The number of messages and callbacks that have to wait for another attempt.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_waiting(jobs_run: Option<&seconder_jobs_run>) -> u32 {
    read_handle(jobs_run, |reply| reply.waiting)
}

/// The number of messages and callbacks that failed for good.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_failed(jobs_run: Option<&seconder_jobs_run>) -> u32 {
    read_handle(jobs_run, |reply| reply.failed)
}

/// Returns whether the budget was used up, or the handle was cancelled, so that there may be more
/// to send at once.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_more(jobs_run: Option<&seconder_jobs_run>) -> bool {
    read_handle(jobs_run, |reply| reply.more)
}

/// Frees the reply of seconder_run_jobs(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_jobs_run_free(jobs_run: Option<Box<seconder_jobs_run>>) {
    free(jobs_run);
}
