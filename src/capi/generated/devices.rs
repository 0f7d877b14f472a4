//! Written by tools/generate from src/calls/devices.rs.

use super::factors::seconder_registered_device;
use crate::calls::{Devices, Handle, RegisteredDevices};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, named, pointer, read_handle, with_out};
use crate::capi::items::Items;
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// The devices that a user has registered.
pub struct seconder_registered_devices {
    devices: Items<seconder_registered_device>,
    message: Option<Text>,
}

impl From<RegisteredDevices> for seconder_registered_devices {
    fn from(reply: RegisteredDevices) -> seconder_registered_devices {
        seconder_registered_devices {
            devices: Items::new(&reply.devices),
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Lists the devices that a user has registered for approval requests (interface 4.25).
///
/// `user_id` is the user whose devices are listed.
///
/// Free `out` with seconder_registered_devices_free(). SECONDER_REJECTED if there is no such user.
/// Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_devices(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_registered_devices,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = Devices { user_id: named("user_id", UserId::try_from(user_id))? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The number of values that seconder_registered_devices_device() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_device_count(
    registered_devices: Option<&seconder_registered_devices>,
) -> usize {
    read_handle(registered_devices, |reply| reply.devices.len())
}

/// The devices, oldest first. Returns the one at `index`, owned by the handle; NULL if `index` is
/// out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_device(
    registered_devices: Option<&seconder_registered_devices>,
    index: usize,
) -> *const seconder_registered_device {
    read_handle(registered_devices, |reply| reply.devices.get(index))
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_message(
    registered_devices: Option<&seconder_registered_devices>,
) -> *const c_char {
    read_handle(registered_devices, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_devices(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_free(
    registered_devices: Option<Box<seconder_registered_devices>>,
) {
    free(registered_devices);
}
