//! Written by tools/generate from src/calls/check_phone_verification.rs.

use super::done::seconder_done;
use crate::calls::{CheckPhoneVerification, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;

/// Checks the code that was sent to a number by seconder_start_phone_verification(). Only
/// SECONDER_OK means that the code is right.
///
/// `phone_number` is the number without its calling code: 4 to 15 digits in groups that dashes,
/// periods or spaces may separate. `country_code` is the calling code of the number: "1" to "999".
/// `verification_code` is the code that the user typed: 4 to 10 digits and nothing else. Any other
/// text is SECONDER_TOKEN_MALFORMED.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_TOKEN_WRONG if the code
/// is wrong; SECONDER_REJECTED with status 404 and the service code "60023" if no code is pending.
/// Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_phone_verification(
    service: Option<&seconder_service>,
    phone_number: *const c_char,
    country_code: *const c_char,
    verification_code: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = CheckPhoneVerification {
                phone_number: ffi::value("phone_number", phone_number)?,
                country_code: ffi::value("country_code", country_code)?,
                verification_code: ffi::typed("verification_code", verification_code)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
