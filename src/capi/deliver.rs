//! Messages to phones, handed to a function of the C program.

use super::border::{Text, look};
use crate::engine::{Deliver, Message};
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

/// Frees what a deliver function works with.
pub type seconder_deliver_userdata_free = Option<unsafe extern "C" fn(userdata: *mut c_void)>;

/// A deliver function with what belongs to it, which is freed once, when this goes.
pub(super) struct ByFunction {
    deliver: seconder_deliver,
    userdata: *mut c_void,
    free: seconder_deliver_userdata_free,
}

// SAFETY: the header asks that the functions and their data can be used from every thread.
unsafe impl Send for ByFunction {}
// SAFETY: as above.
unsafe impl Sync for ByFunction {}

impl ByFunction {
    pub(super) fn new(
        deliver: seconder_deliver,
        userdata: *mut c_void,
        free: seconder_deliver_userdata_free,
    ) -> ByFunction {
        ByFunction { deliver, userdata, free }
    }

    pub(super) fn is_given(&self) -> bool {
        self.deliver.is_some()
    }
}

impl Deliver for ByFunction {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        let Some(deliver) = self.deliver else { return Err("there is no function".into()) };
        let message = seconder_message {
            to: Text::new(&message.to),
            via: Text::new(message.via.name()),
            text: Text::new(&message.text),
            code: Text::new(&message.code),
            expires_at: message.expires_at,
        };
        // SAFETY: the message lives until the function returns, and the data until this goes.
        match unsafe { deliver(&message, self.userdata) } {
            0 => Ok(()),
            other => Err(format!("the deliver function returned {other}")),
        }
    }
}

impl Drop for ByFunction {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            // SAFETY: the header asks that the function can be called with its data, once.
            unsafe { free(self.userdata) };
        }
    }
}

/// The number, in E.164: +15550100123.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_to(message: Option<&seconder_message>) -> *const c_char {
    look(message, |message| message.to.as_ptr())
}

/// How the message travels: "sms" or "call".
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_via(message: Option<&seconder_message>) -> *const c_char {
    look(message, |message| message.via.as_ptr())
}

/// What the person reads or hears.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_text(message: Option<&seconder_message>) -> *const c_char {
    look(message, |message| message.text.as_ptr())
}

/// The code alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_code(message: Option<&seconder_message>) -> *const c_char {
    look(message, |message| message.code.as_ptr())
}

/// When the code dies, in Unix seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_expires_at(message: Option<&seconder_message>) -> u64 {
    look(message, |message| message.expires_at)
}
