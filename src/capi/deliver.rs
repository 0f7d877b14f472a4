//! Messages to phones, handed to a function of the C program.

use super::ffi::{Text, read_handle};
use super::userdata::Userdata;
use std::ffi::{c_char, c_void};

/// A message to a phone. It lives until the function that it was given to returns.
pub struct seconder_message {
    to: Text,
    via: Text,
    text: Text,
    code: Text,
    expires_at: u64,
}

/// Carries a message to a phone. 0 says that it is on its way; any other number, that it could not
/// be sent.
///
/// It runs inside the call that sends, on the thread of that call, and for many threads at once
/// when many call. It must return: no longjmp() and no C++ exception may leave it.
pub type seconder_deliver = Option<
    unsafe extern "C" fn(message: *const seconder_message, deliver_userdata: *mut c_void) -> i32,
>;

/// A deliver function with what belongs to it.
pub(super) struct ByFunction {
    deliver: seconder_deliver,
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "it only has to go"))]
    userdata: Userdata,
}

impl ByFunction {
    pub(super) fn new(deliver: seconder_deliver, userdata: Userdata) -> ByFunction {
        ByFunction { deliver, userdata }
    }

    /// The same, unless there is no function.
    pub(super) fn given(self) -> Option<ByFunction> {
        self.deliver.is_some().then_some(self)
    }
}

#[cfg(feature = "engine")]
impl crate::engine::Deliver for ByFunction {
    fn deliver(&self, message: &crate::engine::Message) -> Result<(), String> {
        let Some(deliver) = self.deliver else { return Err("there is no function".into()) };
        let message = seconder_message {
            to: Text::new(&message.to),
            via: Text::new(message.via.name()),
            text: Text::new(&message.text),
            code: Text::new(&message.code),
            expires_at: message.expires_at,
        };
        // SAFETY: the message lives until the function returns, and the data until this goes.
        match unsafe { deliver(&message, self.userdata.as_ptr()) } {
            0 => Ok(()),
            other => Err(format!("the deliver function returned {other}")),
        }
    }
}

/// The number, in E.164: +15550100123. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_to(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.to.as_ptr())
}

/// How the message travels: "sms" or "call". NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_via(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.via.as_ptr())
}

/// What the person reads or hears. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_text(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.text.as_ptr())
}

/// The code alone. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_code(message: Option<&seconder_message>) -> *const c_char {
    read_handle(message, |message| message.code.as_ptr())
}

/// When the code dies, in Unix seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_expires_at(message: Option<&seconder_message>) -> u64 {
    read_handle(message, |message| message.expires_at)
}
