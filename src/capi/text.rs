//! A text that the caller owns.

use super::ffi::Text;

/// A text that belongs to the caller: a code, a signature, a URI. It is wiped when it is freed.
#[cfg_attr(false, c(freed = "a text, and wipes it"))]
pub struct seconder_text {
    /// The characters of the text.
    pub(super) value: Text,
}

impl seconder_text {
    pub(super) fn new(text: &str) -> seconder_text {
        seconder_text { value: Text::new(text) }
    }
}
