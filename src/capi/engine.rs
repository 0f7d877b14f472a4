//! Functions of an engine in this process besides the calls: users register devices with it, which
//! list approval requests and answer them, and a sandbox is emptied.

use super::error::seconder_error;
#[cfg(feature = "engine")]
use super::ffi::named;
use super::ffi::{self, Text, engine_only, with_optional_out, with_out};
use super::generated::check_approval::seconder_approval;
use super::items::{Item, Items};
#[cfg(feature = "engine")]
use super::items::{MadeOf, Texts};
use super::open::seconder_service;
use super::status::{SECONDER_FOREVER, seconder_status};
#[cfg(feature = "engine")]
use crate::engine::{ApprovalRequest, DeviceType, Engine, RespondToApproval};
#[cfg(feature = "engine")]
use crate::model::{DeviceId, Secret, UserId};
#[cfg(feature = "engine")]
use serde_json::Value;
use std::ffi::c_char;
#[cfg(feature = "engine")]
use std::path::Path;

/// A device that was registered for a user, with what it needs to answer approval requests.
#[cfg_attr(false, c(freed = "the reply of seconder_register_device(), and wipes the secret"))]
pub struct seconder_device {
    /// The device's id.
    pub(super) id: u64,
    /// The secret that authenticates the device. It is provided only once: store it on the device.
    pub(super) secret: Text,
}

/// An approval request as shown on a device.
#[repr(C)]
pub struct seconder_approval_request {
    /// The request's uuid.
    pub uuid: *const c_char,
    /// The question to show to the user.
    pub message: *const c_char,
    /// Further details to show to the user: a JSON object as text.
    pub details: *const c_char,
    /// When the request expires, in Unix seconds, or SECONDER_FOREVER.
    pub expires_at: i64,
    /// The number of digits that the user has to type to approve it; 0 for none.
    pub number_digits: u32,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_approval_request {}

#[cfg(feature = "engine")]
impl MadeOf<ApprovalRequest> for seconder_approval_request {
    fn new(request: &ApprovalRequest, texts: &mut Texts) -> seconder_approval_request {
        let details = Value::Object(request.details.clone()).to_string();
        seconder_approval_request {
            uuid: texts.keep(Some(request.uuid.as_str())),
            message: texts.keep(Some(&request.message)),
            details: texts.keep(Some(&details)),
            expires_at: request
                .expires_at
                .map_or(SECONDER_FOREVER, |at| i64::try_from(at).unwrap_or(i64::MAX)),
            number_digits: u32::try_from(request.number_digits).unwrap_or(u32::MAX),
        }
    }
}

/// The requests that a device's user can still answer.
#[cfg_attr(false, c(freed = "the reply of seconder_open_approvals()"))]
pub struct seconder_approval_requests {
    /// The requests, oldest first.
    pub(super) requests: Items<seconder_approval_request>,
}

/// Registers a device for a user, with an engine in this process (interface 2.2).
///
/// `device_type` is "android", "android_tablet", "ios" or "svc_chrome". Free `out` with
/// seconder_device_free(). SECONDER_REJECTED if there is no such user; SECONDER_INVALID_ARGUMENT if
/// the service is a remote one, or an argument is invalid.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_register_device(
    service: Option<&seconder_service>,
    user_id: u64,
    device_type: *const c_char,
    out: *mut *mut seconder_device,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            engine_only!(service, |handle| {
                handle.service.require_engine()?;
                let user_id = named("user_id", UserId::try_from(user_id))?;
                let kind = ffi::text("device_type", device_type)?;
                let register = |engine: &Engine| {
                    engine.register_device(user_id, DeviceType::named(kind, engine.names())?)
                };
                let service = &handle.service;
                let device = service.with_engine("register_device", Some(user_id), register)?;
                let secret = Text::new(device.secret.expose());
                Ok(seconder_device { id: device.device_id.get(), secret })
            })
        })
    }
}

