//! Written by tools/generate from src/calls/remove_device.rs.

use super::done::seconder_done;
use crate::calls::{Handle, RemoveDevice};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::{DeviceId, UserId};

/// Removes a registered device of a user (interface 4.26). Its secret is void from then on, and the
/// remembered browsers of the user are forgotten. Approval requests stay open for the user's other
/// devices; a user who has no app and no device left is sent codes by SMS again.
///
/// `user_id` is the user who has the device. `device_id` is the device, by its id in
/// seconder_factors.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED with the
/// service code "device_not_found" if the user has no such device. Other statuses are as described
/// at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remove_device(
    service: Option<&seconder_service>,
    user_id: u64,
    device_id: u64,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = RemoveDevice {
                user_id: named("user_id", UserId::try_from(user_id))?,
                device_id: named("device_id", DeviceId::try_from(device_id))?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
