//! Written by tools/generate from src/capi/engine.rs.

use crate::capi::engine::{seconder_approval_request, seconder_approval_requests, seconder_device};
use crate::capi::ffi::{free, read_handle};
use std::ffi::c_char;

/// The device's id.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_id(device: Option<&seconder_device>) -> u64 {
    read_handle(device, |reply| reply.id)
}

/// The secret that authenticates the device. It is provided only once: store it on the device. NULL
/// only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_secret(device: Option<&seconder_device>) -> *const c_char {
    read_handle(device, |reply| reply.secret.as_ptr())
}

/// Frees the reply of seconder_register_device(), and wipes the secret. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_free(device: Option<Box<seconder_device>>) {
    free(device);
}

/// The number of values that seconder_approval_requests_request() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_requests_request_count(
    approval_requests: Option<&seconder_approval_requests>,
) -> usize {
    read_handle(approval_requests, |reply| reply.requests.len())
}

/// The requests, oldest first. Returns the one at `index`, owned by the handle; NULL if `index` is
/// out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_requests_request(
    approval_requests: Option<&seconder_approval_requests>,
    index: usize,
) -> *const seconder_approval_request {
    read_handle(approval_requests, |reply| reply.requests.get(index))
}

/// Frees the reply of seconder_open_approvals(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_requests_free(
    approval_requests: Option<Box<seconder_approval_requests>>,
) {
    free(approval_requests);
}
