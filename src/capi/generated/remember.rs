//! Written by tools/generate from src/calls/remember.rs.

use crate::calls::{Handle, Remember, Remembered};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, named, number_if, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_remember().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_remember_options {
    /// The number of days, 1 to 400. Default: 30.
    pub days: u64,
}

// SAFETY: numbers alone.
unsafe impl Plain for seconder_remember_options {}

/// A browser that is remembered.
pub struct seconder_remembered {
    token: Text,
    expires_at: u64,
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

/// Remembers the browser of a user who has just proven the second factor, and returns a token for a
/// cookie of it (interface 4.27). seconder_recognise() accepts the token in place of the second
/// factor until it expires or seconder_forget() revokes it.
///
/// The service does not check that there was a proof: the application calls this only after one,
/// and only for users who ask for it. The cookie should be "Secure", "HttpOnly" and "SameSite=Lax".
/// A user has at most 20 remembered browsers: for a further one, the oldest is forgotten.
///
/// `user_id` is the user whose browser it is.
///
/// Free `out` with seconder_remembered_free(), which wipes it. SECONDER_REJECTED if there is no
/// such user. Other statuses are as described at the top of the header.
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

/// The token for the browser's cookie: at most 200 letters, digits, dashes, dots and underscores of
/// ASCII. It is returned only here. Anyone who has it needs no second factor. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_token(
    remembered: Option<&seconder_remembered>,
) -> *const c_char {
    read_handle(remembered, |reply| reply.token.as_ptr())
}

/// When the token expires, in Unix seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_expires_at(remembered: Option<&seconder_remembered>) -> u64 {
    read_handle(remembered, |reply| reply.expires_at)
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_message(
    remembered: Option<&seconder_remembered>,
) -> *const c_char {
    read_handle(remembered, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_remember(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_remembered_free(remembered: Option<Box<seconder_remembered>>) {
    free(remembered);
}
