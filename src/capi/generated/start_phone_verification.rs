//! Written by tools/generate from src/calls/start_phone_verification.rs.

use crate::calls::{Channel, Handle, PhoneVerificationStarted, StartPhoneVerification};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{
    self, Plain, Text, free, number_if, pointer, read_handle, with_optional_out,
};
use crate::capi::open::seconder_service;
use crate::capi::status::{of_seconds, seconder_status};
use std::ffi::c_char;

/// Options of seconder_start_phone_verification().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_start_phone_verification_options {
    /// The language of the message, such as "de". A service that lacks it uses its own. Default: as
    /// configured with the service.
    pub locale: *const c_char,
    /// The number of digits of the code, 4 to 10. Default: as configured with the service.
    pub code_length: u64,
    /// The IP address from which the request originates, which a service may limit. IPv4 or IPv6
    /// text.
    pub user_ip: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_start_phone_verification_options {}

/// A verification that was started: a code was sent to the number.
pub struct seconder_phone_verification_started {
    carrier: Option<Text>,
    is_ported: Option<bool>,
    is_cellphone: Option<bool>,
    message: Option<Text>,
    seconds_to_expire: Option<u64>,
    uuid: Option<Text>,
    resend_after: Option<u64>,
}

impl From<PhoneVerificationStarted> for seconder_phone_verification_started {
    fn from(reply: PhoneVerificationStarted) -> seconder_phone_verification_started {
        seconder_phone_verification_started {
            carrier: Text::of(reply.carrier.as_deref()),
            is_ported: reply.is_ported,
            is_cellphone: reply.is_cellphone,
            message: Text::of(reply.message.as_deref()),
            seconds_to_expire: reply.seconds_to_expire,
            uuid: Text::of(reply.uuid.as_ref().map(|text| text.as_str())),
            resend_after: reply.resend_after,
        }
    }
}

/// Sends a code to a number that belongs to no user yet (interface 4.10).
///
/// `via` is the channel that delivers the code: "sms" or "call". `phone_number` is the number
/// without its calling code: 4 to 15 digits in groups that dashes, periods or spaces may separate.
/// `country_code` is the calling code of the number: "1" to "999".
///
/// `out` may be NULL; otherwise free it with seconder_phone_verification_started_free().
/// SECONDER_RATE_LIMITED if a code was sent to the number by the same channel a moment ago, or too
/// often; SECONDER_REJECTED if the number cannot be reached by this channel. Other statuses are as
/// described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_start_phone_verification(
    service: Option<&seconder_service>,
    via: *const c_char,
    phone_number: *const c_char,
    country_code: *const c_char,
    options: *const seconder_start_phone_verification_options,
    options_size: usize,
    out: *mut *mut seconder_phone_verification_started,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = StartPhoneVerification {
                via: ffi::one_of("via", via, &[Channel::Sms, Channel::Call], Channel::name)?,
                phone_number: ffi::value("phone_number", phone_number)?,
                country_code: ffi::value("country_code", country_code)?,
                locale: ffi::text_if("locale", options.locale)?.map(str::to_owned),
                code_length: number_if(options.code_length),
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The number's carrier. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_carrier(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(phone_verification_started, |reply| pointer(&reply.carrier))
}

/// Returns whether the number was ported from another carrier. False also if the service does not
/// say. seconder_phone_verification_started_is_ported_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_ported(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(phone_verification_started, |reply| reply.is_ported == Some(true))
}

/// Returns whether the service provides the value of
/// seconder_phone_verification_started_is_ported().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_ported_known(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(phone_verification_started, |reply| reply.is_ported.is_some())
}

/// Returns whether the number is a mobile number. False also if the service does not say.
/// seconder_phone_verification_started_is_cellphone_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_cellphone(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(phone_verification_started, |reply| reply.is_cellphone == Some(true))
}

/// Returns whether the service provides the value of
/// seconder_phone_verification_started_is_cellphone().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_cellphone_known(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(phone_verification_started, |reply| reply.is_cellphone.is_some())
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_message(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(phone_verification_started, |reply| pointer(&reply.message))
}

/// The time that the code remains valid, in seconds, or SECONDER_FOREVER. 0 if the service does not
/// provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_seconds_to_expire(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> i64 {
    read_handle(phone_verification_started, |reply| of_seconds(reply.seconds_to_expire))
}

/// The id of the verification. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_uuid(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(phone_verification_started, |reply| pointer(&reply.uuid))
}

/// After how many seconds another code can be sent to the number by the same channel, even if this
/// one is not used. 0 also if the service does not say: only a service of Seconder does.
/// seconder_phone_verification_started_resend_after_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_resend_after(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> u64 {
    read_handle(phone_verification_started, |reply| reply.resend_after.unwrap_or_default())
}

/// Returns whether the service provides the value of
/// seconder_phone_verification_started_resend_after().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_resend_after_known(
    phone_verification_started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(phone_verification_started, |reply| reply.resend_after.is_some())
}

/// Frees the reply of seconder_start_phone_verification(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_free(
    phone_verification_started: Option<Box<seconder_phone_verification_started>>,
) {
    free(phone_verification_started);
}
