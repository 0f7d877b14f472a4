//! Written by tools/generate from src/calls/delete_user.rs.

use super::done::seconder_done;
use crate::calls::{DeleteUser, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_delete_user(), seconder_app_details(), seconder_user_status(),
/// seconder_app_stats(), seconder_phone_info() and seconder_set_number().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_call_options {
    /// The IP address from which the request originates. IPv4 or IPv6 text.
    pub user_ip: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_call_options {}

/// Removes a user and all data about the user from the application (interface 4.5).
///
/// `user_id` is the user to remove.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_delete_user(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_call_options,
    options_size: usize,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = DeleteUser {
                user_id: named("user_id", UserId::try_from(user_id))?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
