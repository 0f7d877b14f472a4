//! Users: enrolling them, what is known of them, what they did, and removing them.

use super::error::seconder_error;
use super::ffi::{
    self, Plain, Text, free, named, pointer, read_handle, with_optional_out, with_out,
};
use super::open::seconder_service;
use super::status::{SECONDER_DEFAULT, SECONDER_NO, SECONDER_YES, seconder_status};
use crate::calls::{
    ActivityType, CreateUser, DeleteUser, Done, Handle, RegisterActivity, UserCreated, UserStatus,
    UserStatusReply,
};
use crate::model::UserId;
use crate::{Error, Result};
use std::ffi::c_char;
use std::ptr;

/// Options of seconder_create_user().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_create_user_options {
    /// Whether the user gets a first text message that tells where the app is: SECONDER_DEFAULT,
    /// which is yes, SECONDER_YES or SECONDER_NO. A service without such a message sends none.
    pub send_install_link_via_sms: i32,
}

/// Options of seconder_delete_user().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_delete_user_options {
    /// The address that asks for it, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_register_activity().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_register_activity_options {
    /// Whatever belongs to the activity: the text of a JSON object, at most 16 KiB.
    pub data: *const c_char,
    /// The address the user acted from, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_user_status().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_user_status_options {
    /// The address that asks, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

// SAFETY: numbers alone.
unsafe impl Plain for seconder_create_user_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_delete_user_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_register_activity_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_user_status_options {}

/// An enrolled user.
pub struct seconder_user_created {
    id: u64,
    message: Option<Text>,
}

/// The reply of calls that only do something.
pub struct seconder_done {
    message: Option<Text>,
}

/// A user as the service knows them (interface 2.2).
pub struct seconder_user_status_reply {
    reply: UserStatusReply,
    phone_number: Option<Text>,
    devices: Vec<Text>,
    message: Option<Text>,
}

impl From<UserCreated> for seconder_user_created {
    fn from(reply: UserCreated) -> seconder_user_created {
        let message = Text::of(reply.message.as_deref());
        seconder_user_created { id: reply.id.get(), message }
    }
}

impl From<Done> for seconder_done {
    fn from(reply: Done) -> seconder_done {
        seconder_done { message: Text::of(reply.message.as_deref()) }
    }
}

impl From<UserStatusReply> for seconder_user_status_reply {
    fn from(reply: UserStatusReply) -> seconder_user_status_reply {
        seconder_user_status_reply {
            phone_number: Text::of(reply.phone_number.as_deref()),
            devices: reply.devices.iter().map(|device| Text::new(device)).collect(),
            message: Text::of(reply.message.as_deref()),
            reply,
        }
    }
}

/// Enrols a user, or adds an e-mail to the user who has this cellphone already (interface 4.1).
///
/// `email` is name@example.com, at most 254 bytes; `cellphone`, 4 to 15 digits in groups that
/// dashes, periods or spaces may separate; `country_code`, the calling code of the number, "1" to
/// "999".
///
/// `out` is freed with seconder_user_created_free(). SECONDER_REJECTED when the service finds fault
/// with a value, which seconder_error_field_name() names; else as the header's beginning says of
/// calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_create_user(
    service: Option<&seconder_service>,
    email: *const c_char,
    cellphone: *const c_char,
    country_code: *const c_char,
    options: *const seconder_create_user_options,
    options_size: usize,
    out: *mut *mut seconder_user_created,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let email = ffi::value("email", email)?;
            let cellphone = ffi::value("cellphone", cellphone)?;
            let country_code = ffi::value("country_code", country_code)?;
            let call = CreateUser {
                send_install_link_via_sms: choice(&options)?,
                ..CreateUser::new(email, cellphone, country_code)
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

fn choice(options: &seconder_create_user_options) -> Result<bool> {
    match options.send_install_link_via_sms {
        SECONDER_DEFAULT | SECONDER_YES => Ok(true),
        SECONDER_NO => Ok(false),
        _ => Err(Error::invalid_argument(
            "send_install_link_via_sms",
            "must be SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO",
        )),
    }
}

/// Removes a user from the application, with all that is known of them (interface 4.5).
///
/// `out` may be NULL, and is freed with seconder_done_free(). SECONDER_REJECTED when there is no
/// such user; else as the header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_delete_user(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_delete_user_options,
    options_size: usize,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            let user_ip = ffi::address("user_ip", options.user_ip)?;
            Ok(service.service.handle(&DeleteUser { user_id, user_ip })?.into())
        })
    }
}

