//! Written by tools/generate from src/calls/request_call.rs.

use super::request_sms::seconder_code_requested;
use crate::calls::{Handle, RequestCall};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::{seconder_status, yes_or_no};
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_request_call().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_request_call_options {
    /// Makes the code valid only for this action, which must also be passed to seconder_verify(). 1
    /// to 128 bytes without control characters.
    pub action: *const c_char,
    /// The description of the action in the voice call. 1 to 1024 bytes.
    pub action_message: *const c_char,
    /// The language of the voice call, such as "de". A service that lacks it uses its own. Default:
    /// as configured with the service.
    pub locale: *const c_char,
    /// Calls the user even if the user has an app. SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO.
    /// Default: as configured with the service, no at first.
    pub force: i32,
    /// The IP address from which the request originates, which a service may limit. IPv4 or IPv6
    /// text.
    pub user_ip: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_request_call_options {}

/// Sends a code by voice call (interface 4.3).
///
/// `user_id` is the user to call.
///
/// `out` may be NULL; otherwise free it with seconder_code_requested_free(). SECONDER_RATE_LIMITED
/// if the user was called for this action a moment ago, or sent too many codes; an SMS a moment ago
/// does not matter, and the call says the same code. SECONDER_REJECTED if there is no such user, or
/// if codes cannot be sent by voice call. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_request_call(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_request_call_options,
    options_size: usize,
    out: *mut *mut seconder_code_requested,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = RequestCall {
                user_id: named("user_id", UserId::try_from(user_id))?,
                action: ffi::value_if("action", options.action)?,
                action_message: ffi::value_if("action_message", options.action_message)?,
                locale: ffi::text_if("locale", options.locale)?.map(str::to_owned),
                force: yes_or_no("force", options.force)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
