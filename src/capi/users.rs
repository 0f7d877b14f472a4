//! Users: enrolling and deleting them, their status and their activity.

use super::error::seconder_error;
use super::factors::seconder_factors;
use super::ffi::{
    self, Plain, Text, free, named, pointer, read_handle, with_optional_out, with_out,
};
use super::open::seconder_service;
use super::status::{SECONDER_DEFAULT, SECONDER_NO, SECONDER_YES, seconder_status};
use crate::calls::{
    ActivityType, CreateUser, DeleteUser, Done, Handle, InstallMessage, RegisterActivity,
    UserCreated, UserStatus, UserStatusReply,
};
use crate::model::UserId;
use crate::{Error, Result};
use std::ffi::c_char;
use std::ptr;

/// Options of seconder_create_user().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_create_user_options {
    /// Whether the user is sent an SMS with a link to install the app: SECONDER_DEFAULT, which
    /// means yes, SECONDER_YES or SECONDER_NO. Only a new user is sent one:
    /// seconder_user_created_install_message() is what became of it.
    pub send_install_link_via_sms: i32,
    /// Whether a number that a user has already is rejected, so that nothing is changed:
    /// SECONDER_DEFAULT, which means no, SECONDER_YES or SECONDER_NO. With SECONDER_YES, a service
    /// that does not say whether the user is new is SECONDER_INVALID_RESPONSE, though it may have
    /// enrolled the user.
    pub new_only: i32,
}

/// Options of seconder_delete_user().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_delete_user_options {
    /// The IP address that the request was made from, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_register_activity().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_register_activity_options {
    /// Further data about the activity: a JSON object as text, at most 16 KiB. A remote service
    /// receives it as `nested_as_json` of seconder_open_options describes.
    pub data: *const c_char,
    /// The IP address of the user during the activity, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_user_status().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_user_status_options {
    /// The IP address that the request was made from, IPv4 or IPv6.
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
    user_id: u64,
    created: Option<bool>,
    message: Option<Text>,
    install_message: Option<Text>,
}

/// The reply of calls that return only a message.
pub struct seconder_done {
    message: Option<Text>,
}

/// A user as the service knows them (interface 2.2).
pub struct seconder_user_status_reply {
    reply: UserStatusReply,
    phone_number: Option<Text>,
    devices: Vec<Text>,
    factors: Option<seconder_factors>,
    message: Option<Text>,
}

impl From<UserCreated> for seconder_user_created {
    fn from(reply: UserCreated) -> seconder_user_created {
        seconder_user_created {
            user_id: reply.user_id.get(),
            created: reply.created,
            message: Text::of(reply.message.as_deref()),
            install_message: Text::of(reply.install_message.map(InstallMessage::name)),
        }
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
            factors: reply.factors.as_ref().map(Into::into),
            message: Text::of(reply.message.as_deref()),
            reply,
        }
    }
}

