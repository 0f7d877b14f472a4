//! Codes: sending and checking them, and the secret from which an app generates them.

use super::devices::DeviceInfo;
use super::devices::seconder_device_info;
use super::error::seconder_error;
use super::ffi::pointer;
use super::ffi::{
    self, Flag, Outcome, Plain, Text, free, named, number_if, read_handle, with_optional_out,
    with_out,
};
use super::open::seconder_service;
use super::status::*;
use crate::calls::{
    AuthenticatorEnrolled, CodeRequested, EnrolAuthenticator, Handle, RequestCall, RequestSms,
    Verdict, Verification, Verify,
};
use crate::model::UserId;
use std::ffi::c_char;
use std::ptr;

/// Options of seconder_request_sms().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_request_sms_options {
    /// Makes the code valid for this action alone; pass the same action to seconder_verify(). 1 to
    /// 128 bytes without control characters.
    pub action: *const c_char,
    /// The description of the action in the message: 1 to 1024 bytes.
    pub action_message: *const c_char,
    /// The language of the message, such as "de". A service that lacks it uses its own default.
    pub locale: *const c_char,
    /// Whether the code is sent even if the user has an app: SECONDER_YES or SECONDER_NO. Default: as the
    /// service has it, which is no unless its application says otherwise.
    pub force: i32,
    /// The IP address from which the request originates, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_request_call().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_request_call_options {
    /// Makes the code valid for this action alone; pass the same action to seconder_verify(). 1 to
    /// 128 bytes without control characters.
    pub action: *const c_char,
    /// The description of the action in the voice message: 1 to 1024 bytes.
    pub action_message: *const c_char,
    /// The language of the voice message, such as "de". A service that lacks it uses its own default.
    pub locale: *const c_char,
    /// Whether the user is called even if the user has an app: SECONDER_YES or SECONDER_NO. Default: as for
    /// an SMS.
    pub force: i32,
    /// The IP address from which the request originates, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_verify().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_verify_options {
    /// Checks the code even if the user was never confirmed.
    pub force: Flag,
    /// The action that the code was sent for.
    pub action: *const c_char,
    /// The IP address from which the request originates, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_enrol_authenticator().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_enrol_authenticator_options {
    /// The label that the app shows beside the code, 1 to 1024 bytes without a colon. Default: the user's
    /// e-mail address.
    pub label: *const c_char,
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    pub qr_size: u64,
}

// SAFETY: flags and pointers alone.
unsafe impl Plain for seconder_request_sms_options {}
// SAFETY: flags and pointers alone.
unsafe impl Plain for seconder_request_call_options {}
// SAFETY: flags and pointers alone.
unsafe impl Plain for seconder_verify_options {}
// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_enrol_authenticator_options {}

/// A code that was sent, or was not needed.
pub struct seconder_code_requested {
    message: Option<Text>,
    cellphone: Option<Text>,
    ignored: bool,
    device: Option<Text>,
    resend_after: Option<u64>,
}

/// The reply for a code that was checked and is correct. Any other outcome returns none.
pub struct seconder_verification {
    message: Option<Text>,
    device: Option<DeviceInfo>,
}

/// What a user's authenticator app needs. Anyone who sees it can generate the user's codes.
pub struct seconder_authenticator_enrolled {
    label: Option<Text>,
    issuer: Option<Text>,
    uri: Text,
    qr_code: Text,
}

