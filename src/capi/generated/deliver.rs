//! Written by tools/generate from src/capi/deliver.rs.

use crate::capi::deliver::seconder_message;
use crate::capi::ffi::read_handle;
use std::ffi::c_char;

/// Identifies the message: 16 hexadecimal digits. It is the same in each attempt to send the
/// message, so that a provider can recognise one that it has accepted before. NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_id(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |reply| reply.id.as_ptr())
}

/// The phone number, in E.164 format: +15550100123. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_to(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |reply| reply.to.as_ptr())
}

/// The channel: "sms" or "call". NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_via(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |reply| reply.via.as_ptr())
}

/// The text to be read or heard. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_text(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |reply| reply.text.as_ptr())
}

/// The language of the text, with its region if it is known: "en-GB", "ar". NULL only for a NULL
/// argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_language(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |reply| reply.language.as_ptr())
}

/// The code on its own, empty for the install message to a new user. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_code(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |reply| reply.code.as_ptr())
}

/// When the code expires, in Unix seconds; 0 if there is no code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_expires_at(message: Option<&seconder_message>) -> u64 {
    read_handle(message, |reply| reply.expires_at)
}
