//! Checks of the form of values, which need no service.

use super::ffi;
use crate::Error;
use crate::model::{ApprovalId, PhoneNumber, Token, UserId};
use std::ffi::{CStr, c_char};
use std::str::FromStr;

/// # Safety
/// `text` is NULL or NUL-terminated.
unsafe fn is_well_formed<T: FromStr<Err = Error>>(text: *const c_char) -> bool {
    ffi::holds(|| {
        // SAFETY: promised by the caller.
        let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        text.and_then(|text| text.to_str().ok()).is_some_and(|text| text.parse::<T>().is_ok())
    })
}

/// Says whether a text has the form of a token: 6 to 12 ASCII digits, without trimming. It says nothing
/// about whether the token is right: seconder_verify() does. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_is_well_formed_token(text: *const c_char) -> bool {
    // SAFETY: as the header requires.
    unsafe { is_well_formed::<Token>(text) }
}

/// Says whether a text has the form of a user's id: 1 to 9223372036854775807, in decimal digits without
/// sign or leading zero. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_is_well_formed_user_id(text: *const c_char) -> bool {
    // SAFETY: as the header requires.
    unsafe { is_well_formed::<UserId>(text) }
}

/// Says whether a text has the form of an approval request's uuid: 1 to 64 ASCII letters, digits and
/// dashes. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_is_well_formed_uuid(text: *const c_char) -> bool {
    // SAFETY: as the header requires.
    unsafe { is_well_formed::<ApprovalId>(text) }
}

/// Says whether a text has the form of a phone number without its calling code: 4 to 15 digits, in groups
/// that dashes, periods or spaces may separate. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_is_well_formed_phone_number(text: *const c_char) -> bool {
    // SAFETY: as the header requires.
    unsafe { is_well_formed::<PhoneNumber>(text) }
}
