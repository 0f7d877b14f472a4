//! Written by tools/generate from src/calls/invite_device.rs.

use crate::calls::{DeviceInvited, Handle, InviteDevice};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, named, number_if, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_invite_device().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_invite_device_options {
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    pub qr_size: u64,
}

// SAFETY: numbers alone.
unsafe impl Plain for seconder_invite_device_options {}

/// An invitation. Anyone who has its link or its code can register a device.
pub struct seconder_device_invited {
    link: Text,
    code: Text,
    qr_code: Text,
    expires_in: u64,
}

impl From<DeviceInvited> for seconder_device_invited {
    fn from(reply: DeviceInvited) -> seconder_device_invited {
        seconder_device_invited {
            link: Text::new(reply.link.expose()),
            code: Text::new(reply.code.expose()),
            qr_code: Text::new(reply.qr_code.expose()),
            expires_in: reply.expires_in,
        }
    }
}

/// Makes an invitation, by which a user registers a phone that approves logins and shows codes
/// (interface 4.31). It can be used once, within ten minutes.
///
/// `user_id` is the user who registers the phone.
///
/// Free `out` with seconder_device_invited_free(), which wipes it. SECONDER_REJECTED with the
/// service code "no_public_url" if the service has no public URL, by which phones reach it, and if
/// there is no such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_invite_device(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_invite_device_options,
    options_size: usize,
    out: *mut *mut seconder_device_invited,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = InviteDevice {
                user_id: named("user_id", UserId::try_from(user_id))?,
                qr_size: number_if(options.qr_size),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The link that the user opens on the phone. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_link(
    device_invited: Option<&seconder_device_invited>,
) -> *const c_char {
    read_handle(device_invited, |reply| reply.link.as_ptr())
}

/// The code in the link, which can be typed too: ten letters and digits in two groups. NULL only
/// for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_code(
    device_invited: Option<&seconder_device_invited>,
) -> *const c_char {
    read_handle(device_invited, |reply| reply.code.as_ptr())
}

/// The link as a QR code: a "data:" URL for an `<img>`. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_qr_code(
    device_invited: Option<&seconder_device_invited>,
) -> *const c_char {
    read_handle(device_invited, |reply| reply.qr_code.as_ptr())
}

/// For how long the invitation is valid, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_expires_in(
    device_invited: Option<&seconder_device_invited>,
) -> u64 {
    read_handle(device_invited, |reply| reply.expires_in)
}

/// Frees the reply of seconder_invite_device(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_free(
    device_invited: Option<Box<seconder_device_invited>>,
) {
    free(device_invited);
}
