//! Texts for a user who logs in, passed to a function of the C program.

use seconder::capi::shared::{Text, read_handle};
use seconder::model::Secret;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, PoisonError};

/// The kind of a prompt: a question. What the user types must not be seen.
pub const SECONDER_PROMPT_ECHO_OFF: i32 = 1;
/// A question. What the user types may be seen.
pub const SECONDER_PROMPT_ECHO_ON: i32 = 2;
/// A text that informs the user.
pub const SECONDER_PROMPT_INFO: i32 = 3;
/// A text about something that failed.
pub const SECONDER_PROMPT_ERROR: i32 = 4;
/// No text: the user is waited for, who may press Enter to give up an approval request.
pub const SECONDER_PROMPT_WAIT: i32 = 5;
/// The password that the user typed in one field with the code (`first_pass=with_code`), for the program
/// to check. It is not to be shown, and comes last, only if the second factor is right or not required.
pub const SECONDER_PROMPT_PASSWORD: i32 = 6;

/// From a converse function: the user can no longer answer. The login ends.
pub const SECONDER_CONVERSE_NO_ANSWER: i32 = 0;
/// From a converse function: the text was shown, or the question was answered by
/// seconder_prompt_set_answer(), or the user who is waited for has pressed Enter, or the program has
/// taken the password.
pub const SECONDER_CONVERSE_DONE: i32 = 1;
/// From a converse function: the user has not answered yet, or not pressed Enter. The function is called
/// again with the same prompt.
pub const SECONDER_CONVERSE_NOT_YET: i32 = 2;

/// A text for a user who logs in. It is valid until the converse function returns, and wiped then.
pub struct seconder_prompt {
    kind: i32,
    text: Text,
    pub(crate) wait_ms: u32,
    pub(crate) repeated: bool,
    answer: Mutex<Option<Secret>>,
}

/// Reaches the user who logs in: shows the text of the prompt or waits, as seconder_prompt_kind()
/// requires, and returns one of SECONDER_CONVERSE_.... Any number that it should not return is taken for
/// SECONDER_CONVERSE_NO_ANSWER, so a function returns that for a kind that it does not know.
///
/// It runs inside seconder_login(), on the same thread, and may take as long as the user does. One that
/// returns SECONDER_CONVERSE_NOT_YET at least every 100 ms lets seconder_service_cancel() end a login
/// that waits for the user. It must return normally: it must not be left by longjmp() or a C++ exception.
pub type seconder_converse = Option<
    unsafe extern "C" fn(prompt: *const seconder_prompt, converse_userdata: *mut c_void) -> i32,
>;

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no logins"))]
impl seconder_prompt {
    pub(crate) fn new(kind: i32, text: &str) -> seconder_prompt {
        let text = Text::new(text);
        seconder_prompt { kind, text, wait_ms: 0, repeated: false, answer: Mutex::default() }
    }

    pub(crate) fn answer(self) -> Option<Secret> {
        self.answer.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind of the prompt, one of SECONDER_PROMPT_...; 0 for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_prompt_kind(prompt: Option<&seconder_prompt>) -> i32 {
    read_handle(prompt, |prompt| prompt.kind)
}

/// The text to show, in English, without a line feed at its end: a question ends with a space. Empty for
/// SECONDER_PROMPT_WAIT. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_prompt_text(prompt: Option<&seconder_prompt>) -> *const c_char {
    let text = prompt.map(|prompt| prompt.text.as_ptr());
    text.unwrap_or(std::ptr::null())
}

/// For SECONDER_PROMPT_WAIT: how long the function is to wait at most for the user, in milliseconds.
/// One that cannot notice that the user presses Enter, or hangs up, need not wait. 0 for other kinds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_prompt_wait_ms(prompt: Option<&seconder_prompt>) -> u32 {
    read_handle(prompt, |prompt| prompt.wait_ms)
}

/// Returns whether the function was called with this prompt before, and returned
/// SECONDER_CONVERSE_NOT_YET: its text is on the screen already.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_prompt_repeated(prompt: Option<&seconder_prompt>) -> bool {
    read_handle(prompt, |prompt| prompt.repeated)
}

/// For the converse function, before it returns SECONDER_CONVERSE_DONE for a question: what the user
/// typed, without the end of the line. It is copied, and the copy is wiped; the program wipes its own. An
/// empty text is an answer too. NULL means no answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_prompt_set_answer(
    prompt: Option<&seconder_prompt>,
    text: *const c_char,
) {
    // SAFETY: as the header requires.
    let bytes = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    // Bytes that are not UTF-8 are no code. They must not count as empty, which is a decision of the user.
    let typed = |bytes: &CStr| Secret::new(bytes.to_str().unwrap_or("\u{fffd}"));
    read_handle(prompt, |prompt| {
        *prompt.answer.lock().unwrap_or_else(PoisonError::into_inner) = bytes.map(typed);
    });
}
