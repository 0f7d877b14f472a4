//! Written by tools/generate from src/calls/remove_authenticator.rs.

use super::done::seconder_done;
use crate::calls::{Handle, RemoveAuthenticator};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Removes an authenticator app of a user, confirmed or pending (interface 4.24). Its codes are
/// wrong from then on, except on machines that have prepared logins without the service (interface
/// 4.21). A user who has no app and no device left is sent codes by SMS again. Removing a confirmed
/// app also forgets the remembered browsers of the user.
///
/// `user_id` is the user who has the app. `authenticator_id` is the app, by its id in
/// seconder_factors: 1 to 64 letters, digits and dashes of ASCII.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED with the
/// service code "authenticator_not_found" if the user has no such app. Other statuses are as
/// described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remove_authenticator(
    service: Option<&seconder_service>,
    user_id: u64,
    authenticator_id: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = RemoveAuthenticator {
                user_id: named("user_id", UserId::try_from(user_id))?,
                authenticator_id: ffi::value("authenticator_id", authenticator_id)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
