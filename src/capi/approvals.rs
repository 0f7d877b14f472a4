//! Approval requests: creating them, and reading the user's answer.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, Text, free, named, pointer, read_handle, with_out};
use super::open::seconder_service;
use super::status::{SECONDER_FOREVER, of_approval, of_seconds, seconder_status};
use crate::calls::{Approval, ApprovalCreated, CheckApproval, CreateApproval, Handle, Logo};
use crate::model::UserId;
use crate::{Error, Result};
use serde_json::{Map, Value, json};
use std::ffi::c_char;
use std::ptr;

/// A picture to show with an approval request.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_logo {
    /// "default", "low", "med" or "high".
    pub res: *const c_char,
    /// The URL of the picture.
    pub url: *const c_char,
}

/// Options of seconder_create_approval().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_create_approval_options {
    /// Further details to show the user: a JSON object as text, at most 16 KiB. A remote service
    /// receives them as `nested_as_json` of seconder_open_options describes.
    pub details: *const c_char,
    /// Details that are not shown to the user but returned to the application: a JSON object as
    /// text, at most 16 KiB. Sent as `details` are.
    pub hidden_details: *const c_char,
    /// Pictures to show, at most 16 KiB in JSON; if there are any, one must have `res` = "default".
    pub logos: *const seconder_logo,
    /// The number of pictures at `logos`, at most 1000.
    pub logos_count: usize,
    /// How long the request can be answered, in seconds, 1 to 315360000. Default: 86400.
    /// SECONDER_FOREVER means no expiry.
    pub seconds_to_expire: i64,
    /// How many digits the number has that the reply carries, the login shows, and the user has to type on the
    /// phone to approve: 2, 3 or 6; -1 for none. Default: that of the application, none at first.
    pub number_digits: i64,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_create_approval_options {}

/// An approval request that was created.
pub struct seconder_approval_created {
    uuid: Text,
    message: Option<Text>,
    number: Option<Text>,
}

/// An approval request as the service knows it (interface 2.6).
///
/// Before an approval lets anyone in, compare its user_id with the user who is logging in: an
/// approved request of another user proves nothing.
pub struct seconder_approval {
    reply: Approval,
    uuid: Option<Text>,
    user_email: Option<Text>,
    app_id: Option<Text>,
    app_name: Option<Text>,
    message: Option<Text>,
    details: Text,
    hidden_details: Text,
    logos: Vec<seconder_logo>,
    /// Owns the texts that the pointers of `logos` point into.
    _logo_texts: Vec<(Text, Text)>,
    created_at: Option<Text>,
    updated_at: Option<Text>,
    processed_at: Option<Text>,
}

// SAFETY: the pointers point into the texts beside them, which never change.
unsafe impl Send for seconder_approval {}
// SAFETY: as above.
unsafe impl Sync for seconder_approval {}

impl From<ApprovalCreated> for seconder_approval_created {
    fn from(reply: ApprovalCreated) -> seconder_approval_created {
        let message = Text::of(reply.message.as_deref());
        let number = Text::of(reply.number.as_ref().map(|number| number.expose()));
        seconder_approval_created { uuid: Text::new(reply.uuid.as_str()), message, number }
    }
}

impl From<Approval> for seconder_approval {
    fn from(reply: Approval) -> seconder_approval {
        let texts: Vec<_> =
            reply.logos.iter().map(|logo| (Text::new(&logo.res), Text::new(&logo.url))).collect();
        let logo =
            |(res, url): &(Text, Text)| seconder_logo { res: res.as_ptr(), url: url.as_ptr() };
        let json = |fields: &Map<String, Value>| Text::new(&json!(fields).to_string());
        seconder_approval {
            user_email: Text::of(reply.user_email.as_deref()),
            app_id: Text::of(reply.app_id.as_deref()),
            app_name: Text::of(reply.app_name.as_deref()),
            message: Text::of(reply.message.as_deref()),
            details: json(&reply.details),
            hidden_details: json(&reply.hidden_details),
            logos: texts.iter().map(logo).collect(),
            _logo_texts: texts,
            uuid: reply.uuid.as_ref().map(|uuid| Text::new(uuid.as_str())),
            created_at: Text::of(reply.created_at.as_deref()),
            updated_at: Text::of(reply.updated_at.as_deref()),
            processed_at: Text::of(reply.processed_at.as_deref()),
            reply,
        }
    }
}

