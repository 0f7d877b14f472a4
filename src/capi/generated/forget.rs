//! Written by tools/generate from src/calls/forget.rs.

use super::done::seconder_done;
use crate::calls::{Forget, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Forgets one remembered browser of a user, or all of them (interface 4.29). Their tokens are void
/// from then on. Without a token, it forgets all of them: for a user who changes the password,
/// loses a phone or asks to be logged out everywhere.
///
/// `user_id` is the user whose browser it is. `token` is the token of the browser to forget;
/// without one, all browsers of the user are forgotten. A token that is not recognised is no error,
/// since there is nothing to forget. It may be NULL.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if no token is
/// given and there is no such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_forget(
    service: Option<&seconder_service>,
    user_id: u64,
    token: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = Forget {
                user_id: named("user_id", UserId::try_from(user_id))?,
                token: ffi::typed_if("token", token)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