/// Enrols a user, or adds an e-mail address to the user who already has this cellphone (interface
/// 4.1).
///
/// `email` is name@example.com, at most 254 bytes; `cellphone`, 4 to 15 digits in groups that
/// dashes, periods or spaces may separate; `country_code`, the calling code of the number, "1" to
/// "999".
///
/// Whoever typed the number need not be the one who has it: verify it first, with
/// seconder_start_phone_verification() and seconder_check_phone_verification(), and set `new_only`.
/// Otherwise the second factor of the user who has the number becomes that of whoever typed it.
///
/// Free `out` with seconder_user_created_free(). SECONDER_REJECTED if the service rejects a value,
/// which seconder_error_field_name() names. Other statuses are as described at the top of the
/// header.
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
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let email = ffi::value("email", email)?;
            let cellphone = ffi::value("cellphone", cellphone)?;
            let country_code = ffi::value("country_code", country_code)?;
            let call = CreateUser {
                send_install_link_via_sms: choice(
                    "send_install_link_via_sms",
                    options.send_install_link_via_sms,
                    true,
                )?,
                new_only: choice("new_only", options.new_only, false)?,
                ..CreateUser::new(email, cellphone, country_code)
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

fn choice(name: &'static str, given: i32, default: bool) -> Result<bool> {
    match given {
        SECONDER_DEFAULT => Ok(default),
        SECONDER_YES => Ok(true),
        SECONDER_NO => Ok(false),
        _ => Err(Error::invalid_argument(
            name,
            "must be SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO",
        )),
    }
}

/// Deletes a user from the application, with all data about them (interface 4.5).
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user. Other statuses are as described at the top of the header.
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
    // SAFETY: as the header requires.
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

/// Reports a user's activity to the service, so that fraud can be detected (interface 4.6).
///
/// `type` is "password_reset", "banned", "unbanned" or "cookie_login". `out` may be NULL; otherwise
/// free it with seconder_done_free(). SECONDER_REJECTED if there is no such user. Other statuses
/// are as described at the top of the header.
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
    // SAFETY: as the header requires.
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

/// Returns what the service knows about a user (interface 4.8).
///
/// Free `out` with seconder_user_status_reply_free(). SECONDER_REJECTED if there is no such user.
/// Other statuses are as described at the top of the header.
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
    // SAFETY: as the header requires.
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

/// The user's id: store it, and pass it to the other calls.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_user_id(user: Option<&seconder_user_created>) -> u64 {
    read_handle(user, |user| user.user_id)
}

/// Whether the call enrolled the user. False for a user who was there before, which may be somebody
/// else than the one who typed the number. False also if the service does not say, for which there
/// is seconder_user_created_created_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_created(user: Option<&seconder_user_created>) -> bool {
    read_handle(user, |user| user.created == Some(true))
}

/// Whether the service says whether the call enrolled the user, as only a service of Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_created_known(
    user: Option<&seconder_user_created>,
) -> bool {
    read_handle(user, |user| user.created.is_some())
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_message(
    user: Option<&seconder_user_created>,
) -> *const c_char {
    read_handle(user, |user| pointer(&user.message))
}

/// What became of the SMS with a link to install the app: "sent"; "queued" if it is attempted again;
/// "not_configured" if the application has no such link, or SMS is not enabled for it;
/// "not_requested", also for a user who was there before; or "failed". NULL if the service does not
/// say, as only a service of Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_install_message(
    user: Option<&seconder_user_created>,
) -> *const c_char {
    read_handle(user, |user| pointer(&user.install_message))
}

/// Frees the reply of seconder_create_user(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_free(user: Option<Box<seconder_user_created>>) {
    free(user);
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_done_message(done: Option<&seconder_done>) -> *const c_char {
    read_handle(done, |done| pointer(&done.message))
}

/// Frees the reply of a call that returns only a message. NULL is fine.
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

/// The calling code of the user's phone number. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_country_code(
    user: Option<&seconder_user_status_reply>,
) -> u64 {
    read_handle(user, |user| user.reply.country_code.unwrap_or_default())
}

/// The user's phone number, masked: XXX-XXX-0123. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_phone_number(
    user: Option<&seconder_user_status_reply>,
) -> *const c_char {
    read_handle(user, |user| pointer(&user.phone_number))
}

/// The number of device types that the user has.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_device_count(
    user: Option<&seconder_user_status_reply>,
) -> usize {
    read_handle(user, |user| user.devices.len())
}

/// The device type at `index`, which generates or receives codes: "android", "android_tablet",
/// "ios", "svc_chrome" or "sms"; NULL if `index` is out of range.
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

/// Whether the user's account is disabled.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_account_disabled(
    user: Option<&seconder_user_status_reply>,
) -> bool {
    read_handle(user, |user| user.reply.account_disabled)
}

/// What protects the account, owned by the reply. NULL if the service does not say, as only a service
/// of Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_status_reply_factors(
    user: Option<&seconder_user_status_reply>,
) -> *const seconder_factors {
    read_handle(user, |user| user.factors.as_ref().map_or(ptr::null(), ptr::from_ref))
}

/// The service's message. NULL if it does not provide one.
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
