//! Reaches the user by PAM's conversation function.

use crate::handle::Handle;
use crate::terminal::Terminal;
use libpam_sys::{
    PAM_CONV, PAM_ERROR_MSG, PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_ON, PAM_SUCCESS, PAM_TEXT_INFO,
    pam_message, pam_response,
};
use seconder::model::Secret;
use seconder_login::{Conversation, Silent, Style, Typed};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::time::Duration;
use zeroize::Zeroize;

/// A conversation by the function that the program gave PAM.
pub(crate) struct Talk<'a> {
    handle: &'a Handle<'a>,
    /// Set if the program accepts questions but no texts, as sudo by default. Texts then become
    /// part of the next question, because users have to know why they are asked again.
    silent: bool,
    /// The texts that were not shown yet.
    held: String,
    holds_text_back: bool,
}

/// `struct pam_conv`, in which the function may be missing.
#[repr(C)]
struct Program {
    converse: Option<Converse>,
    data: *mut c_void,
}

type Converse = unsafe extern "C" fn(
    count: c_int,
    messages: *const *const pam_message,
    responses: *mut *mut pam_response,
    data: *mut c_void,
) -> c_int;

impl<'a> Talk<'a> {
    pub(crate) fn new(handle: &'a Handle<'a>, silent: bool) -> Talk<'a> {
        // OpenSSH shows no text before its next question, or before the end of the login.
        let holds_text_back = silent
            || handle.service().as_deref() == Some("sshd")
            || handle.terminal().as_deref() == Some("ssh");
        Talk { handle, silent, held: String::new(), holds_text_back }
    }

    /// Passes one message to the program. Returns the typed text, if any.
    ///
    /// PAM_CONV_AGAIN is a failure like the others: to continue a login later, the module would have
    /// to keep its state, and no program with a second factor does that.
    fn say(&mut self, style: c_int, text: &str) -> Result<Option<Secret>, Silent> {
        let program = self.handle.item(PAM_CONV).ok_or(Silent)?.cast::<Program>();
        // SAFETY: this item is PAM's copy of the program's `struct pam_conv`.
        let Program { converse: Some(converse), data } = *(unsafe { program.as_ref() }) else {
            return Err(Silent);
        };
        let text = CString::new(text.replace('\0', " ")).map_err(|_| Silent)?;
        let message = pam_message { msg_style: style, msg: text.as_ptr() };
        let messages = [&raw const message];
        let mut responses: *mut pam_response = ptr::null_mut();
        // SAFETY: one message is passed, which is valid during the call, and `responses` can be
        // written to.
        let status = unsafe { converse(1, messages.as_ptr(), &mut responses, data) };
        if status != PAM_SUCCESS || responses.is_null() {
            // After a failure, nothing is known of the responses.
            return if status == PAM_SUCCESS { Ok(None) } else { Err(Silent) };
        }
        // SAFETY: the program returned an array of one response, which the module owns from now on.
        Ok(unsafe { take(responses) })
    }
}

/// Copies the text of a response, wipes it and releases both.
///
/// # Safety
/// The response, and its text unless that is NULL, were allocated by malloc() and belong to the
/// caller.
unsafe fn take(response: *mut pam_response) -> Option<Secret> {
    // SAFETY: promised by the caller.
    let text: *mut c_char = unsafe { (*response).resp };
    let typed = (!text.is_null()).then(|| {
        // SAFETY: the text ends with NUL, and nothing else refers to it.
        let length = unsafe { CStr::from_ptr(text) }.count_bytes();
        // SAFETY: so many bytes precede the NUL.
        let bytes = unsafe { std::slice::from_raw_parts_mut(text.cast::<u8>(), length) };
        // Bytes that are not UTF-8 are no code. They must not count as empty, which is a decision
        // of the user.
        let typed = Secret::new(std::str::from_utf8(bytes).unwrap_or("\u{fffd}"));
        bytes.zeroize();
        typed
    });
    // SAFETY: promised by the caller. Neither is used afterwards.
    unsafe {
        libc::free(text.cast());
        libc::free(response.cast());
    }
    typed
}

impl Conversation for Talk<'_> {
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed {
        let style = if echo { PAM_PROMPT_ECHO_ON } else { PAM_PROMPT_ECHO_OFF };
        let prompt = std::mem::take(&mut self.held) + prompt;
        self.say(style, &prompt)?.ok_or(Silent)
    }

    fn show(&mut self, text: &str, style: Style) -> Result<(), Silent> {
        if self.silent {
            self.held.push_str(text);
            self.held.push('\n');
            return Ok(());
        }
        let style = match style {
            Style::Info => PAM_TEXT_INFO,
            Style::Error => PAM_ERROR_MSG,
        };
        self.say(style, text).map(drop)
    }

    fn pressed_enter(&mut self, within: Duration) -> bool {
        match self.handle.terminal().as_deref().and_then(Terminal::open) {
            Some(mut terminal) => terminal.pressed_enter(within),
            None => {
                std::thread::sleep(within);
                false
            }
        }
    }

    fn holds_text_back(&self) -> bool {
        self.holds_text_back
    }

    fn pass_on(&mut self, password: Secret) -> Result<(), Silent> {
        self.handle.set_typed(&password)
    }
}
