//! Written by tools/generate from src/capi/callback.rs.

use crate::capi::callback::seconder_event;
use crate::capi::ffi::{free, read_handle};
use std::ffi::c_char;

/// The approval request's uuid. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_uuid(event: Option<&seconder_event>) -> *const c_char {
    read_handle(event, |reply| reply.uuid.as_ptr())
}

/// The user's answer: one of SECONDER_APPROVAL_..., and only SECONDER_APPROVAL_APPROVED lets anyone
/// in. SECONDER_APPROVAL_UNKNOWN for an answer that this library does not know.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_status(event: Option<&seconder_event>) -> i32 {
    read_handle(event, |reply| reply.status)
}

/// The id of the user who answered; 0 if the service does not provide it. Compare it with the user
/// who is logging in, or ask whether that user approved.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_user_id(event: Option<&seconder_event>) -> u64 {
    read_handle(event, |reply| reply.user_id)
}

/// Frees the event of seconder_callback_verify() or seconder_verifier_verify(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_event_free(event: Option<Box<seconder_event>>) {
    free(event);
}
