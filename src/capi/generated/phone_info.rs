//! Written by tools/generate from src/calls/phone_info.rs.

use super::delete_user::seconder_call_options;
use crate::calls::{Handle, PhoneInfo, PhoneInformation};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;

/// The service's record of a phone number.
pub struct seconder_phone_information {
    message: Option<Text>,
    phone_type: Text,
    provider: Option<Text>,
    ported: Option<bool>,
}

impl From<PhoneInformation> for seconder_phone_information {
    fn from(reply: PhoneInformation) -> seconder_phone_information {
        seconder_phone_information {
            message: Text::of(reply.message.as_deref()),
            phone_type: Text::new(reply.phone_type.name()),
            provider: Text::of(reply.provider.as_deref()),
            ported: reply.ported,
        }
    }
}

/// Requests the type of a phone number (interface 4.11).
///
/// `phone_number` is the number without its calling code: 4 to 15 digits in groups that dashes,
/// periods or spaces may separate. `country_code` is the calling code of the number: "1" to "999".
///
/// Free `out` with seconder_phone_information_free(). SECONDER_REJECTED if it is not a phone
/// number. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_phone_info(
    service: Option<&seconder_service>,
    phone_number: *const c_char,
    country_code: *const c_char,
    options: *const seconder_call_options,
    options_size: usize,
    out: *mut *mut seconder_phone_information,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = PhoneInfo {
                phone_number: ffi::value("phone_number", phone_number)?,
                country_code: ffi::value("country_code", country_code)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_message(
    phone_information: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone_information, |reply| pointer(&reply.message))
}

/// The type of the number. "voip": a number reached over the Internet; "landline": a number that
/// receives no SMS; "cellphone": a mobile number; "unknown": none of these for certain. NULL only
/// for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_type(
    phone_information: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone_information, |reply| reply.phone_type.as_ptr())
}

/// The number's carrier. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_provider(
    phone_information: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone_information, |reply| pointer(&reply.provider))
}

/// Returns whether the number was ported from another carrier. False also if the service does not
/// say. seconder_phone_information_ported_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_ported(
    phone_information: Option<&seconder_phone_information>,
) -> bool {
    read_handle(phone_information, |reply| reply.ported == Some(true))
}

/// Returns whether the service provides the value of seconder_phone_information_ported().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_ported_known(
    phone_information: Option<&seconder_phone_information>,
) -> bool {
    read_handle(phone_information, |reply| reply.ported.is_some())
}

/// Frees the reply of seconder_phone_info(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_free(
    phone_information: Option<Box<seconder_phone_information>>,
) {
    free(phone_information);
}
