//! Written by tools/generate from src/calls.rs.

use crate::calls::Done;
use crate::capi::ffi::{Text, free, pointer, read_handle};
use std::ffi::c_char;

/// The reply to a call that returns only a message.
pub struct seconder_done {
    message: Option<Text>,
}

impl From<Done> for seconder_done {
    fn from(reply: Done) -> seconder_done {
        seconder_done { message: Text::of(reply.message.as_deref()) }
    }
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_done_message(done: Option<&seconder_done>) -> *const c_char {
    read_handle(done, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_delete_user() and similar calls. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_done_free(done: Option<Box<seconder_done>>) {
    free(done);
}
