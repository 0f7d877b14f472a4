//! Written by tools/generate from src/capi/text.rs.

use crate::capi::ffi::{free, read_handle};
use crate::capi::text::seconder_text;
use std::ffi::c_char;

/// The characters of the text. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_text_value(text: Option<&seconder_text>) -> *const c_char {
    read_handle(text, |reply| reply.value.as_ptr())
}

/// Frees a text, and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_text_free(text: Option<Box<seconder_text>>) {
    free(text);
}
