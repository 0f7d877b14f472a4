//! A text that the caller owns.

use super::ffi::{Text, free, read_handle};
use std::ffi::c_char;

/// A text that belongs to the caller: a code, a signature, a URI. It is wiped when it is freed.
pub struct seconder_text {
    text: Text,
}

impl seconder_text {
    pub(super) fn new(text: &str) -> seconder_text {
        seconder_text { text: Text::new(text) }
    }
}

/// The characters of the text, owned by the text. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_text_value(text: Option<&seconder_text>) -> *const c_char {
    read_handle(text, |text| text.text.as_ptr())
}

/// Frees a text, and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_text_free(text: Option<Box<seconder_text>>) {
    free(text);
}
