//! A text that belongs to whoever asked for it.

use super::ffi::{Text, free, read_handle};
use std::ffi::c_char;

/// A text that was made for the caller: a code, a signature, a URI. It is wiped when it is freed.
pub struct seconder_text {
    text: Text,
}

impl seconder_text {
    pub(super) fn new(text: &str) -> seconder_text {
        seconder_text { text: Text::new(text) }
    }
}

/// What the text says. It belongs to the text. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_text_value(text: Option<&seconder_text>) -> *const c_char {
    read_handle(text, |text| text.text.as_ptr())
}

/// Frees a text, and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_text_free(text: Option<Box<seconder_text>>) {
    free(text);
}