/// Asks a user to approve something on their device (interface 4.12). `message` is the question to
/// show, 1 to 1024 bytes.
///
/// An engine in this process keeps the five latest requests of a user open: a further one makes the
/// oldest expire. Free `out` with seconder_approval_created_free(). SECONDER_RATE_LIMITED if the
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
                logos: logos(&options)?,
                seconds_to_expire: seconds(options.seconds_to_expire)?,
                number_digits: number_digits(options.number_digits),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// # Safety
/// `logos` is NULL or points to `logos_count` pictures.
unsafe fn logos(options: &seconder_create_approval_options) -> Outcome<Vec<Logo>> {
    let names = ["logos", "logos_count"];
    let one = |logo: &seconder_logo| {
        // SAFETY: promised by the caller.
        let (res, url) = unsafe { (ffi::text("logos", logo.res)?, ffi::text("logos", logo.url)?) };
        Ok(Logo { res: res.to_owned(), url: url.to_owned() })
    };
    // SAFETY: promised by the caller.
    let logos = unsafe { ffi::list(names, options.logos, options.logos_count, ffi::MOST_VALUES)? };
    logos.iter().map(one).collect()
}

/// In C 0 means the default, and -1 none. What is no number of digits is rejected later.
fn number_digits(digits: i64) -> Option<u64> {
    match digits {
        0 => None,
        -1 => Some(0),
        digits => Some(u64::try_from(digits).unwrap_or(u64::MAX)),
    }
}

/// In C 0 seconds means the default; on the wire 0 seconds means no expiry.
fn seconds(seconds: i64) -> Result<Option<u64>> {
    match seconds {
        0 => Ok(None),
        SECONDER_FOREVER => Ok(Some(0)),
        _ => u64::try_from(seconds).map(Some).map_err(|_| {
            Error::invalid_argument("seconds_to_expire", "must be 0 or more, or SECONDER_FOREVER")
        }),
    }
}

/// Returns the state of an approval request (interface 4.13).
///
/// SECONDER_OK means that the request was found, not that the user approved: check that with
/// seconder_approval_approved_by() on the approval at `out`, and free it with
/// seconder_approval_free(). SECONDER_REJECTED if there is no such request. Other statuses are as
/// described at the top of the header.
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
            let uuid = ffi::value("uuid", uuid)?;
            Ok(service.service.handle(&CheckApproval { uuid })?.into())
        })
    }
}

/// The request's uuid, for seconder_check_approval() and seconder_wait_for_approval(). NULL only
/// for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_uuid(
    created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(created, |created| created.uuid.as_ptr())
}

/// The service's message. An engine in this process says if the user has no device that could answer
/// the request yet. NULL if the service does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_message(
    created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(created, |created| pointer(&created.message))
}

/// The number to show to whoever logs in, who types it on the phone. NULL if none is needed.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_number(
    created: Option<&seconder_approval_created>,
) -> *const c_char {
    read_handle(created, |created| pointer(&created.number))
}

/// Frees the reply of seconder_create_approval(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_free(created: Option<Box<seconder_approval_created>>) {
    free(created);
}

/// The user's answer: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
/// anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_status(approval: Option<&seconder_approval>) -> i32 {
    read_handle(approval, |approval| of_approval(approval.reply.status))
}

/// Whether this user approved the request. Only this check may let anyone in, unless the service
/// never provides the user: see seconder_approval_approved_unbound(). False for NULL, for any other
/// answer, for another user, and if the service does not say which user was asked.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_approved_by(
    approval: Option<&seconder_approval>,
    user_id: u64,
) -> bool {
    let user = UserId::try_from(user_id).ok();
    read_handle(approval, |approval| user.is_some_and(|user| approval.reply.approved_by(user)))
}

