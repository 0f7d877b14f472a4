//! Written by tools/generate from src/calls/request_code.rs.

use crate::calls::{CodeRequested, Handle, RequestCall, RequestSms};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, named, pointer, read_handle, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::{seconder_status, yes_or_no};
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_request_sms() and seconder_request_call().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_request_code_options {
    /// Makes the code valid only for this action, which must also be passed to seconder_verify(). 1
    /// to 128 bytes without control characters.
    pub action: *const c_char,
    /// The description of the action in the message. 1 to 1024 bytes.
    pub action_message: *const c_char,
    /// The language of the message, such as "de". A service that lacks it uses its own. Default: as
    /// configured with the service.
    pub locale: *const c_char,
    /// Sends the code even if the user has an app. SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO.
    /// Default: as configured with the service, no at first.
    pub force: i32,
    /// The IP address from which the request originates, which a service may limit. IPv4 or IPv6
    /// text.
    pub user_ip: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_request_code_options {}

/// A code that was sent, or was not needed.
pub struct seconder_code_requested {
    message: Option<Text>,
    cellphone: Option<Text>,
    ignored: bool,
    device: Option<Text>,
    resend_after: Option<u64>,
}

impl From<CodeRequested> for seconder_code_requested {
    fn from(reply: CodeRequested) -> seconder_code_requested {
        seconder_code_requested {
            message: Text::of(reply.message.as_deref()),
            cellphone: Text::of(reply.cellphone.as_deref()),
            ignored: reply.ignored,
            device: Text::of(reply.device.as_deref()),
            resend_after: reply.resend_after,
        }
    }
}

/// Sends a code by SMS (interface 4.2).
///
/// `user_id` is the user to whom the code is sent.
///
/// `out` may be NULL; otherwise free it with seconder_code_requested_free(). SECONDER_RATE_LIMITED
/// if the user was sent an SMS for this action a moment ago, or too many codes; SECONDER_REJECTED
/// if there is no such user, or if codes cannot be sent by SMS. Other statuses are as described at
/// the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_request_sms(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_request_code_options,
    options_size: usize,
    out: *mut *mut seconder_code_requested,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = RequestSms {
                user_id: named("user_id", UserId::try_from(user_id))?,
                action: ffi::value_if("action", options.action)?,
                action_message: ffi::value_if("action_message", options.action_message)?,
                locale: ffi::text_if("locale", options.locale)?.map(str::to_owned),
                force: yes_or_no("force", options.force)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
                by: Default::default(),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Sends a code by voice call (interface 4.3).
///
/// `user_id` is the user to whom the code is sent.
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
    options: *const seconder_request_code_options,
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
                by: Default::default(),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_message(
    code_requested: Option<&seconder_code_requested>,
) -> *const c_char {
    read_handle(code_requested, |reply| pointer(&reply.message))
}

/// The number used, masked: "+1-XXX-XXX-XX23". NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_cellphone(
    code_requested: Option<&seconder_code_requested>,
) -> *const c_char {
    read_handle(code_requested, |reply| pointer(&reply.cellphone))
}

/// Returns whether nothing was sent because the user has an app and the code was not forced.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_ignored(
    code_requested: Option<&seconder_code_requested>,
) -> bool {
    read_handle(code_requested, |reply| reply.ignored)
}

/// The user's latest device, if the request was ignored. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_device(
    code_requested: Option<&seconder_code_requested>,
) -> *const c_char {
    read_handle(code_requested, |reply| pointer(&reply.device))
}

/// After how many seconds another request for the same action by the same channel is accepted, even
/// if the code is not used. 0 also if nothing was sent, or if the service does not say: only a
/// service of Seconder does. seconder_code_requested_resend_after_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_resend_after(
    code_requested: Option<&seconder_code_requested>,
) -> u64 {
    read_handle(code_requested, |reply| reply.resend_after.unwrap_or_default())
}

/// Returns whether the service provides the value of seconder_code_requested_resend_after().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_resend_after_known(
    code_requested: Option<&seconder_code_requested>,
) -> bool {
    read_handle(code_requested, |reply| reply.resend_after.is_some())
}

/// Frees the reply of seconder_request_sms() or seconder_request_call(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_free(
    code_requested: Option<Box<seconder_code_requested>>,
) {
    free(code_requested);
}
