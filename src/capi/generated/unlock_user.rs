//! Written by tools/generate from src/calls/unlock_user.rs.

use super::done::seconder_done;
use crate::calls::{Handle, UnlockUser};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;

/// Lets a user try codes again after too many wrong ones (interface 4.30). The counts of wrong
/// codes of all factors start again at 0, so it ends waits too. Codes that were sent have the tries
/// that they had.
///
/// `user_id` is the user who may try again.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_unlock_user(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = UnlockUser { user_id: named("user_id", UserId::try_from(user_id))? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
