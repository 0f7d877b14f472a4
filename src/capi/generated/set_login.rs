//! Written by tools/generate from src/calls/set_login.rs.

use super::done::seconder_done;
use crate::calls::{Handle, SetLogin};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Gives a user a login name (interface 4.18). A user has one at most.
///
/// `user_id` is the user who gets the name. `login` is the login name: 1 to 64 letters, digits and
/// the characters _ . @ + - of ASCII, beginning with a letter, a digit or _; a $ may be at the end.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user, if another user has the name, or if the user has another one: remove that first.
/// Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_set_login(
    service: Option<&seconder_service>,
    user_id: u64,
    login: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = SetLogin {
                user_id: named("user_id", UserId::try_from(user_id))?,
                login: ffi::value("login", login)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
