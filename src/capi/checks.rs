//! The forms of values, which can be told without a service.

use super::error::seconder_error;
use super::ffi::{self, run};
use super::status::seconder_status;
use crate::Error;
use crate::model::{ApprovalId, PhoneNumber, Token, UserId};
use std::ffi::c_char;
use std::str::FromStr;

/// # Safety
/// `text` is NULL or a text, and `error` is NULL or can be written to.
unsafe fn check<T: FromStr<Err = Error>>(
    name: &'static str,
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: promised by the caller.
    unsafe { run(error, || ffi::value::<T>(name, text).map(drop)) }
}

/// Whether a text has the form of a token: 6 to 12 ASCII digits, nothing trimmed. It says nothing
/// of whether the token is right. SECONDER_INVALID_ARGUMENT, and an error that says what is wrong, when it
/// has not; for NULL too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_token(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<Token>("token", text, error) }
}

/// Whether a text has the form of a user's id: 1 to 9223372036854775807, in decimal digits without
/// sign or leading zero. SECONDER_INVALID_ARGUMENT, and an error that says what is wrong, when it has not;
/// for NULL too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_user_id(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<UserId>("user_id", text, error) }
}

/// Whether a text has the form of an approval request's uuid: 1 to 64 letters, digits and dashes of
/// ASCII. SECONDER_INVALID_ARGUMENT, and an error that says what is wrong, when it has not; for NULL too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_uuid(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<ApprovalId>("uuid", text, error) }
}

/// Whether a text has the form of a phone number without its calling code: 4 to 15 digits, in
/// groups that dashes, periods or spaces may separate. SECONDER_INVALID_ARGUMENT, and an error that says
/// what is wrong, when it has not; for NULL too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_phone_number(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<PhoneNumber>("phone_number", text, error) }
}
