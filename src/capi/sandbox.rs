//! Functions for the tests of applications, on a sandbox in this process: messages, time, faults and approvals.

use super::error::seconder_error;
use super::ffi::{self, engine_only, run, with_out};
#[cfg(feature = "engine")]
use super::ffi::{Outcome, named, number_if};
use super::items::{Item, Items};
#[cfg(feature = "engine")]
use super::items::{MadeOf, Texts};
use super::open::seconder_service;
use super::status::seconder_status;
use super::text::seconder_text;
#[cfg(feature = "engine")]
use crate::engine::Message;
#[cfg(feature = "engine")]
use crate::model::{Secret, UserId};
#[cfg(feature = "engine")]
use serde_json::Value;
use std::ffi::c_char;

/// A message that a sandbox has sent, as if to a phone.
#[repr(C)]
pub struct seconder_sent_message {
    /// The user whom the call concerned; 0 if it concerned none, such as the verification of a number.
    pub user_id: u64,
    /// Identifies the message: 16 hexadecimal digits.
    pub id: *const c_char,
    /// The phone number, in E.164 format: +15550100123.
    pub to: *const c_char,
    /// The channel: "sms" or "call".
    pub via: *const c_char,
    /// The text to be read or heard.
    pub text: *const c_char,
    /// The language of the text, with its region if it is known: "en-GB", "ar".
    pub language: *const c_char,
    /// The code on its own, empty for the install message to a new user.
    pub code: *const c_char,
    /// When the code expires, in Unix seconds; 0 if there is no code.
    pub expires_at: u64,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_sent_message {}

#[cfg(feature = "engine")]
impl MadeOf<(Option<UserId>, Message)> for seconder_sent_message {
    fn new((user_id, message): &(Option<UserId>, Message), texts: &mut Texts) -> Self {
        seconder_sent_message {
            user_id: user_id.map_or(0, u64::from),
            id: texts.keep(Some(&message.id)),
            to: texts.keep(Some(&message.to)),
            via: texts.keep(Some(message.via.name())),
            text: texts.keep(Some(&message.text)),
            language: texts.keep(Some(&message.language)),
            code: texts.keep(Some(&message.code)),
            expires_at: message.expires_at,
        }
    }
}

/// The messages that a sandbox has sent.
#[cfg_attr(false, c(freed = "the reply of seconder_sandbox_messages()"))]
pub struct seconder_sent_messages {
    /// The messages, the newest first.
    pub(super) messages: Items<seconder_sent_message>,
}

/// Reads the messages that a sandbox in this process has sent to a user, or all of them if `user_id` is 0, for the
/// tests of an application: the latest 10000.
///
/// A sandbox sends nothing. If the application has a deliver function, it contains what that function has accepted.
/// Free `out` with seconder_sent_messages_free(). SECONDER_INVALID_ARGUMENT if the service is not a sandbox.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_sandbox_messages(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_sent_messages,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            engine_only!(service, |handle| {
                let sandbox = handle.service.require_sandbox()?;
                let user_id = number_if(user_id).map(UserId::try_from).transpose();
                let messages = sandbox.messages(named("user_id", user_id)?);
                Ok(seconder_sent_messages { messages: Items::new(&messages) })
            })
        })
    }
}

/// Moves the time of a sandbox on, at most ten years at once: codes expire, waits end. Otherwise it passes as on the
/// machine.
///
/// The program's own clock is not moved. SECONDER_INVALID_ARGUMENT if the service is not a sandbox.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_sandbox_advance(
    service: Option<&seconder_service>,
    seconds: u64,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        run(error, || {
            engine_only!(service, |handle| {
                operate(handle, "advance", [("seconds", seconds.into())])
            })
        })
    }
}

/// Lets calls of a sandbox fail, with the errors of a remote service, until seconder_sandbox_end_faults().
///
/// `fault` is "timeout", "lost" (the call is carried out, and its response is lost), "rate_limited", "unauthorized",
/// "invalid_response", "undelivered" (the message cannot be delivered), "storage", "status" (500), or "latency" (1
/// second). `calls` are the names of the calls that meet it, such as "verify,request_sms"; NULL: all. `times` is how many
/// calls meet it; 0: no limit. Of several faults, a call meets the latest.
///
/// No call takes real time: what it waits for passes in the sandbox. SECONDER_INVALID_ARGUMENT if the service is not a
/// sandbox, or an argument is invalid.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_sandbox_fail(
    service: Option<&seconder_service>,
    fault: *const c_char,
    calls: *const c_char,
    times: u64,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        run(error, || {
            engine_only!(service, |handle| {
                let fault = ffi::text("fault", fault)?.into();
                let calls = ffi::text_if("calls", calls)?.into();
                let times = number_if(times).into();
                operate(handle, "failing", [("fault", fault), ("calls", calls), ("times", times)])
            })
        })
    }
}

/// Ends the faults of a sandbox. SECONDER_INVALID_ARGUMENT if the service is not a sandbox.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_sandbox_end_faults(
    service: Option<&seconder_service>,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { run(error, || engine_only!(service, |handle| operate(handle, "end_fault", []))) }
}

/// Responds to the latest open approval request of a user of a sandbox, as on the user's phone. A user without a
/// device gets one.
///
/// `response` is "approve", "deny" or "report", and `number` what the user typed, as for
/// seconder_respond_to_approval(). SECONDER_REJECTED with status 404 if the user has no open request;
/// SECONDER_INVALID_ARGUMENT if the service is not a sandbox, or an argument is invalid.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_sandbox_respond(
    service: Option<&seconder_service>,
    user_id: u64,
    response: *const c_char,
    number: *const c_char,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        run(error, || {
            engine_only!(service, |handle| {
                let sandbox = handle.service.require_sandbox()?;
                let user_id = named("user_id", UserId::try_from(user_id))?;
                let response = ffi::value("response", response)?;
                let number = ffi::text_if("number", number)?.map(Secret::new);
                Ok(sandbox.respond(user_id, response, number)?)
            })
        })
    }
}

/// Carries out any other operation of a test on a sandbox, such as "authenticator_code" with {"user_id":1}.
///
/// docs/sandbox.md has their names, and the parameters and replies, which are JSON objects; `parameters` may be NULL
/// for none. There is no "reset": seconder_clear_sandbox() empties the sandbox. Free `out` with seconder_text_free().
/// SECONDER_REJECTED with status 404 if there is nothing of what was asked for; SECONDER_INVALID_ARGUMENT if the
/// service is not a sandbox, or a name is unknown, with an error that lists those that there are.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_sandbox_operate(
    service: Option<&seconder_service>,
    name: *const c_char,
    parameters: *const c_char,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            engine_only!(service, |handle| {
                let sandbox = handle.service.require_sandbox()?;
                let name = ffi::text("name", name)?;
                let reply = sandbox.operate(name, ffi::object("parameters", parameters)?)?;
                Ok(seconder_text::new(&reply.to_string()))
            })
        })
    }
}

/// Carries out an operation. A parameter that is null counts as absent.
#[cfg(feature = "engine")]
fn operate<const COUNT: usize>(
    handle: &seconder_service,
    name: &str,
    params: [(&str, Value); COUNT],
) -> Outcome<()> {
    let params = params.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    handle.service.require_sandbox()?.operate(name, params)?;
    Ok(())
}
