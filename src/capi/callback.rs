//! Callbacks: what a service posts when a user answered, believed after its signature held.

use super::devices::{DeviceInfo, seconder_device_info};
use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, Text, free, read_handle, with_out};
use super::status::{of_approval, seconder_status};
use super::text::seconder_text;
use crate::callback::{Event, Received, query, sign, sign_query, verify, verify_parameters};
use crate::calls::ApprovalStatus;
use crate::model::{Secret, UserId};
use serde_json::Value;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

/// A callback as it was received (interface 5.5). A missing text may be NULL.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_callback {
    /// The callback URL as it is configured with the service: scheme included, no parameters. Never
    /// take it from the request's Host. NULL where a verifier was told the URL.
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
    user_id: u64,
    event: Event,
    // Few ask for these, so they are made when they are asked for.
    device: OnceLock<Option<DeviceInfo>>,
    parameters: OnceLock<Text>,
}

impl From<Event> for seconder_event {
    fn from(event: Event) -> seconder_event {
        seconder_event {
            uuid: Text::new(event.uuid.as_str()),
            status: event.status,
            user_id: event.user_id.map_or(0, UserId::get),
            event,
            device: OnceLock::new(),
            parameters: OnceLock::new(),
        }
    }
}

fn written(event: &Event) -> Text {
    Text::new(&Value::Object(event.parameters()).to_string())
}

/// Checks a callback's signature and reads it (interface 5.5). `api_key` is the application's, which
/// the service signs with; `received` needs a `url`. For freshness, a memory of what was received
/// before and several URLs, see seconder_verifier_new().
///
/// SECONDER_OK says that the service sent it, and nothing of the answer: ask
/// seconder_event_approved_by() of the event at `out`, and free it with seconder_event_free().
/// SECONDER_INVALID_CALLBACK says that nothing of it is to be believed: answer it with status 401.
/// SECONDER_INVALID_ARGUMENT says that the key or a field of `received` cannot be right.
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
        with_out(out, error, || {
            let key: Secret = ffi::value("api_key", api_key)?;
            Ok(verify(&key, &read(received, received_size, true)?)?.into())
        })
    }
}

/// Checks a callback's signature, whatever its parameters mean, and gives those that it covers: the
/// text of a JSON object. `api_key` is the application's.
///
/// `out` is freed with seconder_text_free(). SECONDER_INVALID_CALLBACK says that nothing of it is to be
/// believed; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` cannot be right.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_verify_parameters(
    api_key: *const c_char,
    received: *const seconder_callback,
    received_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let key: Secret = ffi::value("api_key", api_key)?;
            let parameters = verify_parameters(&key, &read(received, received_size, true)?)?;
            Ok(seconder_text::new(&Value::Object(parameters).to_string()))
        })
    }
}

/// What was received; the URL can be missing where a verifier knows it.
///
/// # Safety
/// `received` is NULL, or `size` bytes can be read there; every pointer in them is NULL or a text,
/// and so many bytes are at `body` as `body_size` says.
pub(super) unsafe fn read<'a>(
    received: *const seconder_callback,
    size: usize,
    with_url: bool,
) -> Outcome<Received<'a>> {
    if received.is_null() {
        return Err(ffi::null("received"));
    }
    // SAFETY: promised by the caller.
    unsafe {
        let given = ffi::sized("received_size", received, size)?;
        let url = ffi::text_if("url", given.url)?;
        if with_url && url.is_none() {
            return Err(ffi::null("url"));
        }
        Ok(Received {
            url: url.unwrap_or_default(),
            method: ffi::text("method", given.method)?,
            query: ffi::text_if("query", given.query)?.unwrap_or_default(),
            body: ffi::bytes(["body", "body_size"], given.body, given.body_size)?,
            signature: ffi::text_if("signature", given.signature)?.unwrap_or_default(),
            nonce: ffi::text_if("nonce", given.nonce)?.unwrap_or_default(),
        })
    }
}

