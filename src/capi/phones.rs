//! Phone numbers: proving that somebody has one, and what is known of it.

use super::error::seconder_error;
use super::ffi::{
    self, Plain, Text, free, number_if, pointer, read_handle, with_optional_out, with_out,
};
use super::open::seconder_service;
use super::status::{of_flag, of_seconds, seconder_status};
use super::users::seconder_done;
use crate::calls::{
    Channel, CheckPhoneVerification, Handle, PhoneInfo, PhoneInformation, PhoneVerificationStarted,
    StartPhoneVerification,
};
use crate::{Error, Result};
use std::ffi::c_char;

/// Options of seconder_start_phone_verification().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_start_phone_verification_options {
    /// The language of the message, such as "en". A service that lacks it uses its own.
    pub locale: *const c_char,
    /// How many digits the code has, 4 to 10. Default: as the service is set up.
    pub code_length: u64,
}

/// Options of seconder_phone_info().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_phone_info_options {
    /// The address of the user who asks, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_start_phone_verification_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_phone_info_options {}

/// A code that is on its way to a number.
pub struct seconder_phone_verification_started {
    reply: PhoneVerificationStarted,
    carrier: Option<Text>,
    message: Option<Text>,
    uuid: Option<Text>,
}

/// What the service knows of a number.
pub struct seconder_phone_information {
    reply: PhoneInformation,
    phone_type: Text,
    provider: Option<Text>,
    message: Option<Text>,
}

impl From<PhoneVerificationStarted> for seconder_phone_verification_started {
    fn from(reply: PhoneVerificationStarted) -> seconder_phone_verification_started {
        seconder_phone_verification_started {
            carrier: Text::of(reply.carrier.as_deref()),
            message: Text::of(reply.message.as_deref()),
            uuid: reply.uuid.as_ref().map(|uuid| Text::new(uuid.as_str())),
            reply,
        }
    }
}

impl From<PhoneInformation> for seconder_phone_information {
    fn from(reply: PhoneInformation) -> seconder_phone_information {
        seconder_phone_information {
            phone_type: Text::new(reply.phone_type.name()),
            provider: Text::of(reply.provider.as_deref()),
            message: Text::of(reply.message.as_deref()),
            reply,
        }
    }
}

/// Sends a code to a number that belongs to no user yet (interface 4.10).
///
/// `via` is "sms" or "call"; `phone_number`, the number without its `country_code`. `out` may be
/// NULL, and is freed with seconder_phone_verification_started_free(). SECONDER_RATE_LIMITED when a code
/// was sent there just now; else as the header's beginning says of calls.
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
    // SAFETY: as the header asks.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = StartPhoneVerification {
                via: channel(ffi::text("via", via)?)?,
                phone_number: ffi::value("phone_number", phone_number)?,
                country_code: ffi::value("country_code", country_code)?,
                locale: ffi::text_if("locale", options.locale)?.map(str::to_owned),
                code_length: number_if(options.code_length),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

fn channel(name: &str) -> Result<Channel> {
    let all = [Channel::Sms, Channel::Call];
    let found = all.into_iter().find(|channel| channel.name() == name);
    found.ok_or_else(|| Error::invalid_argument("via", "must be sms or call"))
}

/// Checks the code that was sent to a number by seconder_start_phone_verification().
///
/// SECONDER_OK says that the code is right, and nothing else does. `verification_code` must be 4 to
/// 10 digits and nothing else. `out` may be NULL, and is freed with seconder_done_free().
///
/// A wrong code is SECONDER_REJECTED with the service code "60022"; "60023" says that no code is
/// waiting; else as the header's beginning says of calls.
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
    // SAFETY: as the header asks.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = CheckPhoneVerification {
                phone_number: ffi::value("phone_number", phone_number)?,
                country_code: ffi::value("country_code", country_code)?,
                verification_code: ffi::value("verification_code", verification_code)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Asks what kind of number a number is (interface 4.11).
///
/// `out` is freed with seconder_phone_information_free(). SECONDER_REJECTED when it is no number;
/// else as the header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_phone_info(
    service: Option<&seconder_service>,
    phone_number: *const c_char,
    country_code: *const c_char,
    options: *const seconder_phone_info_options,
    options_size: usize,
    out: *mut *mut seconder_phone_information,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
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

/// Who carries the number. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_carrier(
    started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(started, |started| pointer(&started.carrier))
}

/// Whether the number moved from one carrier to another: SECONDER_YES, SECONDER_NO or
/// SECONDER_NOT_PROVIDED.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_ported(
    started: Option<&seconder_phone_verification_started>,
) -> i32 {
    read_handle(started, |started| of_flag(started.reply.is_ported))
}

/// Whether the number is a mobile one: SECONDER_YES, SECONDER_NO or SECONDER_NOT_PROVIDED.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_cellphone(
    started: Option<&seconder_phone_verification_started>,
) -> i32 {
    read_handle(started, |started| of_flag(started.reply.is_cellphone))
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_message(
    started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(started, |started| pointer(&started.message))
}

/// How long the code lives, in seconds, or SECONDER_FOREVER. 0 where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_seconds_to_expire(
    started: Option<&seconder_phone_verification_started>,
) -> i64 {
    read_handle(started, |started| of_seconds(started.reply.seconds_to_expire))
}

/// The verification's own name. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_uuid(
    started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(started, |started| pointer(&started.uuid))
}

/// Frees the reply of seconder_start_phone_verification(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_free(
    started: Option<Box<seconder_phone_verification_started>>,
) {
    free(started);
}

/// The kind of number: "voip", "landline", "cellphone" or "unknown". NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_type(
    phone: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone, |phone| phone.phone_type.as_ptr())
}

/// Who carries the number. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_provider(
    phone: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone, |phone| pointer(&phone.provider))
}

/// Whether the number moved from one carrier to another: SECONDER_YES, SECONDER_NO or
/// SECONDER_NOT_PROVIDED.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_ported(
    phone: Option<&seconder_phone_information>,
) -> i32 {
    read_handle(phone, |phone| of_flag(phone.reply.ported))
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_message(
    phone: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone, |phone| pointer(&phone.message))
}

/// Frees the reply of seconder_phone_info(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_free(phone: Option<Box<seconder_phone_information>>) {
    free(phone);
}
