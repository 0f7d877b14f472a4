//! Callbacks of an engine, passed to a function of the C program that posts them.

use super::ffi::{Text, read_handle};
use super::jobs::{self, Details};
use std::ffi::{c_char, c_void};
use std::ptr;

/// A callback on its way to the application (interface 6). It is valid until the post function
/// returns.
pub struct seconder_signed_callback {
    /// The method to send the callback by, "POST" or "GET" (the option `callback_method`).
    pub(super) method: Text,
    /// The URL to send the callback to, without the query.
    pub(super) url: Text,
    /// The query to send by GET, without the question mark; empty for a POST.
    pub(super) query: Text,
    pub(super) body: Vec<u8>,
    pub(super) headers: Vec<(Text, Text)>,
    pub(super) details: Details,
}

/// Posts a callback to the application. It returns SECONDER_OUTCOME_SENT, which is 0, if the
/// application accepted the callback; SECONDER_OUTCOME_PERMANENT if the callback must not be posted
/// again; and SECONDER_OUTCOME_RETRY, SECONDER_OUTCOME_NOT_ATTEMPTED, SECONDER_OUTCOME_AMBIGUOUS or any
/// other number if it is to be posted again, which seconder_run_jobs() does.
///
/// It runs inside the call that answers an approval request, on the same thread, and on several
/// threads at once if several make such calls. It must return normally: it must not be left by
/// longjmp() or a C++ exception. It should return within 30 seconds: one that takes longer than a
/// minute counts as ended by a crash, and seconder_run_jobs() may post the callback again.
pub type seconder_post = Option<
    unsafe extern "C" fn(
        callback: *const seconder_signed_callback,
        post_userdata: *mut c_void,
    ) -> i32,
>;

/// The JSON body, owned by the callback. It is not NUL-terminated, and empty for a GET. NULL only for a
/// NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_body(
    callback: Option<&seconder_signed_callback>,
) -> *const c_void {
    read_handle(callback, |callback| callback.body.as_ptr().cast())
}

/// The size of the body in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_body_size(
    callback: Option<&seconder_signed_callback>,
) -> usize {
    read_handle(callback, |callback| callback.body.len())
}

/// The number of headers. They carry the signature and its nonce (interface 5.5), which are new in each
/// attempt, and as Seconder-Delivery an id that is the same in all attempts to post the callback.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_header_count(
    callback: Option<&seconder_signed_callback>,
) -> usize {
    read_handle(callback, |callback| callback.headers.len())
}

/// The name of the header at `index`; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_header_name(
    callback: Option<&seconder_signed_callback>,
    index: usize,
) -> *const c_char {
    read_handle(callback, |callback| {
        callback.headers.get(index).map_or(ptr::null(), |(n, _)| n.as_ptr())
    })
}

/// The value of the header at `index`; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_header_value(
    callback: Option<&seconder_signed_callback>,
    index: usize,
) -> *const c_char {
    read_handle(callback, |callback| {
        callback.headers.get(index).map_or(ptr::null(), |(_, v)| v.as_ptr())
    })
}

/// For the post function, before it returns SECONDER_OUTCOME_RETRY or SECONDER_OUTCOME_NOT_ATTEMPTED:
/// the callback is not posted again earlier than after so many milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_set_retry_after_ms(
    callback: Option<&seconder_signed_callback>,
    after_ms: u64,
) {
    read_handle(callback, |callback| callback.details.set_retry_after(after_ms));
}

/// For the post function, before it returns anything but SECONDER_OUTCOME_SENT: what went wrong, in
/// words, which are kept with the callback. NULL: the number that is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_signed_callback_set_reason(
    callback: Option<&seconder_signed_callback>,
    reason: *const c_char,
) {
    // SAFETY: as the header requires.
    read_handle(callback, |callback| callback.details.set_reason(unsafe { jobs::given(reason) }));
}
