//! Helpers for functions of the C interface outside of this crate.

pub use super::ffi::{Outcome, named, options, read_handle, run, text, text_if, texts};
pub use super::items::Text;
pub use super::plain::{Flag, Plain};
