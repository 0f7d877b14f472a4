//! Phone numbers: verifying who holds one, and information about one.

use super::error::seconder_error;
use super::ffi::{
    self, Plain, Text, free, number_if, pointer, read_handle, with_optional_out, with_out,
};
use super::open::seconder_service;
use super::status::{of_seconds, seconder_status};
use super::users::seconder_done;
use crate::calls::{
    Channel, CheckPhoneVerification, Handle, PhoneInfo, PhoneInformation, PhoneVerificationRecord,
    PhoneVerificationStarted, PhoneVerificationStatus, StartPhoneVerification,
};
use crate::{Error, Result};
use std::ffi::c_char;

/// Options of seconder_start_phone_verification().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_start_phone_verification_options {
    /// The language of the message, such as "en". A service that does not support it uses its
    /// default.
    pub locale: *const c_char,
    /// The number of digits of the code, 4 to 10. Default: as configured in the service.
    pub code_length: u64,
    /// The IP address from which the request originates, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Which verification seconder_phone_verification_status() returns: `uuid`, or the number and its
/// calling code.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_phone_verification_status_options {
    /// The uuid of the verification, from seconder_phone_verification_started_uuid().
    pub uuid: *const c_char,
    /// The number without its `country_code`, whose latest verification is meant.
    pub phone_number: *const c_char,
    /// The calling code of the number.
    pub country_code: *const c_char,
}

/// Options of seconder_phone_info().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_phone_info_options {
    /// The IP address of the user, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_start_phone_verification_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_phone_verification_status_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_phone_info_options {}

/// A phone verification that was started: a code was sent to the number.
pub struct seconder_phone_verification_started {
    reply: PhoneVerificationStarted,
    carrier: Option<Text>,
    message: Option<Text>,
    uuid: Option<Text>,
}

/// The state of a number's verification.
pub struct seconder_phone_verification_record {
    reply: PhoneVerificationRecord,
    status: Text,
    message: Option<Text>,
}

/// What the service knows about a number.
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

impl From<PhoneVerificationRecord> for seconder_phone_verification_record {
    fn from(reply: PhoneVerificationRecord) -> seconder_phone_verification_record {
        seconder_phone_verification_record {
            status: Text::new(reply.status.name()),
            message: Text::of(reply.message.as_deref()),
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

/// Sends a code to a number that does not belong to a user yet (interface 4.10).
///
/// `via` is "sms" or "call"; `phone_number` is the number without its `country_code`. `out` may be
/// NULL; otherwise free it with seconder_phone_verification_started_free(). SECONDER_RATE_LIMITED
/// if a code was sent to the number a moment ago in the same way, or too often. Other statuses are
/// as described at the top of the header.
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
                via: channel(ffi::text("via", via)?)?,
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

fn channel(name: &str) -> Result<Channel> {
    let all = [Channel::Sms, Channel::Call];
    let channel = all.into_iter().find(|channel| channel.name() == name);
    channel.ok_or_else(|| Error::invalid_argument("via", "must be sms or call"))
}

/// Checks the code that was sent to a number by seconder_start_phone_verification().
///
/// Only SECONDER_OK means that the code is correct. `verification_code` must be 4 to 10 digits and
/// nothing else. `out` may be NULL; otherwise free it with seconder_done_free().
///
/// A wrong code is SECONDER_REJECTED with the service code "60022"; "60023" means that no
/// verification is pending. SECONDER_TOKEN_MALFORMED means that `verification_code` does not have
/// the form of a code. Other statuses are as described at the top of the header.
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

/// Returns the state of a number's verification. `options` says which; it is for display, as only
/// seconder_check_phone_verification() proves that a user holds the number.
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

/// Returns the type of a phone number, and what else the service knows about it (interface 4.11).
///
/// Free `out` with seconder_phone_information_free(). SECONDER_REJECTED if it is not a phone
/// number. Other statuses are as described at the top of the header.
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

/// The carrier of the number. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_carrier(
    started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(started, |started| pointer(&started.carrier))
}

/// Whether the number was ported from one carrier to another. False also if the service does not say, for which there is
/// seconder_phone_verification_started_is_ported_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_ported(
    started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(started, |started| started.reply.is_ported == Some(true))
}

/// Whether the service says whether the number was ported.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_ported_known(
    started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(started, |started| started.reply.is_ported.is_some())
}

/// Whether the number is a mobile one. False also if the service does not say, for which there is
/// seconder_phone_verification_started_is_cellphone_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_cellphone(
    started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(started, |started| started.reply.is_cellphone == Some(true))
}

/// Whether the service says whether the number is a mobile one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_is_cellphone_known(
    started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(started, |started| started.reply.is_cellphone.is_some())
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_message(
    started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(started, |started| pointer(&started.message))
}

/// How long the code is valid, in seconds, or SECONDER_FOREVER. 0 if the service does not provide
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_seconds_to_expire(
    started: Option<&seconder_phone_verification_started>,
) -> i64 {
    read_handle(started, |started| of_seconds(started.reply.seconds_to_expire))
}

/// The uuid of the verification. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_uuid(
    started: Option<&seconder_phone_verification_started>,
) -> *const c_char {
    read_handle(started, |started| pointer(&started.uuid))
}

/// After how many seconds another code can be sent to the number in the same way, even if this one is
/// not used. 0 also if the service does not say, for which there is
/// seconder_phone_verification_started_resend_after_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_resend_after(
    started: Option<&seconder_phone_verification_started>,
) -> u64 {
    read_handle(started, |started| started.reply.resend_after.unwrap_or_default())
}

/// Whether the service says after how many seconds another code can be sent, as only a service of
/// Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_resend_after_known(
    started: Option<&seconder_phone_verification_started>,
) -> bool {
    read_handle(started, |started| started.reply.resend_after.is_some())
}

/// Frees the reply of seconder_start_phone_verification(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_started_free(
    started: Option<Box<seconder_phone_verification_started>>,
) {
    free(started);
}

/// The state of the verification: "pending", "verified", "expired" or "unknown". NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_status(
    record: Option<&seconder_phone_verification_record>,
) -> *const c_char {
    read_handle(record, |record| record.status.as_ptr())
}

/// How long the code is valid, in seconds; 0 unless the verification is pending, and if the service
/// does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_seconds_to_expire(
    record: Option<&seconder_phone_verification_record>,
) -> u64 {
    read_handle(record, |record| record.reply.seconds_to_expire.unwrap_or_default())
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_message(
    record: Option<&seconder_phone_verification_record>,
) -> *const c_char {
    read_handle(record, |record| pointer(&record.message))
}

/// Frees the reply of seconder_phone_verification_status(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_verification_record_free(
    record: Option<Box<seconder_phone_verification_record>>,
) {
    free(record);
}

/// The type of the number: "voip", "landline", "cellphone" or "unknown". NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_type(
    phone: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone, |phone| phone.phone_type.as_ptr())
}

/// The carrier of the number. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_provider(
    phone: Option<&seconder_phone_information>,
) -> *const c_char {
    read_handle(phone, |phone| pointer(&phone.provider))
}

/// Whether the number was ported from one carrier to another. False also if the service does not say, for which there is
/// seconder_phone_information_ported_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_ported(
    phone: Option<&seconder_phone_information>,
) -> bool {
    read_handle(phone, |phone| phone.reply.ported == Some(true))
}

/// Whether the service says whether the number was ported.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_information_ported_known(
    phone: Option<&seconder_phone_information>,
) -> bool {
    read_handle(phone, |phone| phone.reply.ported.is_some())
}

/// The service's message. NULL if it does not provide one.
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
