//! Operations for operators of an engine in this process, called by name.

use super::error::seconder_error;
use super::ffi::{self, engine_only, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use super::text::seconder_text;
#[cfg(feature = "engine")]
use crate::wire::Wiping;
use std::ffi::c_char;
#[cfg(feature = "engine")]
use zeroize::Zeroizing;

/// Carries out an operation of an operator, with an engine in this process, or on a service that was
/// opened with `operator_token`.
///
/// `operation` is its name, such as "jobs.list", and `parameters` a JSON object; NULL for none. Free
/// `out`, the reply as a JSON object, with seconder_text_free(). A name that no operation has, and one
/// that none of its parameters has, is SECONDER_INVALID_ARGUMENT, with an error that lists those that
/// there are. So is a remote service that was opened without a token. A token that is not accepted is
/// SECONDER_REJECTED with status 401, and one that does not permit it with 403. Other statuses are as described at the top of the
/// header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_operate(
    service: Option<&seconder_service>,
    operation: *const c_char,
    parameters: *const c_char,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            engine_only!(service, |handle| {
                let operation = ffi::text("operation", operation)?;
                let parameters = ffi::object("parameters", parameters)?;
                let reply = Wiping(handle.service.operate_json(operation, parameters)?);
                Ok(seconder_text::new(&Zeroizing::new(reply.0.to_string())))
            })
        })
    }
}
