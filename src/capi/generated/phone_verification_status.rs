//! Written by tools/generate from src/calls/phone_verification_status.rs.

use crate::calls::{Handle, PhoneVerificationRecord, PhoneVerificationStatus};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;

/// Options of seconder_phone_verification_status().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_phone_verification_status_options {
    /// The id of the verification, from seconder_phone_verification_started_uuid(). 1 to 64
    /// letters, digits and dashes of ASCII.
    pub uuid: *const c_char,
    /// The number without its calling code, whose latest verification is meant. 4 to 15 digits in
    /// groups that dashes, periods or spaces may separate.
    pub phone_number: *const c_char,
    /// The calling code of the number. "1" to "999".
    pub country_code: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_phone_verification_status_options {}

/// The service's record of a number's verification.
pub struct seconder_phone_verification_record {
    status: Text,
    seconds_to_expire: Option<u64>,
    message: Option<Text>,
}

impl From<PhoneVerificationRecord> for seconder_phone_verification_record {
    fn from(reply: PhoneVerificationRecord) -> seconder_phone_verification_record {
        seconder_phone_verification_record {
            status: Text::new(reply.status.name()),
            seconds_to_expire: reply.seconds_to_expire,
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Requests the state of a number's verification, which seconder_start_phone_verification() began.
/// It is identified either by its `uuid` or by the number.
///
/// It is for display: a user proves to hold a number by seconder_check_phone_verification() alone,
/// since anyone may have verified the number before.
///
/// Free `out` with seconder_phone_verification_record_free(). SECONDER_REJECTED with the service
/// code "60023" if there is no such verification. Other statuses are as described at the top of the
/// header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_phone_verification_status(
    service: Option<&seconder_service>,
    options: *const seconder_phone_verification_status_options,
    options_size: usize,
    out: *mut *mut seconder_phone_verification_record,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = PhoneVerificationStatus {
                uuid: ffi::value_if("uuid", options.uuid)?,
                phone_number: ffi::value_if("phone_number", options.phone_number)?,
                country_code: ffi::value_if("country_code", options.country_code)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The state of the verification. "pending": the code was sent and can still be checked;
/// "verified": the code was right; "expired": the code was not entered in time, or wrong codes were
/// entered too often; "unknown": a status that this library does not know. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_status(
    phone_verification_record: Option<&seconder_phone_verification_record>,
) -> *const c_char {
    read_handle(phone_verification_record, |reply| reply.status.as_ptr())
}

/// The time that the code remains valid, in seconds; 0 unless the verification is pending. 0 if the
/// service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_seconds_to_expire(
    phone_verification_record: Option<&seconder_phone_verification_record>,
) -> u64 {
    read_handle(phone_verification_record, |reply| reply.seconds_to_expire.unwrap_or_default())
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_message(
    phone_verification_record: Option<&seconder_phone_verification_record>,
) -> *const c_char {
    read_handle(phone_verification_record, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_phone_verification_status(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_free(
    phone_verification_record: Option<Box<seconder_phone_verification_record>>,
) {
    free(phone_verification_record);
}
