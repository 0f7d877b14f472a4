//! Functions of an engine in this process besides the calls: users register devices with it, which
//! list approval requests and answer them, and a sandbox is emptied.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Text, free, read_handle, with_optional_out, with_out};
use super::generated::check_approval::seconder_approval;
use super::open::seconder_service;
use super::status::seconder_status;
use std::ffi::c_char;
use std::ptr;

/// A device that was registered for a user, with what it needs to answer approval requests.
pub struct seconder_device {
    id: u64,
    secret: Text,
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

/// The requests that a device's user can still answer.
pub struct seconder_approval_requests {
    shown: Vec<seconder_approval_request>,
    /// Owns the texts that the pointers of `shown` point into.
    _texts: Vec<Text>,
}

// SAFETY: the pointers point into the texts beside them, which never change.
unsafe impl Send for seconder_approval_requests {}
// SAFETY: as above.
unsafe impl Sync for seconder_approval_requests {}

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
            let service = ffi::need("service", service)?;
            within::register_device(service, user_id, device_type)
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
            let service = ffi::need("service", service)?;
            within::open_approvals(service, device_id, device_secret)
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
            let service = ffi::need("service", service)?;
            within::respond_to_approval(service, uuid, device_id, device_secret, response, number)
        })
    }
}

/// Empties a sandbox: removes every user, code, device, approval request and activity, and the
/// statistics. The application keeps its API key, and the ids of users are not given again.
///
/// SECONDER_INVALID_ARGUMENT if the service is not a sandbox: a database is never emptied.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_clear_sandbox(
    service: Option<&seconder_service>,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { ffi::run(error, || within::clear_sandbox(ffi::need("service", service)?)) }
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
    unsafe { ffi::run(error, || within::backup(ffi::need("service", service)?, path)) }
}

#[cfg(feature = "engine")]
mod within {
    use super::super::ffi::named;
    use super::super::status::SECONDER_FOREVER;
    use super::*;
    use crate::engine::{ApprovalRequest, DeviceType, Engine, RespondToApproval};
    use crate::model::{DeviceId, Secret, UserId};
    use serde_json::Value;
    use std::path::Path;

    /// # Safety
    /// The pointer is NULL or a text.
    pub(super) unsafe fn register_device(
        service: &seconder_service,
        user_id: u64,
        device_type: *const c_char,
    ) -> Outcome<seconder_device> {
        service.service.require_engine()?;
        let user_id = named("user_id", UserId::try_from(user_id))?;
        // SAFETY: promised by the caller.
        let kind = unsafe { ffi::text("device_type", device_type) }?;
        let register = |engine: &Engine| {
            engine.register_device(user_id, DeviceType::named(kind, engine.names())?)
        };
        let device = service.service.with_engine("register_device", Some(user_id), register)?;
        let secret = Text::new(device.secret.expose());
        Ok(seconder_device { id: device.device_id.get(), secret })
    }

    /// # Safety
    /// The pointer is NULL or a text.
    pub(super) unsafe fn open_approvals(
        service: &seconder_service,
        device_id: u64,
        device_secret: *const c_char,
    ) -> Outcome<seconder_approval_requests> {
        service.service.require_engine()?;
        let device_id = named("device_id", DeviceId::try_from(device_id))?;
        // SAFETY: promised by the caller.
        let secret = unsafe { ffi::value("device_secret", device_secret) }?;
        let list = |engine: &Engine| engine.open_approvals(device_id, &secret);
        let open = service.service.with_engine("open_approvals", None, list)?;
        let mut texts = Vec::new();
        let shown = open.iter().map(|request| show(request, &mut texts)).collect();
        Ok(seconder_approval_requests { shown, _texts: texts })
    }

    fn show(request: &ApprovalRequest, texts: &mut Vec<Text>) -> seconder_approval_request {
        let mut keep = |text: &str| {
            let text = Text::new(text);
            let start = text.as_ptr();
            texts.push(text);
            start
        };
        seconder_approval_request {
            uuid: keep(request.uuid.as_str()),
            message: keep(&request.message),
            details: keep(&Value::Object(request.details.clone()).to_string()),
            expires_at: request
                .expires_at
                .map_or(SECONDER_FOREVER, |at| i64::try_from(at).unwrap_or(i64::MAX)),
            number_digits: u32::try_from(request.number_digits).unwrap_or(u32::MAX),
        }
    }

