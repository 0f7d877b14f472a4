//! Written by tools/generate from src/capi/sandbox.rs.

use crate::capi::ffi::{free, read_handle};
use crate::capi::sandbox::{seconder_sent_message, seconder_sent_messages};

/// The number of values that seconder_sent_messages_message() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_sent_messages_message_count(
    sent_messages: Option<&seconder_sent_messages>,
) -> usize {
    read_handle(sent_messages, |reply| reply.messages.len())
}

/// The messages, the newest first. Returns the one at `index`, owned by the handle; NULL if `index`
/// is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_sent_messages_message(
    sent_messages: Option<&seconder_sent_messages>,
    index: usize,
) -> *const seconder_sent_message {
    read_handle(sent_messages, |reply| reply.messages.get(index))
}

/// Frees the reply of seconder_sandbox_messages(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_sent_messages_free(sent_messages: Option<Box<seconder_sent_messages>>) {
    free(sent_messages);
}
