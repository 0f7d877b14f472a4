//! Written by tools/generate from src/capi/post.rs.

use crate::capi::ffi::read_handle;
use crate::capi::post::seconder_signed_callback;
use std::ffi::c_char;

/// The method to send the callback by, "POST" or "GET" (the option `callback_method`). NULL only
/// for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_method(
    signed_callback: Option<&seconder_signed_callback>,
) -> *const c_char {
    read_handle(signed_callback, |reply| reply.method.as_ptr())
}

/// The URL to send the callback to, without the query. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_url(
    signed_callback: Option<&seconder_signed_callback>,
) -> *const c_char {
    read_handle(signed_callback, |reply| reply.url.as_ptr())
}

/// The query to send by GET, without the question mark; empty for a POST. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_signed_callback_query(
    signed_callback: Option<&seconder_signed_callback>,
) -> *const c_char {
    read_handle(signed_callback, |reply| reply.query.as_ptr())
}
