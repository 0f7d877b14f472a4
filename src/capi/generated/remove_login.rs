//! Written by tools/generate from src/calls/remove_login.rs.

use super::done::seconder_done;
use crate::calls::{Handle, RemoveLogin};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;

/// Takes a login name from the user who has it (interface 4.19).
///
/// `login` is the login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
/// beginning with a letter, a digit or _; a $ may be at the end.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if no user has
/// the name. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remove_login(
    service: Option<&seconder_service>,
    login: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = RemoveLogin { login: ffi::value("login", login)? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
