//! Approval requests: asking a user, and how the user answered.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, Text, free, named, pointer, read_handle, with_out};
use super::open::seconder_service;
use super::status::{SECONDER_FOREVER, of_approval, of_flag, of_seconds, seconder_status};
use crate::calls::{Approval, ApprovalCreated, CheckApproval, CreateApproval, Handle, Logo};
use crate::model::UserId;
use crate::{Error, Result};
use std::ffi::c_char;

/// A picture to show with an approval request.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_logo {
    /// "default", "low", "med" or "high".
    pub res: *const c_char,
    /// Where the picture is.
    pub url: *const c_char,
}

/// Options of seconder_create_approval().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_create_approval_options {
    /// What else the user is shown: the text of a JSON object, at most 16 KiB.
    pub details: *const c_char,
    /// What the user is not shown, and the application gets back: the text of a JSON object, at most
    /// 16 KiB.
    pub hidden_details: *const c_char,
    /// Pictures to show, at most 16 KiB in JSON; when there are any, one has `res` = "default".
    pub logos: *const seconder_logo,
    /// How many pictures there are at `logos`.
    pub logos_count: usize,
    /// How long the request can be answered, in seconds, 1 to 315360000. Default: 86400.
    /// SECONDER_FOREVER is for ever.
    pub seconds_to_expire: i64,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_create_approval_options {}

/// A user who is being asked.
pub struct seconder_approval_created {
    uuid: Text,
}

/// An approval request as the service knows it (interface 2.6).
///
/// Before an approval lets anyone in, compare its user_id with the user who logs in: an approved
/// request of somebody else proves nothing.
pub struct seconder_approval {
    reply: Approval,
    uuid: Option<Text>,
    created_at: Option<Text>,
    updated_at: Option<Text>,
    processed_at: Option<Text>,
}

impl From<ApprovalCreated> for seconder_approval_created {
    fn from(reply: ApprovalCreated) -> seconder_approval_created {
        seconder_approval_created { uuid: Text::new(reply.uuid.as_str()) }
    }
}

impl From<Approval> for seconder_approval {
    fn from(reply: Approval) -> seconder_approval {
        seconder_approval {
            uuid: reply.uuid.as_ref().map(|uuid| Text::new(uuid.as_str())),
            created_at: Text::of(reply.created_at.as_deref()),
            updated_at: Text::of(reply.updated_at.as_deref()),
            processed_at: Text::of(reply.processed_at.as_deref()),
            reply,
        }
    }
}

/// Asks a user to approve something on their device (interface 4.12). `message` is what the user is
/// asked, 1 to 1024 bytes.
///
/// `out` is freed with seconder_approval_created_free(). SECONDER_RATE_LIMITED when the user has too
/// many open requests, or said that the last was not theirs; SECONDER_REJECTED when there is no such
/// user; else as the header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_create_approval(
    service: Option<&seconder_service>,
    user_id: u64,
    message: *const c_char,
    options: *const seconder_create_approval_options,
    options_size: usize,
    out: *mut *mut seconder_approval_created,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = CreateApproval {
                user_id: named("user_id", UserId::try_from(user_id))?,
                message: ffi::value("message", message)?,
                details: ffi::object("details", options.details)?,
                hidden_details: ffi::object("hidden_details", options.hidden_details)?,
                logos: logos(&options)?,
                seconds_to_expire: seconds(options.seconds_to_expire)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// # Safety
/// `logos` is NULL, or there are so many as `logos_count` says.
unsafe fn logos(options: &seconder_create_approval_options) -> Outcome<Vec<Logo>> {
    if options.logos.is_null() && options.logos_count > 0 {
        return Err(ffi::null("logos"));
    }
    let one = |index| {
        // SAFETY: promised by the caller.
        unsafe {
            let logo = *options.logos.add(index);
            let res = ffi::text("logos", logo.res)?.to_owned();
            Ok(Logo { res, url: ffi::text("logos", logo.url)?.to_owned() })
        }
    };
    (0..options.logos_count).map(one).collect()
}

/// C's 0 seconds are the default, and the wire's 0 seconds are for ever.
fn seconds(seconds: i64) -> Result<Option<u64>> {
    match seconds {
        0 => Ok(None),
        SECONDER_FOREVER => Ok(Some(0)),
        _ => u64::try_from(seconds).map(Some).map_err(|_| {
            Error::invalid_argument("seconds_to_expire", "must be 0 or more, or SECONDER_FOREVER")
        }),
    }
}

/// Asks how a user answered (interface 4.13).
///
/// SECONDER_OK says that the request was found, and nothing of the answer: ask
/// seconder_approval_approved_by() of the approval at `out`, and free it with
/// seconder_approval_free(). SECONDER_REJECTED when there is no such request; else as the header's
/// beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_check_approval(
    service: Option<&seconder_service>,
    uuid: *const c_char,
    out: *mut *mut seconder_approval,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let uuid = ffi::value("uuid", uuid)?;
            Ok(service.service.handle(&CheckApproval { uuid })?.into())
        })
    }
}

/// The request's name, to ask for its answer with. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_uuid(
    created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(created, |created| created.uuid.as_ptr())
}

/// Frees the reply of seconder_create_approval(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_free(created: Option<Box<seconder_approval_created>>) {
    free(created);
}

/// How the user answered: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
/// anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_status(approval: Option<&seconder_approval>) -> i32 {
    read_handle(approval, |approval| of_approval(approval.reply.status))
}

/// Whether this user said yes: the one question that lets anybody in. False for NULL, for any other
/// answer, for another user, and when the service does not tell who was asked.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_approved_by(
    approval: Option<&seconder_approval>,
    user_id: u64,
) -> bool {
    let who = UserId::try_from(user_id).ok();
    read_handle(approval, |approval| who.is_some_and(|who| approval.reply.approved_by(who)))
}

/// The request's name. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_uuid(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.uuid))
}

/// The user who was asked; 0 where the service does not tell. Compare it with the user who logs in,
/// or ask seconder_approval_approved_by().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_user_id(approval: Option<&seconder_approval>) -> u64 {
    read_handle(approval, |approval| approval.reply.user_id.map_or(0, UserId::get))
}

/// When the request was made, in RFC 3339. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.created_at))
}

/// When the request last changed, in RFC 3339. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_updated_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.updated_at))
}

/// When the user answered, in RFC 3339; NULL while the request is pending.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_processed_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.processed_at))
}

/// How long the request can be answered, in seconds, or SECONDER_FOREVER. 0 where the service does
/// not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_seconds_to_expire(approval: Option<&seconder_approval>) -> i64 {
    read_handle(approval, |approval| of_seconds(approval.reply.seconds_to_expire))
}

/// Whether a device was told of the request: SECONDER_YES, SECONDER_NO or SECONDER_NOT_PROVIDED.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_notified(approval: Option<&seconder_approval>) -> i32 {
    read_handle(approval, |approval| of_flag(approval.reply.notified))
}

/// Frees the reply of seconder_check_approval(), seconder_wait_for_approval() or
/// seconder_respond_to_approval(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_free(approval: Option<Box<seconder_approval>>) {
    free(approval);
}
