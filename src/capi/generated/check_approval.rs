//! Written by tools/generate from src/calls/check_approval.rs.

use super::create_approval::seconder_logo;
use crate::calls::{Approval, CheckApproval, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, pointer, read_handle, with_out};
use crate::capi::items::Items;
use crate::capi::open::seconder_service;
use crate::capi::status::{of_approval, of_seconds, seconder_status};
use std::ffi::c_char;

/// The service's record of an approval request (interface 2.6).
///
/// Before letting a user in, call seconder_approval_approved_by() with the user who is logging in:
/// an approval by another user proves nothing.
pub struct seconder_approval {
    status: i32,
    uuid: Option<Text>,
    user_id: u64,
    user_email: Option<Text>,
    app_id: Option<Text>,
    app_serial_id: Option<u64>,
    app_name: Option<Text>,
    message: Option<Text>,
    details: Text,
    hidden_details: Text,
    logos: Items<seconder_logo>,
    created_at: Option<Text>,
    updated_at: Option<Text>,
    processed_at: Option<Text>,
    seconds_to_expire: Option<u64>,
    notified: Option<bool>,
    pub(in crate::capi) reply: Approval,
}

impl From<Approval> for seconder_approval {
    fn from(reply: Approval) -> seconder_approval {
        seconder_approval {
            status: of_approval(reply.status),
            uuid: Text::of(reply.uuid.as_ref().map(|text| text.as_str())),
            user_id: reply.user_id.map_or(0, |id| id.get()),
            user_email: Text::of(reply.user_email.as_deref()),
            app_id: Text::of(reply.app_id.as_deref()),
            app_serial_id: reply.app_serial_id,
            app_name: Text::of(reply.app_name.as_deref()),
            message: Text::of(reply.message.as_deref()),
            details: Text::of_object(&reply.details),
            hidden_details: Text::of_object(&reply.hidden_details),
            logos: Items::new(&reply.logos),
            created_at: Text::of(reply.created_at.as_deref()),
            updated_at: Text::of(reply.updated_at.as_deref()),
            processed_at: Text::of(reply.processed_at.as_deref()),
            seconds_to_expire: reply.seconds_to_expire,
            notified: reply.notified,
            reply,
        }
    }
}

/// Requests a user's response to an approval request (interface 4.13).
///
/// SECONDER_OK means that the request was found, not that the user approved it: call
/// seconder_approval_approved_by() on the reply.
///
/// `uuid` is the id of the approval request, from seconder_create_approval(): 1 to 64 letters,
/// digits and dashes of ASCII.
///
/// Free `out` with seconder_approval_free(). SECONDER_REJECTED if there is no such request. Other
/// statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_approval(
    service: Option<&seconder_service>,
    uuid: *const c_char,
    out: *mut *mut seconder_approval,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = CheckApproval { uuid: ffi::value("uuid", uuid)? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The user's response: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
/// anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_status(approval: Option<&seconder_approval>) -> i32 {
    read_handle(approval, |reply| reply.status)
}

/// The id of the request. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_uuid(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.uuid))
}

/// The user to whom the request was sent. Compare it with the user who logs in, or call
/// seconder_approval_approved_by(). 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_user_id(approval: Option<&seconder_approval>) -> u64 {
    read_handle(approval, |reply| reply.user_id)
}

/// One of the user's e-mail addresses. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_user_email(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.user_email))
}

/// The id of the application that sent the request, a text of the service's own. NULL if the
/// service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_app_id(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.app_id))
}

/// The number of that application. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_app_serial_id(approval: Option<&seconder_approval>) -> u64 {
    read_handle(approval, |reply| reply.app_serial_id.unwrap_or_default())
}

/// The name of that application. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_app_name(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.app_name))
}

/// The question shown to the user. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_message(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.message))
}

/// The details shown to the user. A JSON object as text, "{}" if it is empty. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_details(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |reply| reply.details.as_ptr())
}

/// The details not shown to the user. A JSON object as text, "{}" if it is empty. NULL only for a
/// NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_hidden_details(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |reply| reply.hidden_details.as_ptr())
}

/// The number of values that seconder_approval_logo() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_logo_count(approval: Option<&seconder_approval>) -> usize {
    read_handle(approval, |reply| reply.logos.len())
}

/// The logos shown with the request. Returns the one at `index`, owned by the handle; NULL if
/// `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_logo(
    approval: Option<&seconder_approval>,
    index: usize,
) -> *const seconder_logo {
    read_handle(approval, |reply| reply.logos.get(index))
}

/// When the request was created, in RFC 3339. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.created_at))
}

/// When the request last changed, in RFC 3339. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_updated_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.updated_at))
}

/// When the user responded, in RFC 3339; NULL while the request is pending.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_processed_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |reply| pointer(&reply.processed_at))
}

/// The time that the request remains open, in seconds, or SECONDER_FOREVER. 0 if the service does
/// not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_seconds_to_expire(approval: Option<&seconder_approval>) -> i64 {
    read_handle(approval, |reply| of_seconds(reply.seconds_to_expire))
}

/// Returns whether a device was notified of the request. False also if the service does not say.
/// seconder_approval_notified_known() says whether it does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_notified(approval: Option<&seconder_approval>) -> bool {
    read_handle(approval, |reply| reply.notified == Some(true))
}

/// Returns whether the service provides the value of seconder_approval_notified().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_notified_known(approval: Option<&seconder_approval>) -> bool {
    read_handle(approval, |reply| reply.notified.is_some())
}

/// Frees the reply of seconder_check_approval(), seconder_wait_for_approval() or
/// seconder_respond_to_approval(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_free(approval: Option<Box<seconder_approval>>) {
    free(approval);
}
