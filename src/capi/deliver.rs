//! Messages to phones, passed to a function of the C program.

use super::ffi::{Text, read_handle};
use super::jobs::{self, Details};
use std::ffi::{c_char, c_void};

/// A message to a phone. It is valid until the deliver function returns.
pub struct seconder_message {
    /// Identifies the message: 16 hexadecimal digits. It is the same in each attempt to send the message,
    /// so that a provider can recognise one that it has accepted before.
    pub(super) id: Text,
    /// The phone number, in E.164 format: +15550100123.
    pub(super) to: Text,
    /// The channel: "sms" or "call".
    pub(super) via: Text,
    /// The text to be read or heard.
    pub(super) text: Text,
    /// The language of the text, with its region if it is known: "en-GB", "ar".
    pub(super) language: Text,
    /// The code on its own, empty for the install message to a new user.
    pub(super) code: Text,
    /// When the code expires, in Unix seconds; 0 if there is no code.
    pub(super) expires_at: u64,
    pub(super) details: Details,
}

/// Delivers a message to a phone: a code, or the install message to a new user. It returns
/// SECONDER_OUTCOME_SENT, which is 0, if the message was accepted for delivery;
/// SECONDER_OUTCOME_RETRY if it was not sent, and a later attempt may succeed;
/// SECONDER_OUTCOME_NOT_ATTEMPTED if nothing was attempted, because no more are sent in this second;
/// SECONDER_OUTCOME_AMBIGUOUS if it may have been sent; SECONDER_OUTCOME_NUMBER_REFUSED if the provider
/// refuses the number; and SECONDER_OUTCOME_PERMANENT or any other number if it was not sent, and no
/// attempt will succeed.
///
/// After SECONDER_OUTCOME_RETRY, SECONDER_OUTCOME_NOT_ATTEMPTED and SECONDER_OUTCOME_AMBIGUOUS, the
/// call that requests the code succeeds: further attempts are made by seconder_run_jobs(), which the
/// program has to call. All attempts to send a message have the same seconder_message_id().
///
/// It runs inside the call that sends the message, on the same thread, and on several threads at
/// once if several make such calls. It must return normally: it must not be left by longjmp() or a
/// C++ exception. It should return within 30 seconds: one that takes longer than a minute counts as
/// ended by a crash, and seconder_run_jobs() may send the message again.
pub type seconder_deliver = Option<
    unsafe extern "C" fn(message: *const seconder_message, deliver_userdata: *mut c_void) -> i32,
>;

/// For the deliver function, before it returns SECONDER_OUTCOME_SENT: the id that the provider gave to
/// the message, which is kept with it. NULL or an empty text: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_message_set_provider_id(
    message: Option<&seconder_message>,
    id: *const c_char,
) {
    // SAFETY: as the header requires.
    read_handle(message, |message| message.details.set_id(unsafe { jobs::given(id) }));
}

/// For the deliver function, before it returns SECONDER_OUTCOME_RETRY or
/// SECONDER_OUTCOME_NOT_ATTEMPTED: no other attempt is made earlier than after so many milliseconds. A message whose code has expired by then has failed for good.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_message_set_retry_after_ms(
    message: Option<&seconder_message>,
    after_ms: u64,
) {
    read_handle(message, |message| message.details.set_retry_after(after_ms));
}

/// For the deliver function, before it returns anything but SECONDER_OUTCOME_SENT: what went wrong, in
/// words without the code, which become part of the error of the call. NULL: the number that is
/// returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_message_set_reason(
    message: Option<&seconder_message>,
    reason: *const c_char,
) {
    // SAFETY: as the header requires.
    read_handle(message, |message| message.details.set_reason(unsafe { jobs::given(reason) }));
}