impl From<CodeRequested> for seconder_code_requested {
    fn from(reply: CodeRequested) -> seconder_code_requested {
        seconder_code_requested {
            message: Text::of(reply.message.as_deref()),
            cellphone: Text::of(reply.cellphone.as_deref()),
            ignored: reply.ignored,
            device: Text::of(reply.device.as_deref()),
            resend_after: reply.resend_after,
        }
    }
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

/// The one place where a verdict becomes a status. `name` is that of the argument which was checked.
pub(super) fn decide(name: &str, reply: Verification) -> Outcome<seconder_verification> {
    let code = reply.error_code.as_deref();
    let no = |status, message| Err(seconder_error::of_token(name, status, message, code));
    match reply.verdict {
        Verdict::Right => Ok(seconder_verification {
            message: Text::of(reply.message.as_deref()),
            device: reply.device.as_ref().map(DeviceInfo::new),
        }),
        Verdict::Wrong if reply.reused => no(SECONDER_TOKEN_REUSED, "has been used already"),
        Verdict::Wrong => no(SECONDER_TOKEN_WRONG, "is wrong"),
        Verdict::NotChecked => no(
            SECONDER_TOKEN_NOT_CHECKED,
            "was not checked, because the user was never confirmed: set the option force",
        ),
    }
}

/// Sends a code by SMS (interface 4.2).
///
/// `out` may be NULL; otherwise free it with seconder_code_requested_free(). SECONDER_RATE_LIMITED
/// if the user was sent an SMS for this action a moment ago, or too many codes;
/// SECONDER_REJECTED if there is no such user. Other statuses are as described at the top of the
/// header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_request_sms(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_request_sms_options,
    options_size: usize,
    out: *mut *mut seconder_code_requested,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = RequestSms {
                user_id: named("user_id", UserId::try_from(user_id))?,
                action: ffi::value_if("action", options.action)?,
                action_message: ffi::value_if("action_message", options.action_message)?,
                locale: ffi::text_if("locale", options.locale)?.map(str::to_owned),
                force: chosen("force", options.force, &YES_OR_NO)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Sends a code by voice call (interface 4.3).
///
/// `out` may be NULL; otherwise free it with seconder_code_requested_free(). SECONDER_RATE_LIMITED
/// if the user was called for this action a moment ago, or sent too many codes; an SMS a moment ago
/// does not matter, and the call says the same code. SECONDER_REJECTED if there is no such user.
/// Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_request_call(
    service: Option<&seconder_service>,
    user_id: u64,
    options: *const seconder_request_call_options,
    options_size: usize,
    out: *mut *mut seconder_code_requested,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = RequestCall {
                user_id: named("user_id", UserId::try_from(user_id))?,
                action: ffi::value_if("action", options.action)?,
                action_message: ffi::value_if("action_message", options.action_message)?,
                locale: ffi::text_if("locale", options.locale)?.map(str::to_owned),
                force: chosen("force", options.force, &YES_OR_NO)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Checks the code that a user typed (interface 4.4).
///
/// Only SECONDER_OK means that the code was checked and is correct. `token` must be 6 to 12 digits
/// and nothing else. `out` may be NULL; otherwise free it with seconder_verification_free().
///
/// SECONDER_TOKEN_WRONG, SECONDER_TOKEN_REUSED and SECONDER_TOKEN_NOT_CHECKED say why the code was
/// not accepted; SECONDER_RATE_LIMITED is returned after wrong codes, until the user may try again;
/// SECONDER_TOKEN_MALFORMED means that `token` does not have the form of a token, with or without
/// `force`. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_verify(
    service: Option<&seconder_service>,
    token: *const c_char,
    user_id: u64,
    options: *const seconder_verify_options,
    options_size: usize,
    out: *mut *mut seconder_verification,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = Verify {
                token: ffi::typed("token", token)?,
                user_id: named("user_id", UserId::try_from(user_id))?,
                force: options.force.is_set(),
                action: ffi::value_if("action", options.action)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            decide("token", service.service.handle(&call)?)
        })
    }
}

/// Creates a new secret for a user's authenticator app. The user's previous secret stays valid
/// until a code of the new one has been accepted: check one with seconder_confirm_authenticator().
///
/// Free `out` with seconder_authenticator_enrolled_free(), which wipes the secret.
/// SECONDER_REJECTED if there is no such user. Other statuses are as described at the top of the
/// header.
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

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_message(
    code: Option<&seconder_code_requested>,
) -> *const c_char {
    read_handle(code, |code| pointer(&code.message))
}

/// The phone number used, masked: +1-XXX-XXX-XX23. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_cellphone(
    code: Option<&seconder_code_requested>,
) -> *const c_char {
    read_handle(code, |code| pointer(&code.cellphone))
}

/// Whether nothing was sent because the user has an app and `force` was not set.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_ignored(code: Option<&seconder_code_requested>) -> bool {
    read_handle(code, |code| code.ignored)
}

/// The user's latest device, if the request was ignored. NULL if it was not, or if the service does
/// not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_device(
    code: Option<&seconder_code_requested>,
) -> *const c_char {
    read_handle(code, |code| pointer(&code.device))
}

/// After how many seconds another request for the same action by the same channel is accepted, even
/// if the code is not used. 0 also if nothing was sent or if the service does not say, for which there
/// is seconder_code_requested_resend_after_known().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_resend_after(
    code: Option<&seconder_code_requested>,
) -> u64 {
    read_handle(code, |code| code.resend_after.unwrap_or_default())
}

/// Whether the service says after how many seconds another request is accepted, as only a service of
/// Seconder does.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_resend_after_known(
    code: Option<&seconder_code_requested>,
) -> bool {
    read_handle(code, |code| code.resend_after.is_some())
}

/// Frees the reply of seconder_request_sms() or seconder_request_call(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_code_requested_free(code: Option<Box<seconder_code_requested>>) {
    free(code);
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verification_message(
    verification: Option<&seconder_verification>,
) -> *const c_char {
    read_handle(verification, |verification| pointer(&verification.message))
}

/// The device that generated or received the code (interface 2.5), owned by the verification; NULL
/// if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verification_device(
    verification: Option<&seconder_verification>,
) -> *const seconder_device_info {
    read_handle(verification, |verification| {
        verification.device.as_ref().map_or(ptr::null(), DeviceInfo::as_ptr)
    })
}

/// Frees the reply of seconder_verify(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verification_free(verification: Option<Box<seconder_verification>>) {
    free(verification);
}

/// The label that the app shows beside the code. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_label(
    enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(enrolled, |enrolled| pointer(&enrolled.label))
}

/// The issuer that the app shows. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_issuer(
    enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(enrolled, |enrolled| pointer(&enrolled.issuer))
}

/// The otpauth: URI that contains the secret. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_uri(
    enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(enrolled, |enrolled| enrolled.uri.as_ptr())
}

/// The URI as a QR code: a data: or https: URL for an `<img>`. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_qr_code(
    enrolled: Option<&seconder_authenticator_enrolled>,
) -> *const c_char {
    read_handle(enrolled, |enrolled| enrolled.qr_code.as_ptr())
}

/// Frees the reply of seconder_enrol_authenticator(), and wipes the secret. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_authenticator_enrolled_free(
    enrolled: Option<Box<seconder_authenticator_enrolled>>,
) {
    free(enrolled);
}