/// Lists the approval requests that a device's user can still answer, oldest first, with an engine
/// in this process.
///
/// `device_secret` comes from seconder_device_secret(). Free `out` with
/// seconder_approval_requests_free(). SECONDER_INVALID_ARGUMENT if the device's id or secret is
/// wrong, or the service is a remote one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_open_approvals(
    service: Option<&seconder_service>,
    device_id: u64,
    device_secret: *const c_char,
    out: *mut *mut seconder_approval_requests,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            engine_only!(service, |handle| {
                handle.service.require_engine()?;
                let device_id = named("device_id", DeviceId::try_from(device_id))?;
                let secret = ffi::value("device_secret", device_secret)?;
                let list = |engine: &Engine| engine.open_approvals(device_id, &secret);
                let open = handle.service.with_engine("open_approvals", None, list)?;
                Ok(seconder_approval_requests { requests: Items::new(&open) })
            })
        })
    }
}

/// Answers an approval request from a device, with an engine in this process, and posts the
/// callback before returning (interface 6).
///
/// `response` is "approve", "deny", or "report", which denies the request and snoozes further ones
/// for the user for 5 minutes. `number` is what the user typed on the phone, and may be NULL: only
/// approving a request that has a number needs it (see seconder_approval_created_number()). `out`
/// receives the request with its new status; it may be NULL, otherwise free it with
/// seconder_approval_free(). SECONDER_REJECTED if the device cannot answer this request, or can no
/// longer do so, or if the number is wrong, which denies the request the second time;
/// SECONDER_INVALID_ARGUMENT if the device's id or secret is wrong, if `number` is missing or cannot be the one of
/// the request, which changes nothing, or the service is a remote one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_respond_to_approval(
    service: Option<&seconder_service>,
    uuid: *const c_char,
    device_id: u64,
    device_secret: *const c_char,
    response: *const c_char,
    number: *const c_char,
    out: *mut *mut seconder_approval,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            engine_only!(service, |handle| {
                handle.service.require_engine()?;
                let response = RespondToApproval {
                    uuid: ffi::value("uuid", uuid)?,
                    device_id: named("device_id", DeviceId::try_from(device_id))?,
                    device_secret: ffi::value("device_secret", device_secret)?,
                    response: ffi::value("response", response)?,
                    number: ffi::text_if("number", number)?.map(Secret::new),
                };
                let respond = |engine: &Engine| engine.respond_to_approval(&response);
                Ok(handle.service.with_engine("respond_to_approval", None, respond)?.into())
            })
        })
    }
}

/// Empties a sandbox: removes every user, code, device, approval request and activity, the statistics
/// and the messages, and ends the faults. The application keeps its API key, the ids of users are not
/// given again, and the time goes on.
///
/// SECONDER_INVALID_ARGUMENT if the service is not a sandbox: a database is never emptied.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_clear_sandbox(
    service: Option<&seconder_service>,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        ffi::run(error, || {
            engine_only!(service, |handle| {
                let clear = |engine: &Engine| match handle.service.require_sandbox() {
                    Ok(sandbox) => sandbox.clear(),
                    Err(_) => engine.clear_sandbox(),
                };
                Ok(handle.service.with_engine("clear_sandbox", None, clear)?)
            })
        })
    }
}

/// Copies the database file of an engine in this process, as of one moment, into the new file `path`,
/// which only its owner can read.
///
/// Calls of other threads go on meanwhile. The copy is checked and on disk when this returns; after an
/// error, there is no copy. Put it back with `seconder restore`; the keyring is not in it. SECONDER_STORAGE
/// if the file exists or cannot be written, or if the database is damaged or not in a file;
/// SECONDER_INVALID_ARGUMENT if the service is a remote one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_backup(
    service: Option<&seconder_service>,
    path: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        ffi::run(error, || {
            engine_only!(service, |handle| {
                handle.service.require_engine()?;
                let path = Path::new(ffi::text("path", path)?);
                let copy = |engine: &Engine| engine.backup(path, |_, _| {});
                Ok(handle.service.with_engine("backup", None, copy)?)
            })
        })
    }
}
