//! What can be said without a service: the forms of values, and an authenticator app's codes.

use super::border::{self, null, run};
use super::error::seconder_error;
use super::status::seconder_status;
use crate::Error;
use crate::model::{ApprovalId, PhoneNumber, Token, UserId};
use crate::otp::Totp;
use std::ffi::c_char;
use std::ptr;
use std::str::FromStr;

/// # Safety
/// `text` is NULL or a text, and `error` is NULL or can be written to.
unsafe fn check<T: FromStr<Err = Error>>(
    name: &'static str,
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: promised by the caller.
    unsafe { run(error, || border::value::<T>(name, text).map(drop)) }
}

/// Whether a text has the form of a token: 6 to 12 ASCII digits, nothing trimmed. It says nothing
/// of whether the token is right.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_token(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<Token>("token", text, error) }
}

/// Whether a text has the form of a user's id: a positive 64-bit integer, in decimal digits without
/// sign or leading zero.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_svc_id(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<UserId>("svc_id", text, error) }
}

/// Whether a text has the form of an approval request's uuid: 1 to 64 letters, digits and dashes of
/// ASCII.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_uuid(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<ApprovalId>("uuid", text, error) }
}

/// Whether a text has the form of a phone number without its calling code: 4 to 15 digits, in groups
/// that dashes, periods or spaces may separate.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_phone_number(
    text: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe { check::<PhoneNumber>("phone_number", text, error) }
}

/// The code that an authenticator app shows at a time, in Unix seconds (RFC 6238), for the tests of
/// applications.
///
/// `uri` is the otpauth: URI that the app was enrolled with. The code and a NUL are written to
/// `buffer`, which needs 9 bytes at most; for any other status than SECONDER_OK, a NUL alone.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_totp_code(
    uri: *const c_char,
    unix_seconds: u64,
    buffer: *mut c_char,
    buffer_size: usize,
    error: *mut *mut seconder_error,
) -> seconder_status {
    let work = || {
        if buffer.is_null() {
            return Err(null("buffer"));
        }
        if buffer_size > 0 {
            // SAFETY: as the header asks; there is room for one byte.
            unsafe { buffer.write(0) };
        }
        // SAFETY: as the header asks.
        let uri = unsafe { border::text("uri", uri) }?;
        let code = Totp::from_uri(uri)?.code(unix_seconds);
        let code = code.expose().as_bytes();
        if code.len() >= buffer_size {
            return Err(Error::invalid("buffer_size", "is too small for the code").into());
        }
        // SAFETY: as the header asks; there is room for the code and one byte more.
        unsafe {
            ptr::copy_nonoverlapping(code.as_ptr().cast(), buffer, code.len());
            buffer.add(code.len()).write(0);
        }
        Ok(())
    };
    // SAFETY: as the header asks.
    unsafe { run(error, work) }
}
