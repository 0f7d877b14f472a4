//! Written by tools/generate from src/calls/recognise.rs.

use crate::calls::{BrowserCheck, Handle, Recognise};
use crate::capi::decisions;
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, named, pointer, read_handle, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// The reply for a browser that is recognised. Any other outcome returns none.
pub struct seconder_browser_check {
    user_id: u64,
    message: Option<Text>,
}

impl From<BrowserCheck> for seconder_browser_check {
    fn from(reply: BrowserCheck) -> seconder_browser_check {
        seconder_browser_check {
            user_id: reply.user_id.map_or(0, |id| id.get()),
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Checks the token of a remembered browser (interface 4.28).
///
/// Only SECONDER_OK means that the browser is recognised: this application remembered it for this
/// user, and the token has neither expired nor been revoked. If not, the status is
/// SECONDER_NOT_RECOGNISED: request the second factor.
///
/// It counts as no code, confirms no user, and does not extend the life of the token.
///
/// `user_id` is the user who logs in. `token` is the token of the browser's cookie, which may be
/// any text.
///
/// `out` may be NULL; otherwise free it with seconder_browser_check_free().
/// SECONDER_INVALID_RESPONSE if the service's reply does not say clearly whether the browser is
/// recognised; SECONDER_REJECTED if the service has no such call. Other statuses are as described
/// at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_recognise(
    service: Option<&seconder_service>,
    user_id: u64,
    token: *const c_char,
    out: *mut *mut seconder_browser_check,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = Recognise {
                user_id: named("user_id", UserId::try_from(user_id))?,
                token: ffi::typed("token", token)?,
            };
            Ok(decisions::browser_check("token", service.service.handle(&call)?)?.into())
        })
    }
}

/// The user whose browser it is, who is the user of the call.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_browser_check_user_id(
    browser_check: Option<&seconder_browser_check>,
) -> u64 {
    read_handle(browser_check, |reply| reply.user_id)
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_browser_check_message(
    browser_check: Option<&seconder_browser_check>,
) -> *const c_char {
    read_handle(browser_check, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_recognise(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_browser_check_free(browser_check: Option<Box<seconder_browser_check>>) {
    free(browser_check);
}
