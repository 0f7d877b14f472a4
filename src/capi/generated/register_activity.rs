//! Written by tools/generate from src/calls/register_activity.rs.

use super::done::seconder_done;
use crate::calls::{ActivityType, Handle, RegisterActivity};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_register_activity().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_register_activity_options {
    /// Additional data about the activity: a JSON object as text, at most 16 KiB. A remote service
    /// receives it as `nested_as_json` of seconder_open_options describes.
    pub data: *const c_char,
    /// The user's IP address during the activity. IPv4 or IPv6 text.
    pub user_ip: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_register_activity_options {}

/// Reports a user's activity to the service, for fraud detection (interface 4.6).
///
/// `user_id` is the user whom the activity is about. `type` is the kind of activity:
/// "password_reset", "banned", "unbanned" or "cookie_login".
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_register_activity(
    service: Option<&seconder_service>,
    user_id: u64,
    r#type: *const c_char,
    options: *const seconder_register_activity_options,
    options_size: usize,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = RegisterActivity {
                user_id: named("user_id", UserId::try_from(user_id))?,
                activity: ffi::one_of(
                    "type",
                    r#type,
                    &[
                        ActivityType::PasswordReset,
                        ActivityType::Banned,
                        ActivityType::Unbanned,
                        ActivityType::CookieLogin,
                    ],
                    ActivityType::name,
                )?,
                data: ffi::object("data", options.data)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
