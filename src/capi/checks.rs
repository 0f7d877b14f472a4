//! Checks of the form of values, which need no service.

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

/// Checks whether a text has the form of a token: 6 to 12 ASCII digits, without trimming. It does
/// not check whether the token is correct. Returns SECONDER_TOKEN_MALFORMED, and an error that gives
/// the reason, if the text does not have this form, and SECONDER_INVALID_ARGUMENT if it is NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_token(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { run(error, || ffi::typed::<Token>("token", text).map(drop)) }
}

/// Checks whether a text has the form of a user's id: 1 to 9223372036854775807, in decimal digits
/// without sign or leading zero. Returns SECONDER_INVALID_ARGUMENT, and an error that gives the
/// reason, if the text does not have this form or is NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_user_id(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { check::<UserId>("user_id", text, error) }
}

/// Checks whether a text has the form of an approval request's uuid: 1 to 64 ASCII letters, digits
/// and dashes. Returns SECONDER_INVALID_ARGUMENT, and an error that gives the reason, if the text
/// does not have this form or is NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_uuid(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { check::<ApprovalId>("uuid", text, error) }
}

/// Checks whether a text has the form of a phone number without its calling code: 4 to 15 digits,
/// in groups that dashes, periods or spaces may separate. Returns SECONDER_INVALID_ARGUMENT, and an
/// error that gives the reason, if the text does not have this form or is NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_phone_number(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { check::<PhoneNumber>("phone_number", text, error) }
}