/// Signs a JSON body that is posted to `url`, as a service does (interface 5.5). `nonce` is a text
/// without `|`, and usually begins with the Unix second.
///
/// `out`, the value of the header X-Svc-Signature, is freed with seconder_text_free().
/// SECONDER_INVALID_CALLBACK when the body is not a JSON object, names a field twice, or has more than any callback
/// has; SECONDER_INVALID_ARGUMENT for a key, a nonce or a URL that no signature can hold.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_sign(
    api_key: *const c_char,
    nonce: *const c_char,
    url: *const c_char,
    body: *const c_void,
    body_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let key: Secret = ffi::value("api_key", api_key)?;
            let (nonce, url) = (ffi::text("nonce", nonce)?, ffi::text("url", url)?);
            let body = ffi::bytes(["body", "body_size"], body, body_size)?;
            Ok(seconder_text::new(&sign(&key, nonce, url, body)?))
        })
    }
}

/// Signs a query that is asked for at `url` with GET, as a service does (interface 5.5).
/// seconder_callback_query() makes the query of a JSON body.
///
/// `out`, the value of the header X-Svc-Signature, is freed with seconder_text_free().
/// SECONDER_INVALID_ARGUMENT for a key, a nonce or a URL that no signature can hold, and for a query that is
/// not percent-encoded UTF-8.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_sign_query(
    api_key: *const c_char,
    nonce: *const c_char,
    url: *const c_char,
    query: *const c_char,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let key: Secret = ffi::value("api_key", api_key)?;
            let (nonce, url) = (ffi::text("nonce", nonce)?, ffi::text("url", url)?);
            Ok(seconder_text::new(&sign_query(&key, nonce, url, ffi::text("query", query)?)?))
        })
    }
}

/// Writes the parameters of a JSON body as a query, sorted and encoded as they are signed
/// (interface 5.5).
///
/// `out` is freed with seconder_text_free(). SECONDER_INVALID_CALLBACK when the body is not a JSON object, names a
/// field twice, or has more than any callback has.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_query(
    body: *const c_void,
    body_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let body = ffi::bytes(["body", "body_size"], body, body_size)?;
            Ok(seconder_text::new(&query(body)?))
        })
    }
}

/// Whether this user said yes: the one question that lets anybody in. False for NULL, for any other
/// answer, for another user, and when the service does not tell who answered.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_approved_by(event: Option<&seconder_event>, user_id: u64) -> bool {
    let yes = |event: &seconder_event| event.status == ApprovalStatus::Approved;
    read_handle(event, |event| user_id != 0 && event.user_id == user_id && yes(event))
}

/// The approval request's name. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_uuid(event: Option<&seconder_event>) -> *const c_char {
    read_handle(event, |event| event.uuid.as_ptr())
}

/// How the user answered: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
/// anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_status(event: Option<&seconder_event>) -> i32 {
    read_handle(event, |event| of_approval(event.status))
}

/// The user who answered; 0 where the service does not tell. Compare it with the user who logs in, or
/// ask seconder_event_approved_by().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_user_id(event: Option<&seconder_event>) -> u64 {
    read_handle(event, |event| event.user_id)
}

/// The device that answered; NULL where the service does not tell. It belongs to the event.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_device(
    event: Option<&seconder_event>,
) -> *const seconder_device_info {
    read_handle(event, |event| {
        let device =
            event.device.get_or_init(|| event.event.device().as_ref().map(DeviceInfo::new));
        device.as_ref().map_or(ptr::null(), DeviceInfo::as_ptr)
    })
}

/// Everything that was received and signed: the text of a JSON object. Empty objects and lists are
/// left out, because no signature covers them. Nor does one cover whether a value is a number or its
/// text, or null or an empty text: decide on none of these. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_parameters(event: Option<&seconder_event>) -> *const c_char {
    read_handle(event, |event| event.parameters.get_or_init(|| written(&event.event)).as_ptr())
}

/// Frees the event of seconder_callback_verify() or seconder_verifier_verify(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_free(event: Option<Box<seconder_event>>) {
    free(event);
}