/// Whether the request is approved, and the service names this user or none: for a service that
/// provides only the status. This is weaker than seconder_approval_approved_by(), which nothing
/// replaces where the service provides the user.
///
/// An approval without a user says that somebody approved some request. If the uuid comes from the
/// browser, attackers approve a request of their own and present its uuid in somebody else's login.
/// So keep the uuid on the server, in the session of the login for whose user it was created; take
/// it from there alone; and delete it once it was used. A user is recognised only under the names
/// that `names` of seconder_open_options sets, so these must be the service's.
///
/// False for NULL, for any other answer, and for another user.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_approved_unbound(
    approval: Option<&seconder_approval>,
    user_id: u64,
) -> bool {
    let user = UserId::try_from(user_id).ok();
    read_handle(approval, |approval| user.is_some_and(|user| approval.reply.approved_unbound(user)))
}

/// The request's uuid. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_uuid(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.uuid))
}

/// The id of the user who was asked; 0 if the service does not provide it. Compare it with the user
/// who is logging in, or call seconder_approval_approved_by().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_user_id(approval: Option<&seconder_approval>) -> u64 {
    read_handle(approval, |approval| approval.reply.user_id.map_or(0, UserId::get))
}

/// One of the user's e-mail addresses. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_user_email(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.user_email))
}

/// The id of the application that sent the request, a text of the service's own. NULL if the service
/// does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_app_id(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.app_id))
}

/// The number of that application. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_app_serial_id(approval: Option<&seconder_approval>) -> u64 {
    read_handle(approval, |approval| approval.reply.app_serial_id.unwrap_or_default())
}

/// The name of that application. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_app_name(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.app_name))
}

/// The question to the user. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_message(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.message))
}

/// The details that are shown to the user: a JSON object as text, which is "{}" if there are none.
/// NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_details(approval: Option<&seconder_approval>) -> *const c_char {
    read_handle(approval, |approval| approval.details.as_ptr())
}

/// The details that are not shown to the user: a JSON object as text, which is "{}" if there are
/// none. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_hidden_details(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| approval.hidden_details.as_ptr())
}

/// The number of pictures that are shown with the request.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_logo_count(approval: Option<&seconder_approval>) -> usize {
    read_handle(approval, |approval| approval.logos.len())
}

/// The picture at `index`, owned by the approval; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_logo(
    approval: Option<&seconder_approval>,
    index: usize,
) -> *const seconder_logo {
    read_handle(approval, |approval| approval.logos.get(index).map_or(ptr::null(), ptr::from_ref))
}

/// When the request was created, in RFC 3339 format. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_created_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.created_at))
}

/// When the request last changed, in RFC 3339 format. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_updated_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.updated_at))
}

/// When the user answered, in RFC 3339 format; NULL while the request is pending.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_processed_at(
    approval: Option<&seconder_approval>,
) -> *const c_char {
    read_handle(approval, |approval| pointer(&approval.processed_at))
}

/// How long the request can be answered, in seconds, or SECONDER_FOREVER. 0 if the service does not
/// provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_seconds_to_expire(approval: Option<&seconder_approval>) -> i64 {
    read_handle(approval, |approval| of_seconds(approval.reply.seconds_to_expire))
}

/// Whether a device was notified of the request. False also if the service does not say, for which there is
/// seconder_approval_notified_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_notified(approval: Option<&seconder_approval>) -> bool {
    read_handle(approval, |approval| approval.reply.notified == Some(true))
}

/// Whether the service says whether a device was notified.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_notified_known(approval: Option<&seconder_approval>) -> bool {
    read_handle(approval, |approval| approval.reply.notified.is_some())
}

/// Frees the reply of seconder_check_approval(), seconder_wait_for_approval() or
/// seconder_respond_to_approval(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_free(approval: Option<Box<seconder_approval>>) {
    free(approval);
}
