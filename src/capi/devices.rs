//! Devices: what a code came from, and the devices that users register with an engine.

use super::border::{self, Text, free, give, look, named, pointer, run};
use super::error::seconder_error;
use super::open::seconder_service;
use super::status::seconder_status;
use crate::calls::Device;
use crate::engine::{AnswerApproval, DeviceRegistered};
use crate::model::{DeviceId, UserId};
use std::ffi::c_char;

/// What a code was made or received with, or what answered (interface 2.5). Services leave out what
/// they do not know: a text is NULL then, and a number 0.
#[repr(C)]
pub struct seconder_device_info {
    /// The device's number.
    pub id: u64,
    /// The address it was last seen at.
    pub ip: *const c_char,
    /// The city of that address.
    pub city: *const c_char,
    /// The region of that address.
    pub region: *const c_char,
    /// The country of that address.
    pub country: *const c_char,
    /// "android", "ios", "sms" and the like.
    pub os_type: *const c_char,
    /// The number it was registered under.
    pub registration_device_id: u64,
    /// The address it was registered from.
    pub registration_ip: *const c_char,
    /// The city of that address.
    pub registration_city: *const c_char,
    /// The region of that address.
    pub registration_region: *const c_char,
    /// The country of that address.
    pub registration_country: *const c_char,
    /// How the user proved the number then.
    pub registration_method: *const c_char,
    /// When it was registered, in Unix seconds.
    pub registration_date: i64,
    /// When the account was last recovered, in Unix seconds.
    pub last_account_recovery_at: i64,
}

/// A device's facts, with the texts that they point to.
pub(super) struct DeviceInfo {
    facts: Box<seconder_device_info>,
    _texts: Vec<Text>,
}

impl DeviceInfo {
    pub(super) fn new(device: &Device) -> DeviceInfo {
        let mut texts = Vec::new();
        let mut text = |told: &Option<String>| {
            let text = Text::of(told.as_deref());
            let start = pointer(&text);
            texts.extend(text);
            start
        };
        let facts = Box::new(seconder_device_info {
            id: device.id.unwrap_or_default(),
            ip: text(&device.ip),
            city: text(&device.city),
            region: text(&device.region),
            country: text(&device.country),
            os_type: text(&device.os_type),
            registration_device_id: device.registration_device_id.unwrap_or_default(),
            registration_ip: text(&device.registration_ip),
            registration_city: text(&device.registration_city),
            registration_region: text(&device.registration_region),
            registration_country: text(&device.registration_country),
            registration_method: text(&device.registration_method),
            registration_date: device.registration_date.unwrap_or_default(),
            last_account_recovery_at: device.last_account_recovery_at.unwrap_or_default(),
        });
        DeviceInfo { facts, _texts: texts }
    }

    pub(super) fn as_ptr(&self) -> *const seconder_device_info {
        &raw const *self.facts
    }
}

/// A device that was registered for a user: what it needs to answer approval requests.
pub struct seconder_device {
    id: u64,
    secret: Text,
}

impl From<DeviceRegistered> for seconder_device {
    fn from(device: DeviceRegistered) -> seconder_device {
        let secret = Text::new(device.secret.expose());
        seconder_device { id: device.device_id.get(), secret }
    }
}

/// Registers a device for a user, with an engine in this process; SECONDER_INVALID when a service
/// elsewhere answers.
///
/// `device_type` is "android", "android_tablet", "ios" or "svc_chrome". SECONDER_REFUSED when there
/// is no such user.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_register_device(
    service: Option<&seconder_service>,
    svc_id: u64,
    device_type: *const c_char,
    out: *mut *mut seconder_device,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        give(out, error, || {
            let engine = border::need("service", service)?.service.require_engine()?;
            let svc_id = named("svc_id", UserId::try_from(svc_id))?;
            let kind = border::value("device_type", device_type)?;
            Ok(engine.register_device(svc_id, kind)?.into())
        })
    }
}

/// Answers an approval request from a device, with an engine in this process, and posts the callback
/// before it returns; SECONDER_INVALID when a service elsewhere answers.
///
/// `answer` is "approve", "deny", or "report", which denies and gives the user 5 minutes of quiet.
/// SECONDER_REFUSED when the request is not the device's to answer, or no longer.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_answer_approval(
    service: Option<&seconder_service>,
    uuid: *const c_char,
    device_id: u64,
    device_secret: *const c_char,
    answer: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        run(error, || {
            let engine = border::need("service", service)?.service.require_engine()?;
            let _ = engine.answer_approval(&AnswerApproval {
                uuid: border::value("uuid", uuid)?,
                device_id: named("device_id", DeviceId::try_from(device_id))?,
                device_secret: border::value("device_secret", device_secret)?,
                answer: border::value("answer", answer)?,
            })?;
            Ok(())
        })
    }
}

/// The device's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_id(device: Option<&seconder_device>) -> u64 {
    look(device, |device| device.id)
}

/// What the device proves itself with. It is told this once: keep it in the device.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_secret(device: Option<&seconder_device>) -> *const c_char {
    look(device, |device| device.secret.as_ptr())
}

/// Frees the reply of seconder_register_device(), and wipes the secret. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_free(device: Option<Box<seconder_device>>) {
    free(device);
}
