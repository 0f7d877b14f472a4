//! Callbacks: what a service posts when a user answered, believed after its signature held.

use super::border::{self, Outcome, Plain, Text, free, give, look};
use super::devices::{DeviceInfo, seconder_device_info};
use super::error::seconder_error;
use super::status::{of_approval, seconder_status};
use crate::Error;
use crate::callback::{Event, Received, verify};
use crate::calls::ApprovalStatus;
use crate::model::{Secret, UserId};
use serde_json::Value;
use std::ffi::{c_char, c_void};
use std::{ptr, slice};

/// A callback as it was received (interface 5.5). A missing text may be NULL.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_callback {
    /// The callback URL as it is configured with the service: scheme included, no parameters. Never
    /// take it from the request's Host.
    pub url: *const c_char,
    /// The request's method: "POST" or "GET".
    pub method: *const c_char,
    /// The raw query of a GET, without the `?`.
    pub query: *const c_char,
    /// The raw body of a POST. It need not end with a NUL.
    pub body: *const c_void,
    /// How many bytes `body` has.
    pub body_size: usize,
    /// The header X-Svc-Signature.
    pub signature: *const c_char,
    /// The header X-Svc-Signature-Nonce.
    pub nonce: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_callback {}

/// An answer to an approval request, told by the service itself.
pub struct seconder_event {
    uuid: Text,
    status: ApprovalStatus,
    svc_id: u64,
    device: Option<DeviceInfo>,
    parameters: Text,
}

impl From<Event> for seconder_event {
    fn from(event: Event) -> seconder_event {
        seconder_event {
            uuid: Text::new(event.uuid.as_str()),
            status: event.status,
            svc_id: event.svc_id.map_or(0, UserId::get),
            device: event.device.as_ref().map(DeviceInfo::new),
            parameters: Text::new(&Value::Object(event.parameters).to_string()),
        }
    }
}

/// Checks a callback's signature and reads it. `api_key` is the application's, which the service
/// signs with.
///
/// SECONDER_OK says that the service sent it, and nothing of the answer: only a
/// seconder_event_status() of SECONDER_APPROVAL_APPROVED lets anyone in. SECONDER_FORGED says that
/// nothing of it is to be believed: answer it with status 401.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_verify(
    api_key: *const c_char,
    received: *const seconder_callback,
    received_size: usize,
    out: *mut *mut seconder_event,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        give(out, error, || {
            let key: Secret = border::value("api_key", api_key)?;
            if received.is_null() {
                return Err(border::null("received"));
            }
            let received = border::options(received, received_size)?;
            Ok(verify(&key, &as_received(&received)?)?.into())
        })
    }
}

/// # Safety
/// Every pointer is NULL or a text, and so many bytes are at `body` as `body_size` says.
unsafe fn as_received<'a>(given: &seconder_callback) -> Outcome<Received<'a>> {
    let body = match (given.body.is_null(), given.body_size) {
        (true, 0) => &[],
        (true, _) => return Err(border::null("body")),
        (false, size) if isize::try_from(size).is_err() => {
            return Err(Error::invalid("body_size", "is larger than any body").into());
        }
        // SAFETY: promised by the caller.
        (false, size) => unsafe { slice::from_raw_parts(given.body.cast(), size) },
    };
    // SAFETY: promised by the caller.
    unsafe {
        Ok(Received {
            url: border::text("url", given.url)?,
            method: border::text("method", given.method)?,
            query: border::text_if("query", given.query)?.unwrap_or_default(),
            body,
            signature: border::text_if("signature", given.signature)?.unwrap_or_default(),
            nonce: border::text_if("nonce", given.nonce)?.unwrap_or_default(),
        })
    }
}

/// The approval request.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_uuid(event: Option<&seconder_event>) -> *const c_char {
    look(event, |event| event.uuid.as_ptr())
}

/// How the user answered: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
/// anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_status(event: Option<&seconder_event>) -> i32 {
    look(event, |event| of_approval(event.status))
}

/// The user who answered. Compare it with the user who logs in.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_svc_id(event: Option<&seconder_event>) -> u64 {
    look(event, |event| event.svc_id)
}

/// The device that answered; NULL where the service does not tell. It belongs to the event.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_device(
    event: Option<&seconder_event>,
) -> *const seconder_device_info {
    look(event, |event| event.device.as_ref().map_or(ptr::null(), DeviceInfo::as_ptr))
}

/// Everything that was received: the text of a JSON object.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_parameters(event: Option<&seconder_event>) -> *const c_char {
    look(event, |event| event.parameters.as_ptr())
}

/// Frees the event of seconder_callback_verify(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_free(event: Option<Box<seconder_event>>) {
    free(event);
}
