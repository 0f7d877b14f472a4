//! Devices, sandboxes and copies of an engine.

use crate::capi::engine::{seconder_approval_request, seconder_approval_requests, seconder_device};
use crate::capi::ffi::{self, Outcome, Text, named};
use crate::capi::generated::check_approval::seconder_approval;
use crate::capi::items::{Items, MadeOf, Texts};
use crate::capi::open::seconder_service;
use crate::capi::status::SECONDER_FOREVER;
use crate::engine::{ApprovalRequest, DeviceType, Engine, RespondToApproval};
use crate::model::{DeviceId, Secret, UserId};
use serde_json::Value;
use std::ffi::c_char;
use std::path::Path;

/// # Safety
/// The pointer is NULL or a text.
pub(crate) unsafe fn register_device(
    service: &seconder_service,
    user_id: u64,
    device_type: *const c_char,
) -> Outcome<seconder_device> {
    service.service.require_engine()?;
    let user_id = named("user_id", UserId::try_from(user_id))?;
    // SAFETY: promised by the caller.
    let kind = unsafe { ffi::text("device_type", device_type) }?;
    let register =
        |engine: &Engine| engine.register_device(user_id, DeviceType::named(kind, engine.names())?);
    let device = service.service.with_engine("register_device", Some(user_id), register)?;
    let secret = Text::new(device.secret.expose());
    Ok(seconder_device { id: device.device_id.get(), secret })
}

/// # Safety
/// The pointer is NULL or a text.
pub(crate) unsafe fn open_approvals(
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
    Ok(seconder_approval_requests { requests: Items::new(&open) })
}

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

/// # Safety
/// Every pointer is NULL or a text.
pub(crate) unsafe fn respond_to_approval(
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

pub(crate) fn clear_sandbox(service: &seconder_service) -> Outcome<()> {
    Ok(service.service.with_engine("clear_sandbox", None, Engine::clear_sandbox)?)
}

/// # Safety
/// The pointer is NULL or a text.
pub(crate) unsafe fn backup(service: &seconder_service, path: *const c_char) -> Outcome<()> {
    service.service.require_engine()?;
    // SAFETY: promised by the caller.
    let path = Path::new(unsafe { ffi::text("path", path) }?);
    let copy = |engine: &Engine| engine.backup(path, |_, _| {});
    Ok(service.service.with_engine("backup", None, copy)?)
}
