//! Messages to phones, passed to a function of the C program.

use super::ffi::{Text, read_handle};
use super::userdata::Userdata;
use std::ffi::{c_char, c_void};

/// A message to a phone. It is valid until the deliver function returns.
pub struct seconder_message {
    to: Text,
    via: Text,
    text: Text,
    code: Text,
    expires_at: u64,
}

/// Delivers a message to a phone: a code, or the install message to a new user. It returns 0 if the
/// message was sent, and any other number if it could not be sent.
///
/// It runs inside the call that sends the message, on the same thread, and on several threads at
/// once if several make such calls. It must return normally: it must not be left by longjmp() or a
/// C++ exception.
pub type seconder_deliver = Option<
    unsafe extern "C" fn(message: *const seconder_message, deliver_userdata: *mut c_void) -> i32,
>;

/// A deliver function with its userdata.
pub(super) struct ByFunction {
    deliver: seconder_deliver,
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "it only has to be dropped"))]
    userdata: Userdata,
}

impl ByFunction {
    pub(super) fn new(deliver: seconder_deliver, userdata: Userdata) -> ByFunction {
        ByFunction { deliver, userdata }
    }

    /// This, unless the function is NULL.
    pub(super) fn given(self) -> Option<ByFunction> {
        self.deliver.is_some().then_some(self)
    }
}

#[cfg(feature = "engine")]
impl crate::engine::Deliver for ByFunction {
    fn deliver(&self, message: &crate::engine::Message) -> Result<(), String> {
        let Some(deliver) = self.deliver else { return Err("there is no deliver function".into()) };
        let message = seconder_message {
            to: Text::new(&message.to),
            via: Text::new(message.via.name()),
            text: Text::new(&message.text),
            code: Text::new(&message.code),
            expires_at: message.expires_at,
        };
        // SAFETY: the message lives until the function returns, and the userdata as long as `self`.
        match unsafe { deliver(&message, self.userdata.as_ptr()) } {
            0 => Ok(()),
            other => Err(format!("the deliver function returned {other}")),
        }
    }
}

/// The phone number, in E.164 format: +15550100123. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_to(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.to.as_ptr())
}

/// The channel: "sms" or "call". NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_via(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.via.as_ptr())
}

/// The text to be read or heard. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_text(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.text.as_ptr())
}

/// The code on its own, empty for the install message to a new user. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_code(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.code.as_ptr())
}

/// When the code expires, in Unix seconds; 0 if there is no code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_expires_at(message: Option<&seconder_message>) -> u64 {
    read_handle(message, |message| message.expires_at)
}
