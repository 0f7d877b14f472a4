//! Invitations, by which users register phones.

use super::error::seconder_error;
use super::ffi::{self, Plain, Text, free, named, number_if, read_handle, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use crate::calls::{DeviceInvited, Handle, InviteDevice};
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_invite_device().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_invite_device_options {
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    pub qr_size: u64,
}

// SAFETY: a number.
unsafe impl Plain for seconder_invite_device_options {}

/// An invitation to register a phone. Anyone who sees it can use it.
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

/// Makes an invitation, by which a user registers a phone that approves logins and shows codes (interface
/// 4.31). It can be used once, within ten minutes.
///
/// Free `out` with seconder_device_invited_free(), which wipes the invitation. SECONDER_REJECTED, with the
/// service code "no_public_url", if nobody has said where phones reach the service, and if there is no such
/// user. Other statuses are as described at the top of the header.
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
    invited: Option<&seconder_device_invited>,
) -> *const c_char {
    read_handle(invited, |invited| invited.link.as_ptr())
}

/// The code in the link, which can be typed too: ten letters and digits in two groups. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_code(
    invited: Option<&seconder_device_invited>,
) -> *const c_char {
    read_handle(invited, |invited| invited.code.as_ptr())
}

/// The link as a QR code: a data: URL for an `<img>`. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_qr_code(
    invited: Option<&seconder_device_invited>,
) -> *const c_char {
    read_handle(invited, |invited| invited.qr_code.as_ptr())
}

/// For how long the invitation is valid, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_expires_in(
    invited: Option<&seconder_device_invited>,
) -> u64 {
    read_handle(invited, |invited| invited.expires_in)
}

/// Frees the reply of seconder_invite_device(), and wipes the invitation. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_device_invited_free(invited: Option<Box<seconder_device_invited>>) {
    free(invited);
}
