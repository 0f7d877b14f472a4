//! Written by tools/generate from src/calls/create_recovery_codes.rs.

use crate::calls::{CreateRecoveryCodes, Handle, RecoveryCodes};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, named, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;
use std::ptr;

/// The recovery codes of a user. Anyone who has one can log in with it once.
pub struct seconder_recovery_codes {
    codes: Vec<Text>,
    message: Option<Text>,
}

impl From<RecoveryCodes> for seconder_recovery_codes {
    fn from(reply: RecoveryCodes) -> seconder_recovery_codes {
        seconder_recovery_codes {
            codes: reply.codes.iter().map(|text| Text::new(text.as_str())).collect(),
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Creates a set of recovery codes for a user, in place of any that the user has (interface 4.20).
/// Show them to the user, who keeps them on paper: each is right once, as the token of
/// seconder_verify(), and they are returned only here.
///
/// `user_id` is the user who gets the codes.
///
/// Free `out` with seconder_recovery_codes_free(), which wipes it. SECONDER_REJECTED if there is no
/// such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_create_recovery_codes(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_recovery_codes,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call =
                CreateRecoveryCodes { user_id: named("user_id", UserId::try_from(user_id))? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The number of values that seconder_recovery_codes_code() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_code_count(
    recovery_codes: Option<&seconder_recovery_codes>,
) -> usize {
    read_handle(recovery_codes, |reply| reply.codes.len())
}

/// The codes, of 12 digits each. Returns the one at `index`, owned by the handle; NULL if `index`
/// is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_code(
    recovery_codes: Option<&seconder_recovery_codes>,
    index: usize,
) -> *const c_char {
    read_handle(recovery_codes, |reply| reply.codes.get(index).map_or(ptr::null(), Text::as_ptr))
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_message(
    recovery_codes: Option<&seconder_recovery_codes>,
) -> *const c_char {
    read_handle(recovery_codes, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_create_recovery_codes(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_free(
    recovery_codes: Option<Box<seconder_recovery_codes>>,
) {
    free(recovery_codes);
}
