//! Callbacks: what a service posts when a user has answered, trusted only once its signature is
//! verified.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, Text, read_handle, with_out};
use super::generated::verify::seconder_device_info;
use super::items::Items;
use super::status::{SECONDER_APPROVAL_APPROVED, of_approval, seconder_status};
use super::text::seconder_text;
use crate::callback::{Event, Received, query, sign, sign_query, verify, verify_parameters};
use crate::model::{ApiKey, UserId};
use serde_json::Value;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// A callback as it was received (interface 5.5). A text that is missing may be NULL.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_callback {
    /// The callback URL as configured with the service, including the scheme and without
    /// parameters. Never take it from the request's Host header. May be NULL if a verifier has the
    /// URL.
    pub url: *const c_char,
    /// The request's method: "POST" or "GET".
    pub method: *const c_char,
    /// The raw query of a GET request, without the `?`.
    pub query: *const c_char,
    /// The raw body of a POST request, which need not be NUL-terminated.
    pub body: *const c_void,
    /// The size of `body` in bytes.
    pub body_size: usize,
    /// The header X-Svc-Signature.
    pub signature: *const c_char,
    /// The header X-Svc-Signature-Nonce.
    pub nonce: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_callback {}

/// An answer to an approval request, sent by the service itself.
#[cfg_attr(
    false,
    c(freed = "the event of seconder_callback_verify() or seconder_verifier_verify()")
)]
pub struct seconder_event {
    /// The approval request's uuid.
    pub(super) uuid: Text,
    /// The user's answer: one of SECONDER_APPROVAL_..., and only SECONDER_APPROVAL_APPROVED lets anyone in.
    /// SECONDER_APPROVAL_UNKNOWN for an answer that this library does not know.
    #[cfg_attr(false, cpp(kind = "ApprovalStatus"))]
    pub(super) status: i32,
    /// The id of the user who answered; 0 if the service does not provide it. Compare it with the user who
    /// is logging in, or ask whether that user approved.
    pub(super) user_id: u64,
    event: Event,
    // To read these takes three times as long as to verify the callback, and few programs do. Many
    // threads may read one event.
    device: OnceLock<Items<seconder_device_info>>,
    parameters: OnceLock<Text>,
}

impl From<Event> for seconder_event {
    fn from(event: Event) -> seconder_event {
        seconder_event {
            uuid: Text::new(event.uuid.as_str()),
            status: of_approval(event.status),
            user_id: event.user_id.map_or(0, UserId::get),
            event,
            device: OnceLock::new(),
            parameters: OnceLock::new(),
        }
    }
}

/// Verifies a callback's signature and parses it (interface 5.5). `api_key` is the application's
/// API key, with which the service signs; `received` must have a `url`. For freshness, replay
/// protection and several URLs, see seconder_verifier_new().
///
/// SECONDER_OK means that the service sent the callback, not that the user approved: check that
/// with seconder_event_approved_by() on the event at `out`, and free it with seconder_event_free().
/// SECONDER_INVALID_CALLBACK means that nothing in it may be trusted: respond with status 401.
/// SECONDER_INVALID_ARGUMENT means that the key or a field of `received` is invalid.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_verify(
    api_key: *const c_char,
    received: *const seconder_callback,
    received_size: usize,
    out: *mut *mut seconder_event,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let key: ApiKey = ffi::value("api_key", api_key)?;
            Ok(verify(&key, &read(received, received_size, true)?)?.into())
        })
    }
}

/// Verifies a callback's signature without interpreting its parameters, and returns the parameters
/// that the signature covers, as the text of a JSON object. `api_key` is the application's API key.
///
/// Free `out` with seconder_text_free(). SECONDER_INVALID_CALLBACK means that nothing in the
/// callback may be trusted; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` is
/// invalid.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_verify_parameters(
    api_key: *const c_char,
    received: *const seconder_callback,
    received_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let key: ApiKey = ffi::value("api_key", api_key)?;
            let parameters = verify_parameters(&key, &read(received, received_size, true)?)?;
            Ok(seconder_text::new(&Value::Object(parameters).to_string()))
        })
    }
}

/// The callback as received. The URL may be missing if a verifier has it.
///
/// # Safety
/// `received` is NULL or points to `size` readable bytes; every pointer in them is NULL or a text,
/// and `body_size` bytes can be read at `body`.
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
/// without `|`, which usually starts with the time in Unix seconds.
///
/// `out` receives the value of the header X-Svc-Signature; free it with seconder_text_free().
/// SECONDER_INVALID_ARGUMENT if the body is not a JSON object, has a duplicate field, or is larger
/// than any callback, and for a key, a nonce or a URL that cannot be signed.
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
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let key: ApiKey = ffi::value("api_key", api_key)?;
            let (nonce, url) = (ffi::text("nonce", nonce)?, ffi::text("url", url)?);
            let body = ffi::bytes(["body", "body_size"], body, body_size)?;
            Ok(seconder_text::new(&sign(&key, nonce, url, body)?))
        })
    }
}

/// Signs the query of a GET request to `url`, as a service does (interface 5.5).
/// seconder_callback_query() converts a JSON body to such a query.
///
/// `out` receives the value of the header X-Svc-Signature; free it with seconder_text_free().
/// SECONDER_INVALID_ARGUMENT for a key, a nonce or a URL that cannot be signed, and for a query
/// that is not percent-encoded UTF-8.
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
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let key: ApiKey = ffi::value("api_key", api_key)?;
            let (nonce, url) = (ffi::text("nonce", nonce)?, ffi::text("url", url)?);
            Ok(seconder_text::new(&sign_query(&key, nonce, url, ffi::text("query", query)?)?))
        })
    }
}

/// Converts the parameters of a JSON body to a query, sorted and encoded as they are signed
/// (interface 5.5).
///
/// Free `out` with seconder_text_free(). SECONDER_INVALID_ARGUMENT if the body is not a JSON
/// object, has a duplicate field, or is larger than any callback.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_callback_query(
    body: *const c_void,
    body_size: usize,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let body = ffi::bytes(["body", "body_size"], body, body_size)?;
            Ok(seconder_text::new(&query(body)?))
        })
    }
}

/// Returns whether this user approved the request. This is the only check that may let anyone in. False for
/// NULL, for any other answer, for another user, and if the service does not say which user
/// answered.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_approved_by(event: Option<&seconder_event>, user_id: u64) -> bool {
    let yes = |event: &seconder_event| event.status == SECONDER_APPROVAL_APPROVED;
    read_handle(event, |event| user_id != 0 && event.user_id == user_id && yes(event))
}

/// The device that answered, owned by the event; NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_device(
    event: Option<&seconder_event>,
) -> *const seconder_device_info {
    read_handle(event, |event| {
        let device = || Items::new(event.event.device().as_slice());
        event.device.get_or_init(device).get(0)
    })
}

/// All parameters that were received and signed, as the text of a JSON object. Empty objects and lists
/// are omitted, because the signature does not cover them. It does not distinguish a number from its
/// text, or null from an empty text either: do not rely on these differences. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_parameters(event: Option<&seconder_event>) -> *const c_char {
    read_handle(event, |event| {
        let text = || Text::of_object(&event.event.parameters());
        event.parameters.get_or_init(text).as_ptr()
    })
}
