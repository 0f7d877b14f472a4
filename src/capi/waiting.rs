//! Waiting for the answer to an approval request, in the caller's thread.

use super::approvals::seconder_approval;
use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, named, with_out};
use super::open::seconder_service;
use super::status::{SECONDER_STOPPED, seconder_status};
use crate::model::UserId;
use crate::service::Sleep;
use crate::{Error, Result, Sleeper};
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// How often a program is asked whether the wait goes on.
const SLICE: Duration = Duration::from_millis(100);

/// Says whether a wait goes on. 0 lets it go on; any other number ends it.
///
/// It is asked about every 100 ms, on the thread that waits, but not while a question is on its way
/// to a remote service. It must return: no longjmp() and no C++ exception may leave it.
pub type seconder_stop = Option<unsafe extern "C" fn(stop_userdata: *mut c_void) -> i32>;

/// Options of seconder_wait_for_approval().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_wait_for_approval_options {
    /// What can end the wait, such as a look at a flag that a signal handler sets. Default: nothing
    /// but the deadline.
    pub stop: seconder_stop,
    /// What the stop function is given. It is used until seconder_wait_for_approval() returns.
    pub stop_userdata: *mut c_void,
}

// SAFETY: pointers, and a function that may be NULL.
unsafe impl Plain for seconder_wait_for_approval_options {}

/// Waits until a user has answered an approval request, until it has expired, or for so long as
/// `deadline_ms` says, in milliseconds (0 asks once); then the status is still
/// SECONDER_APPROVAL_PENDING. A login uses a request that expires with it (`seconds_to_expire`): one
/// that is pending at the end can still be approved later.
///
/// It sleeps in the caller's thread, and asks at first after half a second and then ever more
/// seldom, down to every 5 seconds. A service that is busy or out of reach is asked again too.
///
/// SECONDER_OK says that the request is this user's, and nothing of the answer: ask
/// seconder_approval_approved_by() of the approval at `out`, and free it with
/// seconder_approval_free(). SECONDER_INVALID_ARGUMENT when it is the request of another user: one's own
/// approval must not open somebody else's door; SECONDER_INVALID_RESPONSE when the service does not tell
/// whose it is; SECONDER_STOPPED when the stop function ended the wait; else what kept the last
/// question from an answer.
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
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = &ffi::need("service", service)?.service;
            let options = ffi::options(options, options_size)?;
            let uuid = ffi::value("uuid", uuid)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            let deadline = Duration::from_millis(deadline_ms.into());
            let mut pace = Stoppable { sleep: Sleep::begin(), options, stopped: false };
            let found = service.wait_for_approval_with(&uuid, user_id, deadline, &mut pace);
            answered(found, pace.stopped)
        })
    }
}

fn answered(found: Result<crate::calls::Approval>, stopped: bool) -> Outcome<seconder_approval> {
    match stopped {
        true => Err(seconder_error::saying(SECONDER_STOPPED, "the program ended the wait")),
        false => Ok(found?.into()),
    }
}

/// Sleeps, and asks the program between whether it shall.
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
            // SAFETY: the header asks that the function can be called with its data until the wait
            // returns.
            if unsafe { stop(self.options.stop_userdata) } != 0 {
                self.stopped = true;
                return Err(Error::Internal { message: "the program ended the wait".into() });
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
