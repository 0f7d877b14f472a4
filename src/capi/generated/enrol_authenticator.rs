//! Written by tools/generate from src/calls/enrol_authenticator.rs.

use crate::calls::{AuthenticatorEnrolled, EnrolAuthenticator, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, named, number_if, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_enrol_authenticator().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_enrol_authenticator_options {
    /// The label that the app shows with the code, without a colon. 1 to 1024 bytes. Default: the
    /// user's e-mail address, with a space for each colon.
    pub label: *const c_char,
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    pub qr_size: u64,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_enrol_authenticator_options {}

/// The secret for the user's app. Anyone who has it can generate the user's codes.
pub struct seconder_authenticator_enrolled {
    label: Option<Text>,
    issuer: Option<Text>,
    uri: Text,
    qr_code: Text,
}

impl From<AuthenticatorEnrolled> for seconder_authenticator_enrolled {
    fn from(reply: AuthenticatorEnrolled) -> seconder_authenticator_enrolled {
        seconder_authenticator_enrolled {
            label: Text::of(reply.label.as_deref()),
            issuer: Text::of(reply.issuer.as_deref()),
            uri: Text::new(reply.uri.expose()),
            qr_code: Text::new(reply.qr_code.expose()),
        }
    }
}

/// Issues a new secret for a user's authenticator app, with a QR code. A previous secret remains
/// valid until a code of the new one has been accepted: check one with
/// seconder_confirm_authenticator().
///
/// `user_id` is the user whose app gets the secret.
///
/// Free `out` with seconder_authenticator_enrolled_free(), which wipes it. SECONDER_REJECTED if
/// there is no such user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_enrol_authenticator(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_enrol_authenticator_options,
    options_size: usize,
    out: *mut *mut seconder_authenticator_enrolled,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = EnrolAuthenticator {
                user_id: named("user_id", UserId::try_from(user_id))?,
                label: ffi::value_if("label", options.label)?,
                qr_size: number_if(options.qr_size),
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The label that the app shows with the code. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_label(
    authenticator_enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(authenticator_enrolled, |reply| pointer(&reply.label))
}

/// The name of the application that the code is for. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_issuer(
    authenticator_enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(authenticator_enrolled, |reply| pointer(&reply.issuer))
}

/// The "otpauth:" URI that contains the secret. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_uri(
    authenticator_enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(authenticator_enrolled, |reply| reply.uri.as_ptr())
}

/// The URI as a QR code: a "data:" or "https:" URL for an `<img>`. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_qr_code(
    authenticator_enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(authenticator_enrolled, |reply| reply.qr_code.as_ptr())
}

/// Frees the reply of seconder_enrol_authenticator(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_free(
    authenticator_enrolled: Option<Box<seconder_authenticator_enrolled>>,
) {
    free(authenticator_enrolled);
}