/// Tells the service what a user did, so that fraud can be found (interface 4.6).
///
/// `type` is "password_reset", "banned", "unbanned" or "cookie_login". `out` may be NULL, and is
/// freed with seconder_done_free(). SECONDER_REJECTED when there is no such user; else as the
/// header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_register_activity(
    service: Option<&seconder_service>,
    user_id: u64,
    r#type: *const c_char,
    options: *const seconder_register_activity_options,
    options_size: usize,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = RegisterActivity {
                user_id: named("user_id", UserId::try_from(user_id))?,
                activity: activity(ffi::text("type", r#type)?)?,
                data: ffi::object("data", options.data)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

fn activity(name: &str) -> Result<ActivityType> {
    use ActivityType::{Banned, CookieLogin, PasswordReset, Unbanned};
    let all = [PasswordReset, Banned, Unbanned, CookieLogin];
    all.into_iter().find(|activity| activity.name() == name).ok_or_else(|| {
        Error::invalid_argument("type", "must be password_reset, banned, unbanned or cookie_login")
    })
}

/// Asks what the service knows of a user (interface 4.8).
///
/// `out` is freed with seconder_user_status_reply_free(). SECONDER_REJECTED when there is no such
/// user; else as the header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_user_status(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_user_status_options,
    options_size: usize,
    out: *mut *mut seconder_user_status_reply,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            let user_ip = ffi::address("user_ip", options.user_ip)?;
            Ok(service.service.handle(&UserStatus { user_id, user_ip })?.into())
        })
    }
}

/// The id to keep and to give to the other calls, as `user_id`.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_id(user: Option<&seconder_user_created>) -> u64 {
    read_handle(user, |user| user.id)
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_message(
    user: Option<&seconder_user_created>,
) -> *const c_char {
    read_handle(user, |user| pointer(&user.message))
}

/// Frees the reply of seconder_create_user(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_free(user: Option<Box<seconder_user_created>>) {
    free(user);
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_done_message(done: Option<&seconder_done>) -> *const c_char {
    read_handle(done, |done| pointer(&done.message))
}

/// Frees the reply of a call that only does something. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_done_free(done: Option<Box<seconder_done>>) {
    free(done);
}

/// The user's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_user_id(
    user: Option<&seconder_user_status_reply>,
) -> u64 {
    read_handle(user, |user| user.reply.user_id.get())
}

/// Whether the user has used a valid code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_confirmed(
    user: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user, |user| user.reply.confirmed)
}

/// Whether the user has registered an app.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_registered(
    user: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user, |user| user.reply.registered)
}

/// The calling code of the user's number. 0 where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_country_code(
    user: Option<&seconder_user_status_reply>,
) -> u64 {
    read_handle(user, |user| user.reply.country_code.unwrap_or_default())
}

/// The user's number, masked: XXX-XXX-0123. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_phone_number(
    user: Option<&seconder_user_status_reply>,
) -> *const c_char {
    read_handle(user, |user| pointer(&user.phone_number))
}

/// How many kinds of device the user has.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_device_count(
    user: Option<&seconder_user_status_reply>,
) -> usize {
    read_handle(user, |user| user.devices.len())
}

/// What codes come from or go to: "android", "android_tablet", "ios", "svc_chrome" or "sms"; NULL
/// beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_device(
    user: Option<&seconder_user_status_reply>,
    index: usize,
) -> *const c_char {
    read_handle(user, |user| user.devices.get(index).map_or(ptr::null(), Text::as_ptr))
}

/// Whether the user has a hardware token.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_has_hard_token(
    user: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user, |user| user.reply.has_hard_token)
}

/// Whether the user's account is switched off.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_account_disabled(
    user: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user, |user| user.reply.account_disabled)
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_message(
    user: Option<&seconder_user_status_reply>,
) -> *const c_char {
    read_handle(user, |user| pointer(&user.message))
}

/// Frees the reply of seconder_user_status(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_free(user: Option<Box<seconder_user_status_reply>>) {
    free(user);
}