    /// # Safety
    /// Every pointer is NULL or a text.
    pub(super) unsafe fn respond_to_approval(
        service: &seconder_service,
        uuid: *const c_char,
        device_id: u64,
        device_secret: *const c_char,
        response: *const c_char,
        number: *const c_char,
    ) -> Outcome<seconder_approval> {
        service.service.require_engine()?;
        // SAFETY: promised by the caller.
        let response = unsafe {
            RespondToApproval {
                uuid: ffi::value("uuid", uuid)?,
                device_id: named("device_id", DeviceId::try_from(device_id))?,
                device_secret: ffi::value("device_secret", device_secret)?,
                response: ffi::value("response", response)?,
                number: ffi::text_if("number", number)?.map(Secret::new),
            }
        };
        let respond = |engine: &Engine| engine.respond_to_approval(&response);
        Ok(service.service.with_engine("respond_to_approval", None, respond)?.into())
    }

    pub(super) fn clear_sandbox(service: &seconder_service) -> Outcome<()> {
        Ok(service.service.with_engine("clear_sandbox", None, Engine::clear_sandbox)?)
    }

    /// # Safety
    /// The pointer is NULL or a text.
    pub(super) unsafe fn backup(service: &seconder_service, path: *const c_char) -> Outcome<()> {
        service.service.require_engine()?;
        // SAFETY: promised by the caller.
        let path = Path::new(unsafe { ffi::text("path", path) }?);
        let copy = |engine: &Engine| engine.backup(path, |_, _| {});
        Ok(service.service.with_engine("backup", None, copy)?)
    }
}

/// This build has no engine, so its functions only return an error.
#[cfg(not(feature = "engine"))]
mod within {
    use super::*;

    pub(super) unsafe fn register_device(
        _: &seconder_service,
        _: u64,
        _: *const c_char,
    ) -> Outcome<seconder_device> {
        Err(ffi::no_engine())
    }

    pub(super) unsafe fn open_approvals(
        _: &seconder_service,
        _: u64,
        _: *const c_char,
    ) -> Outcome<seconder_approval_requests> {
        Err(ffi::no_engine())
    }

    pub(super) unsafe fn respond_to_approval(
        _: &seconder_service,
        _: *const c_char,
        _: u64,
        _: *const c_char,
        _: *const c_char,
        _: *const c_char,
    ) -> Outcome<seconder_approval> {
        Err(ffi::no_engine())
    }

    pub(super) fn clear_sandbox(_: &seconder_service) -> Outcome<()> {
        Err(ffi::no_engine())
    }

    pub(super) unsafe fn backup(_: &seconder_service, _: *const c_char) -> Outcome<()> {
        Err(ffi::no_engine())
    }
}

/// The device's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_id(device: Option<&seconder_device>) -> u64 {
    read_handle(device, |device| device.id)
}

/// The secret that authenticates the device, owned by `device`. It is provided only once: store it
/// on the device. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_secret(device: Option<&seconder_device>) -> *const c_char {
    read_handle(device, |device| device.secret.as_ptr())
}

/// Frees the reply of seconder_register_device(), and wipes the secret. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_free(device: Option<Box<seconder_device>>) {
    free(device);
}

/// The number of requests.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_requests_count(
    requests: Option<&seconder_approval_requests>,
) -> usize {
    read_handle(requests, |requests| requests.shown.len())
}

/// The request at `index`, oldest first, owned by `requests`; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_requests_get(
    requests: Option<&seconder_approval_requests>,
    index: usize,
) -> *const seconder_approval_request {
    read_handle(requests, |requests| requests.shown.get(index).map_or(ptr::null(), ptr::from_ref))
}

/// Frees the reply of seconder_open_approvals(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_requests_free(
    requests: Option<Box<seconder_approval_requests>>,
) {
    free(requests);
}
