//! Written by tools/generate from src/calls/create_user.rs.

use crate::calls::{CreateUser, Handle, NewUser, UserCreated};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::{seconder_status, yes_or_no};
use std::ffi::c_char;

/// Options of seconder_create_user().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_create_user_options {
    /// Sends a new user a text message with a link to the app. Its outcome is
    /// seconder_user_created_install_message(). SECONDER_DEFAULT, which means yes, SECONDER_YES or
    /// SECONDER_NO.
    pub send_install_link_via_sms: i32,
    /// Rejects a number that a user has already, or, in a call without a number, the address of a
    /// user without one. Nothing is changed then. If a service does not say whether the user is
    /// new, the call fails with SECONDER_INVALID_RESPONSE, though the service may have enrolled the
    /// user. SECONDER_DEFAULT, which means no, SECONDER_YES or SECONDER_NO.
    pub new_only: i32,
}

// SAFETY: numbers alone.
unsafe impl Plain for seconder_create_user_options {}

/// An enrolled user.
pub struct seconder_user_created {
    user_id: u64,
    created: Option<bool>,
    message: Option<Text>,
    install_message: Option<Text>,
}

impl From<UserCreated> for seconder_user_created {
    fn from(reply: UserCreated) -> seconder_user_created {
        seconder_user_created {
            user_id: reply.user_id.get(),
            created: reply.created,
            message: Text::of(reply.message.as_deref()),
            install_message: Text::of(reply.install_message.map(|value| value.name())),
        }
    }
}

/// Enrols a user, or adds an e-mail address to the user who already has this cellphone (interface
/// 4.1). Without a number, enrols a user by the e-mail address, or returns the user without a
/// number who has it: for an application that has authenticator apps only.
///
/// The person who typed the number or the address need not have it. Verify the number first, with
/// seconder_start_phone_verification() and seconder_check_phone_verification(), or the address by
/// an e-mail, and set `new_only`. Otherwise the second factor of the user who has it becomes the
/// one of the person who typed it.
///
/// `email` is one of the user's e-mail addresses: name@example.com, at most 254 bytes. It
/// identifies a user without a phone number. `cellphone` is the phone number, which identifies the
/// user: 4 to 15 digits in groups that dashes, periods or spaces may separate. Two calls with the
/// same number return the same user. A user without one is sent no codes. It may be NULL.
/// `country_code` is the calling code of the number: "1" to "999". It may be NULL.
///
/// Free `out` with seconder_user_created_free(). SECONDER_REJECTED if the service rejects a value,
/// which seconder_error_field_name() names; with `new_only`, that is `cellphone` if a user has the
/// number already, and without a number `email` if a user without one has the address. Other
/// statuses are as described at the top of the header.
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
            let call = CreateUser {
                user: NewUser {
                    email: ffi::value("email", email)?,
                    cellphone: ffi::value_if("cellphone", cellphone)?,
                    country_code: ffi::value_if("country_code", country_code)?,
                },
                send_install_link_via_sms: yes_or_no(
                    "send_install_link_via_sms",
                    options.send_install_link_via_sms,
                )?
                .unwrap_or(true),
                new_only: yes_or_no("new_only", options.new_only)?.unwrap_or(false),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The id to store and to pass to the other calls.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_user_id(
    user_created: Option<&seconder_user_created>,
) -> u64 {
    read_handle(user_created, |reply| reply.user_id)
}

/// Returns whether the call enrolled the user. False for a user who was there before, who may be
/// another person than the one who typed the number. False also if the service does not say: only a
/// service of Seconder does. seconder_user_created_created_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_created(
    user_created: Option<&seconder_user_created>,
) -> bool {
    read_handle(user_created, |reply| reply.created == Some(true))
}

/// Returns whether the service provides the value of seconder_user_created_created().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_created_known(
    user_created: Option<&seconder_user_created>,
) -> bool {
    read_handle(user_created, |reply| reply.created.is_some())
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_message(
    user_created: Option<&seconder_user_created>,
) -> *const c_char {
    read_handle(user_created, |reply| pointer(&reply.message))
}

/// The outcome of the text message with a link to the app. "sent": it was sent; "queued": it could
/// not be sent yet, and is attempted again; "not_configured": it is not sent, because the
/// application has no link to an app, or SMS is not enabled for it; "not_requested": it is not
/// sent, because the call does not request it, or the user was there before; "failed": it could not
/// be sent. NULL if the service does not say: only a service of Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_install_message(
    user_created: Option<&seconder_user_created>,
) -> *const c_char {
    read_handle(user_created, |reply| pointer(&reply.install_message))
}

/// Frees the reply of seconder_create_user(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_user_created_free(user_created: Option<Box<seconder_user_created>>) {
    free(user_created);
}
