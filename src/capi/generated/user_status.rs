//! Written by tools/generate from src/calls/user_status.rs.

use super::delete_user::seconder_call_options;
use super::factors::seconder_factors;
use crate::calls::{Handle, UserStatus, UserStatusReply};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, named, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;
use std::ptr;

/// The service's record of a user (interface 2.2).
pub struct seconder_user_status_reply {
    user_id: u64,
    confirmed: bool,
    registered: bool,
    country_code: Option<u64>,
    phone_number: Option<Text>,
    devices: Vec<Text>,
    has_hard_token: bool,
    account_disabled: bool,
    factors: Option<seconder_factors>,
    created_at: Option<i64>,
    message: Option<Text>,
}

impl From<UserStatusReply> for seconder_user_status_reply {
    fn from(reply: UserStatusReply) -> seconder_user_status_reply {
        seconder_user_status_reply {
            user_id: reply.user_id.get(),
            confirmed: reply.confirmed,
            registered: reply.registered,
            country_code: reply.country_code,
            phone_number: Text::of(reply.phone_number.as_deref()),
            devices: reply.devices.iter().map(|text| Text::new(text)).collect(),
            has_hard_token: reply.has_hard_token,
            account_disabled: reply.account_disabled,
            factors: reply.factors.map(Into::into),
            created_at: reply.created_at,
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Requests the service's record of a user (interface 4.8).
///
/// `user_id` is the user whose record is returned.
///
/// Free `out` with seconder_user_status_reply_free(). SECONDER_REJECTED if there is no such user.
/// Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_user_status(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_call_options,
    options_size: usize,
    out: *mut *mut seconder_user_status_reply,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = UserStatus {
                user_id: named("user_id", UserId::try_from(user_id))?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The user's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_user_id(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> u64 {
    read_handle(user_status_reply, |reply| reply.user_id)
}

/// Returns whether the user has used a valid code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_confirmed(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user_status_reply, |reply| reply.confirmed)
}

/// Returns whether the user has registered an app.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_registered(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user_status_reply, |reply| reply.registered)
}

/// The calling code of the user's number. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_country_code(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> u64 {
    read_handle(user_status_reply, |reply| reply.country_code.unwrap_or_default())
}

/// The user's number, masked: "XXX-XXX-0123". NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_phone_number(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> *const c_char {
    read_handle(user_status_reply, |reply| pointer(&reply.phone_number))
}

/// The number of values that seconder_user_status_reply_device() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_device_count(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> usize {
    read_handle(user_status_reply, |reply| reply.devices.len())
}

/// The types of device that generate or receive codes: "android", "android_tablet", "ios",
/// "svc_chrome", "sms". Returns the one at `index`, owned by the handle; NULL if `index` is out of
/// range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_device(
    user_status_reply: Option<&seconder_user_status_reply>,
    index: usize,
) -> *const c_char {
    read_handle(user_status_reply, |reply| {
        reply.devices.get(index).map_or(ptr::null(), Text::as_ptr)
    })
}

/// Returns whether the user has a hardware token.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_has_hard_token(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user_status_reply, |reply| reply.has_hard_token)
}

/// Returns whether the user's account is disabled.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_account_disabled(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user_status_reply, |reply| reply.account_disabled)
}

/// The factors that protect the account. Owned by the handle. NULL if the service does not say:
/// only a service of Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_factors(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> *const seconder_factors {
    read_handle(user_status_reply, |reply| {
        reply.factors.as_ref().map_or(ptr::null(), ptr::from_ref)
    })
}

/// When the user was created, in Unix seconds. 0 if the service does not say: only a service of
/// Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_created_at(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> i64 {
    read_handle(user_status_reply, |reply| reply.created_at.unwrap_or_default())
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_message(
    user_status_reply: Option<&seconder_user_status_reply>,
) -> *const c_char {
    read_handle(user_status_reply, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_user_status(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_free(
    user_status_reply: Option<Box<seconder_user_status_reply>>,
) {
    free(user_status_reply);
}
