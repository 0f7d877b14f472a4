//! Written by tools/generate from src/calls/find_user.rs.

use crate::calls::{FindUser, FoundUser, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;
use std::ptr;

/// The user who has a login name, and what the user can log in with.
pub struct seconder_found_user {
    user_id: u64,
    login: Text,
    confirmed: bool,
    authenticator: bool,
    devices: Vec<Text>,
    recovery_codes_left: u64,
    message: Option<Text>,
}

impl From<FoundUser> for seconder_found_user {
    fn from(reply: FoundUser) -> seconder_found_user {
        seconder_found_user {
            user_id: reply.user_id.get(),
            login: Text::new(reply.login.as_str()),
            confirmed: reply.confirmed,
            authenticator: reply.authenticator,
            devices: reply.devices.iter().map(|text| Text::new(text)).collect(),
            recovery_codes_left: reply.recovery_codes_left,
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Finds the user who has a login name, and what the user can log in with (interface 4.17).
///
/// `login` is the login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
/// beginning with a letter, a digit or _; a $ may be at the end.
///
/// Free `out` with seconder_found_user_free(). SECONDER_REJECTED with the service code "60026" if
/// no user has the name, and with another one if the service has no such call. Other statuses are
/// as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_find_user(
    service: Option<&seconder_service>,
    login: *const c_char,
    out: *mut *mut seconder_found_user,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = FindUser { login: ffi::value("login", login)? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The user's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_user_id(found_user: Option<&seconder_found_user>) -> u64 {
    read_handle(found_user, |reply| reply.user_id)
}

/// The login name. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_login(
    found_user: Option<&seconder_found_user>,
) -> *const c_char {
    read_handle(found_user, |reply| reply.login.as_ptr())
}

/// Returns whether the user has used a valid code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_confirmed(found_user: Option<&seconder_found_user>) -> bool {
    read_handle(found_user, |reply| reply.confirmed)
}

/// Returns whether the user has a confirmed authenticator app.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_authenticator(
    found_user: Option<&seconder_found_user>,
) -> bool {
    read_handle(found_user, |reply| reply.authenticator)
}

/// The number of values that seconder_found_user_device() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_device_count(
    found_user: Option<&seconder_found_user>,
) -> usize {
    read_handle(found_user, |reply| reply.devices.len())
}

/// The types of device that generate or receive codes, as in the status of a user: "android",
/// "android_tablet", "ios", "svc_chrome", "sms". Returns the one at `index`, owned by the handle;
/// NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_device(
    found_user: Option<&seconder_found_user>,
    index: usize,
) -> *const c_char {
    read_handle(found_user, |reply| reply.devices.get(index).map_or(ptr::null(), Text::as_ptr))
}

/// The number of recovery codes that the user has left.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_recovery_codes_left(
    found_user: Option<&seconder_found_user>,
) -> u64 {
    read_handle(found_user, |reply| reply.recovery_codes_left)
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_message(
    found_user: Option<&seconder_found_user>,
) -> *const c_char {
    read_handle(found_user, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_find_user(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_free(found_user: Option<Box<seconder_found_user>>) {
    free(found_user);
}
