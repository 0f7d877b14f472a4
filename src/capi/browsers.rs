//! Remembered browsers: cookies that take the place of the second factor for some days.

use super::error::seconder_error;
use super::ffi::{
    self, Outcome, Plain, Text, free, named, number_if, pointer, read_handle, with_optional_out,
    with_out,
};
use super::open::seconder_service;
use super::status::{SECONDER_NOT_RECOGNISED, seconder_status};
use super::users::seconder_done;
use crate::calls::{BrowserCheck, Forget, Handle, Recognise, Recognition, Remember, Remembered};
use crate::model::{BrowserToken, UserId};
use std::ffi::c_char;

/// Options of seconder_remember().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_remember_options {
    /// For how many days, 1 to 400. Default: 30.
    pub days: u64,
}

// SAFETY: a number alone.
unsafe impl Plain for seconder_remember_options {}

/// A browser that is remembered. Whoever has its token needs no second factor.
pub struct seconder_remembered {
    token: Text,
    expires_at: u64,
    message: Option<Text>,
}

/// The reply for a browser that is recognised. Any other outcome returns none.
pub struct seconder_browser_check {
    user_id: u64,
    message: Option<Text>,
}

impl From<Remembered> for seconder_remembered {
    fn from(reply: Remembered) -> seconder_remembered {
        seconder_remembered {
            token: Text::new(reply.token.as_str()),
            expires_at: reply.expires_at,
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// The one place where a recognition becomes a status.
fn decide(reply: BrowserCheck) -> Outcome<seconder_browser_check> {
    match (reply.recognition, reply.user_id) {
        (Recognition::Recognised, Some(user_id)) => Ok(seconder_browser_check {
            user_id: user_id.get(),
            message: Text::of(reply.message.as_deref()),
        }),
        _ => Err(seconder_error::of_token(
            "token",
            SECONDER_NOT_RECOGNISED,
            "is not recognised",
            None,
        )),
    }
}

/// Remembers the browser of a user who has just proven the second factor, and returns a token for
/// its cookie (interface 4.27). The service does not check that there was a proof: call this only
/// after one, and only for users who ask for it.
///
/// Free `out` with seconder_remembered_free(), which wipes the token. SECONDER_REJECTED if there is
/// no such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remember(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_remember_options,
    options_size: usize,
    out: *mut *mut seconder_remembered,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = Remember {
                user_id: named("user_id", UserId::try_from(user_id))?,
                days: number_if(options.days),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Checks the token of a remembered browser (interface 4.28).
///
/// Only SECONDER_OK means that the browser is recognised: this application remembered it for this
/// user, and the token has neither expired nor been revoked. SECONDER_NOT_RECOGNISED if not: ask the
/// user for the second factor. `token` is what the browser's cookie holds, which may be any text.
/// `out` may be NULL; otherwise free it with seconder_browser_check_free(). Other statuses are as
/// described at the top of the header.
///
/// It counts as no code, confirms no user, and does not extend the life of the token.
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
            decide(service.service.handle(&call)?)
        })
    }
}

/// Forgets a remembered browser of a user, or all of them (interface 4.29).
///
/// `token` is what the browser's cookie holds; NULL to forget all browsers of the user. A token that
/// is not recognised is no error. `out` may be NULL; otherwise free it with seconder_done_free().
/// SECONDER_REJECTED if there is no such user and no token was given. Other statuses are as described
/// at the top of the header.
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
            let user_id = named("user_id", UserId::try_from(user_id))?;
            let token: Option<BrowserToken> = match token.is_null() {
                true => None,
                false => Some(ffi::typed("token", token)?),
            };
            Ok(service.service.handle(&Forget { user_id, token })?.into())
        })
    }
}

/// The token for the browser's cookie: at most 200 letters, digits, dashes, dots and underscores of
/// ASCII. It is returned only here. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_token(
    remembered: Option<&seconder_remembered>,
) -> *const c_char {
    read_handle(remembered, |remembered| remembered.token.as_ptr())
}

/// When the token expires, in Unix seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_expires_at(remembered: Option<&seconder_remembered>) -> u64 {
    read_handle(remembered, |remembered| remembered.expires_at)
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_message(
    remembered: Option<&seconder_remembered>,
) -> *const c_char {
    read_handle(remembered, |remembered| pointer(&remembered.message))
}

/// Frees the reply of seconder_remember(), and wipes the token. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_free(remembered: Option<Box<seconder_remembered>>) {
    free(remembered);
}

/// The user whose browser it is, which is that of the call.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_browser_check_user_id(check: Option<&seconder_browser_check>) -> u64 {
    read_handle(check, |check| check.user_id)
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_browser_check_message(
    check: Option<&seconder_browser_check>,
) -> *const c_char {
    read_handle(check, |check| pointer(&check.message))
}

/// Frees the reply of seconder_recognise(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_browser_check_free(check: Option<Box<seconder_browser_check>>) {
    free(check);
}
