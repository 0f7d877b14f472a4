//! Waiting for the answer to an approval request, in the caller's thread.

use super::error::seconder_error;
use super::ffi::{self, Flag, Outcome, Plain, named, with_out};
use super::generated::check_approval::seconder_approval;
use super::open::seconder_service;
use super::status::{SECONDER_STOPPED, seconder_status};
use crate::model::UserId;
use crate::{ApprovalWait, Error, Result, Sleep, Sleeper};
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// The time between calls of the stop function: short enough to end a wait without a noticeable delay.
const SLICE: Duration = Duration::from_millis(100);

/// Decides whether a wait continues. It returns 0 to continue, and any other number to end the
/// wait.
///
/// It is called about every 100 ms, on the waiting thread, but not while a request to a remote
/// service is in progress. It must return normally: it must not be left by longjmp() or a C++
/// exception.
pub type seconder_stop = Option<unsafe extern "C" fn(stop_userdata: *mut c_void) -> i32>;

/// Options of seconder_wait_for_approval().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_wait_for_approval_options {
    /// A function that can end the wait, for example by reading a flag that a signal handler sets.
    /// Default: only the deadline ends it.
    pub stop: seconder_stop,
    /// Passed to the stop function. It is used until seconder_wait_for_approval() returns.
    pub stop_userdata: *mut c_void,
    /// Also accepts a request whose user the service does not name: for a service that provides only
    /// the status. Check the answer with seconder_approval_approved_unbound(), which says why this
    /// is weaker and what the program has to do instead. A request of another user is still
    /// rejected.
    pub unbound: Flag,
}

// SAFETY: a flag, a pointer, and a function that may be NULL.
unsafe impl Plain for seconder_wait_for_approval_options {}

/// Waits until a user has answered an approval request, until it has expired, or until
/// `deadline_ms` milliseconds have passed (0 checks once), in which case the status is still
/// SECONDER_APPROVAL_PENDING. A login should use a request that expires with it
/// (`seconds_to_expire`): one that is still pending at the end can be approved later.
///
/// It sleeps in the caller's thread. It polls at once, again after half a second, and then at
/// growing intervals of up to 5 seconds. It continues to poll if the service is busy or
/// unreachable.
///
/// SECONDER_OK means that the request is this user's, not that the user approved: check that with
/// seconder_approval_approved_by() on the approval at `out`, and free it with
/// seconder_approval_free(). SECONDER_INVALID_ARGUMENT if the request belongs to another user,
/// whose approval must not let this user in; SECONDER_INVALID_RESPONSE if the service does not say
/// whose request it is, unless `unbound` is set; SECONDER_STOPPED if the stop function ended
/// this wait; SECONDER_CANCELLED if seconder_service_cancel() ended the calls of `service`;
/// otherwise the status with which the last poll failed.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_wait_for_approval(
    service: Option<&seconder_service>,
    uuid: *const c_char,
    user_id: u64,
    deadline_ms: u32,
    options: *const seconder_wait_for_approval_options,
    options_size: usize,
    out: *mut *mut seconder_approval,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = &ffi::need("service", service)?.service;
            let options = ffi::options(options, options_size)?;
            let uuid = ffi::value("uuid", uuid)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            let deadline = Duration::from_millis(deadline_ms.into());
            let mut pace = Stoppable { sleep: Sleep::begin(), options, stopped: false };
            let wait = match options.unbound.is_set() {
                true => ApprovalWait::new(uuid, user_id, deadline).unbound(),
                false => ApprovalWait::new(uuid, user_id, deadline),
            };
            let result = service.wait_for_approval_with(wait, &mut pace);
            outcome(result, pace.stopped)
        })
    }
}

fn outcome(result: Result<crate::calls::Approval>, stopped: bool) -> Outcome<seconder_approval> {
    match stopped {
        true => {
            Err(seconder_error::with_message(SECONDER_STOPPED, "the stop function ended the wait"))
        }
        false => Ok(result?.into()),
    }
}

/// Sleeps in slices, and calls the stop function before each.
struct Stoppable {
    sleep: Sleep,
    options: seconder_wait_for_approval_options,
    stopped: bool,
}

impl Sleeper for Stoppable {
    fn elapsed(&mut self) -> Duration {
        self.sleep.elapsed()
    }

    fn pause(&mut self, time: Duration) -> Result<()> {
        let Some(stop) = self.options.stop else { return self.sleep.pause(time) };
        let mut left = time;
        loop {
            // SAFETY: the header requires that the function can be called with its userdata until
            // the wait returns.
            if unsafe { stop(self.options.stop_userdata) } != 0 {
                self.stopped = true;
                return Err(Error::Internal { message: "the stop function ended the wait".into() });
            }
            if left.is_zero() {
                return Ok(());
            }
            let slice = left.min(SLICE);
            self.sleep.pause(slice)?;
            left -= slice;
        }
    }
}
