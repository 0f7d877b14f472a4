//! Login names, and recovery codes: what logins on machines need.

use super::error::seconder_error;
use super::ffi::{self, Text, free, named, pointer, read_handle, with_optional_out, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use super::users::seconder_done;
use crate::calls::{
    CreateRecoveryCodes, FindUser, FoundUser, Handle, RecoveryCodes, RemoveLogin, SetLogin,
};
use crate::model::UserId;
use std::ffi::c_char;
use std::ptr;

/// The user who has a login name, and what the user can log in with.
pub struct seconder_found_user {
    reply: FoundUser,
    login: Text,
    devices: Vec<Text>,
    message: Option<Text>,
}

/// The recovery codes of a user. Whoever sees one can log in with it once.
pub struct seconder_recovery_codes {
    codes: Vec<Text>,
    message: Option<Text>,
}

impl From<FoundUser> for seconder_found_user {
    fn from(reply: FoundUser) -> seconder_found_user {
        seconder_found_user {
            login: Text::new(reply.login.as_str()),
            devices: reply.devices.iter().map(|device| Text::new(device)).collect(),
            message: Text::of(reply.message.as_deref()),
            reply,
        }
    }
}

impl From<RecoveryCodes> for seconder_recovery_codes {
    fn from(reply: RecoveryCodes) -> seconder_recovery_codes {
        seconder_recovery_codes {
            codes: reply.codes.iter().map(|code| Text::new(code.as_str())).collect(),
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Finds the user who has a login name, and what the user can log in with (interface 4.17).
///
/// `login` is 1 to 64 letters, digits and the characters _ . @ + - of ASCII, beginning with a
/// letter, a digit or _; a $ may be at the end. Free `out` with seconder_found_user_free().
/// SECONDER_REJECTED, with the service code "60026", if nobody has the name; SECONDER_REJECTED with
/// another code if the service has no such call. Other statuses are as described at the top of the
/// header.
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

/// Gives a user a login name (interface 4.18).
///
/// `login` is as for seconder_find_user(). `out` may be NULL; otherwise free it with
/// seconder_done_free(). SECONDER_REJECTED if there is no such user, if another user has the name,
/// or if the user has another one: remove that first. Other statuses are as described at the top of
/// the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_set_login(
    service: Option<&seconder_service>,
    user_id: u64,
    login: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = SetLogin {
                user_id: named("user_id", UserId::try_from(user_id))?,
                login: ffi::value("login", login)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Takes a login name from the user who has it (interface 4.19).
///
/// `login` is as for seconder_find_user(). `out` may be NULL; otherwise free it with
/// seconder_done_free(). SECONDER_REJECTED if nobody has the name. Other statuses are as described
/// at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remove_login(
    service: Option<&seconder_service>,
    login: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = RemoveLogin { login: ffi::value("login", login)? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Creates a set of recovery codes for a user, in place of any that the user has (interface 4.20).
/// Show them to the user, who keeps them on paper: each is right once, as the token of
/// seconder_verify(), and they are returned only here.
///
/// Free `out` with seconder_recovery_codes_free(), which wipes the codes. SECONDER_REJECTED if there
/// is no such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_create_recovery_codes(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_recovery_codes,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            Ok(service.service.handle(&CreateRecoveryCodes { user_id })?.into())
        })
    }
}

/// The user's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_user_id(user: Option<&seconder_found_user>) -> u64 {
    read_handle(user, |user| user.reply.user_id.get())
}

/// The login name. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_login(user: Option<&seconder_found_user>) -> *const c_char {
    read_handle(user, |user| user.login.as_ptr())
}

/// Whether the user has used a valid code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_confirmed(user: Option<&seconder_found_user>) -> bool {
    read_handle(user, |user| user.reply.confirmed)
}

/// Whether the user has an authenticator app of which a code was accepted.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_authenticator(user: Option<&seconder_found_user>) -> bool {
    read_handle(user, |user| user.reply.authenticator)
}

/// The number of device types that the user has.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_device_count(user: Option<&seconder_found_user>) -> usize {
    read_handle(user, |user| user.devices.len())
}

/// The device type at `index`, as seconder_user_status_reply_device() returns it; NULL if `index` is
/// out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_device(
    user: Option<&seconder_found_user>,
    index: usize,
) -> *const c_char {
    read_handle(user, |user| user.devices.get(index).map_or(ptr::null(), Text::as_ptr))
}

/// How many recovery codes the user has left.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_recovery_codes_left(
    user: Option<&seconder_found_user>,
) -> u64 {
    read_handle(user, |user| user.reply.recovery_codes_left)
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_message(user: Option<&seconder_found_user>) -> *const c_char {
    read_handle(user, |user| pointer(&user.message))
}

/// Frees the reply of seconder_find_user(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_found_user_free(user: Option<Box<seconder_found_user>>) {
    free(user);
}

/// The number of codes.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_code_count(
    codes: Option<&seconder_recovery_codes>,
) -> usize {
    read_handle(codes, |codes| codes.codes.len())
}

/// The code at `index`, 12 digits; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_code(
    codes: Option<&seconder_recovery_codes>,
    index: usize,
) -> *const c_char {
    read_handle(codes, |codes| codes.codes.get(index).map_or(ptr::null(), Text::as_ptr))
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_message(
    codes: Option<&seconder_recovery_codes>,
) -> *const c_char {
    read_handle(codes, |codes| pointer(&codes.message))
}

/// Frees the reply of seconder_create_recovery_codes(), and wipes the codes. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_recovery_codes_free(codes: Option<Box<seconder_recovery_codes>>) {
    free(codes);
}
