//! Written by tools/generate from src/calls/verify.rs.

use crate::calls::{Device, Handle, Verification, Verify};
use crate::capi::decisions;
use crate::capi::error::seconder_error;
use crate::capi::ffi::{
    self, Flag, Plain, Text, free, named, pointer, read_handle, with_optional_out,
};
use crate::capi::items::{Item, Items, MadeOf, Texts};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_verify().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_verify_options {
    /// Checks the code even if the user is not confirmed yet.
    pub force: Flag,
    /// The action that the code was sent for. 1 to 128 bytes without control characters.
    pub action: *const c_char,
    /// The IP address from which the request originates. IPv4 or IPv6 text.
    pub user_ip: *const c_char,
}

// SAFETY: flags and pointers alone.
unsafe impl Plain for seconder_verify_options {}

/// The device that generated or received a code, or answered an approval request (interface 2.5).
/// Services omit unknown fields, and a field of an unexpected type, such as a date as text, is left
/// out.
#[repr(C)]
pub struct seconder_device_info {
    /// The device's number. 0 if the service does not provide it.
    pub id: u64,
    /// The IP address at which it was last seen. NULL if the service does not provide it.
    pub ip: *const c_char,
    /// The city of that address. NULL if the service does not provide it.
    pub city: *const c_char,
    /// The region of that address. NULL if the service does not provide it.
    pub region: *const c_char,
    /// The country of that address. NULL if the service does not provide it.
    pub country: *const c_char,
    /// "android", "ios", "sms" and similar; "authenticator" or "recovery_code" from this project's
    /// service. NULL if the service does not provide it.
    pub os_type: *const c_char,
    /// The number under which it was registered. 0 if the service does not provide it.
    pub registration_device_id: u64,
    /// The IP address from which it was registered. NULL if the service does not provide it.
    pub registration_ip: *const c_char,
    /// The city of that address. NULL if the service does not provide it.
    pub registration_city: *const c_char,
    /// The region of that address. NULL if the service does not provide it.
    pub registration_region: *const c_char,
    /// The country of that address. NULL if the service does not provide it.
    pub registration_country: *const c_char,
    /// The way in which the user's number was verified on registration. NULL if the service does
    /// not provide it.
    pub registration_method: *const c_char,
    /// When it was registered, in Unix seconds. 0 if the service does not provide it.
    pub registration_date: i64,
    /// When the account was last recovered, in Unix seconds. 0 if the service does not provide it.
    pub last_account_recovery_at: i64,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_device_info {}

impl MadeOf<Device> for seconder_device_info {
    fn new(of: &Device, texts: &mut Texts) -> seconder_device_info {
        seconder_device_info {
            id: of.id.unwrap_or_default(),
            ip: texts.keep(of.ip.as_deref()),
            city: texts.keep(of.city.as_deref()),
            region: texts.keep(of.region.as_deref()),
            country: texts.keep(of.country.as_deref()),
            os_type: texts.keep(of.os_type.as_deref()),
            registration_device_id: of.registration_device_id.unwrap_or_default(),
            registration_ip: texts.keep(of.registration_ip.as_deref()),
            registration_city: texts.keep(of.registration_city.as_deref()),
            registration_region: texts.keep(of.registration_region.as_deref()),
            registration_country: texts.keep(of.registration_country.as_deref()),
            registration_method: texts.keep(of.registration_method.as_deref()),
            registration_date: of.registration_date.unwrap_or_default(),
            last_account_recovery_at: of.last_account_recovery_at.unwrap_or_default(),
        }
    }
}

/// The reply for a code that was checked and is correct. Any other outcome returns none.
pub struct seconder_verification {
    message: Option<Text>,
    device: Items<seconder_device_info>,
}

impl From<Verification> for seconder_verification {
    fn from(reply: Verification) -> seconder_verification {
        seconder_verification {
            message: Text::of(reply.message.as_deref()),
            device: Items::new(reply.device.as_slice()),
        }
    }
}

/// Checks the code that a user typed (interface 4.4).
///
/// Only SECONDER_OK means that the code was checked and is correct. SECONDER_TOKEN_WRONG,
/// SECONDER_TOKEN_REUSED and SECONDER_TOKEN_NOT_CHECKED say why it was not accepted. Without
/// `force`, the code of a user who is not confirmed yet is not checked.
///
/// `user_id` is the user to verify. `token` is the code that the user typed: 6 to 12 digits and
/// nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
///
/// `out` may be NULL; otherwise free it with seconder_verification_free(). SECONDER_RATE_LIMITED
/// after wrong codes, until the user may try again. Other statuses are as described at the top of
/// the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verify(
    service: Option<&seconder_service>,
    user_id: u64,
    token: *const c_char,
    options: *const seconder_verify_options,
    options_size: usize,
    out: *mut *mut seconder_verification,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = Verify {
                user_id: named("user_id", UserId::try_from(user_id))?,
                token: ffi::typed("token", token)?,
                force: options.force.is_set(),
                action: ffi::value_if("action", options.action)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(decisions::verification("token", service.service.handle(&call)?)?.into())
        })
    }
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verification_message(
    verification: Option<&seconder_verification>,
) -> *const c_char {
    read_handle(verification, |reply| pointer(&reply.message))
}

/// The device that generated or received the code, if the service provides it (interface 2.5).
/// Owned by the handle. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verification_device(
    verification: Option<&seconder_verification>,
) -> *const seconder_device_info {
    read_handle(verification, |reply| reply.device.get(0))
}

/// Frees the reply of seconder_verify() or seconder_confirm_authenticator(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verification_free(verification: Option<Box<seconder_verification>>) {
    free(verification);
}
