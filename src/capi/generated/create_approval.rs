//! Written by tools/generate from src/calls/create_approval.rs.

use crate::calls::{ApprovalCreated, CreateApproval, Handle, Logo};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{
    self, Input, Outcome, Plain, Text, free, named, pointer, read_handle, with_out,
};
use crate::capi::items::{Item, MadeOf, Texts};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_create_approval().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_create_approval_options {
    /// Further details shown to the user: names and texts, without characters that XML cannot have.
    /// Other values reach a remote service as `data` of seconder_register_activity_options
    /// describes. A JSON object as text, at most 16 KiB.
    pub details: *const c_char,
    /// Details not shown to the user, and returned to the application. Sent as `details` are. A
    /// JSON object as text, at most 16 KiB.
    pub hidden_details: *const c_char,
    /// Logos to show, at most 16 KiB in JSON. If there are any, one must have `res` = "default".
    pub logos: *const seconder_logo,
    /// The number of values at `logos`, at most 1000.
    pub logos_count: usize,
    /// The time that the request remains open, in seconds, 1 to 315360000, or SECONDER_FOREVER.
    /// Default: 86400.
    pub seconds_to_expire: i64,
    /// The number of digits of a number that the reply carries, the application shows, and the user
    /// has to type on the device to approve the request: 2, 3 or 6, or -1 for none. An engine
    /// raises a smaller number to the application's. Default: as the application has it, none at
    /// first.
    pub number_digits: i64,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_create_approval_options {}

/// A logo to show with an approval request.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_logo {
    /// "default", "low", "med" or "high".
    pub res: *const c_char,
    /// The URL of the picture.
    pub url: *const c_char,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_logo {}

impl MadeOf<Logo> for seconder_logo {
    fn new(of: &Logo, texts: &mut Texts) -> seconder_logo {
        seconder_logo { res: texts.keep(Some(&of.res)), url: texts.keep(Some(&of.url)) }
    }
}

impl Input for seconder_logo {
    type Value = Logo;

    unsafe fn read(&self, list: &'static str) -> Outcome<Logo> {
        // SAFETY: promised by the caller.
        unsafe {
            Ok(Logo {
                res: ffi::text(list, self.res)?.to_owned(),
                url: ffi::text(list, self.url)?.to_owned(),
            })
        }
    }
}

/// An approval request that was created.
pub struct seconder_approval_created {
    uuid: Text,
    message: Option<Text>,
    number: Option<Text>,
}

impl From<ApprovalCreated> for seconder_approval_created {
    fn from(reply: ApprovalCreated) -> seconder_approval_created {
        seconder_approval_created {
            uuid: Text::new(reply.uuid.as_str()),
            message: Text::of(reply.message.as_deref()),
            number: Text::of(reply.number.as_ref().map(|text| text.expose())),
        }
    }
}

/// Asks a user to approve something on their device (interface 4.12). An engine keeps the five
/// latest requests of a user open: a further one makes the oldest expire.
///
/// `user_id` is the user to ask. `message` is the question shown to the user: 1 to 1024 bytes.
///
/// Free `out` with seconder_approval_created_free(), which wipes it. SECONDER_RATE_LIMITED if the
/// user reported the last request as not theirs; SECONDER_REJECTED if there is no such user. Other
/// statuses are as described at the top of the header.
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
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = CreateApproval {
                user_id: named("user_id", UserId::try_from(user_id))?,
                message: ffi::value("message", message)?,
                details: ffi::object("details", options.details)?,
                hidden_details: ffi::object("hidden_details", options.hidden_details)?,
                logos: ffi::inputs(
                    ["logos", "logos_count"],
                    options.logos,
                    options.logos_count,
                    ffi::MOST_VALUES,
                )?,
                seconds_to_expire: ffi::number_or_zero(
                    "seconds_to_expire",
                    options.seconds_to_expire,
                )?,
                number_digits: ffi::number_or_zero("number_digits", options.number_digits)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The id of the request, for seconder_check_approval(). NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_uuid(
    approval_created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(approval_created, |reply| reply.uuid.as_ptr())
}

/// The service's message. An engine's says if the user has no device that could respond. NULL if
/// the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_message(
    approval_created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(approval_created, |reply| pointer(&reply.message))
}

/// The number that the application shows and the user types on the device. NULL if the request
/// needs no number.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_number(
    approval_created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(approval_created, |reply| pointer(&reply.number))
}

/// Frees the reply of seconder_create_approval(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_free(
    approval_created: Option<Box<seconder_approval_created>>,
) {
    free(approval_created);
}
