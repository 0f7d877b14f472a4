//! Written by tools/generate from src/capi/error.rs.

use crate::capi::error::seconder_error;
use crate::capi::ffi::{free, pointer, read_handle};
use std::ffi::c_char;

/// The HTTP status of a rejection (interface 7), otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_http_status(error: Option<&seconder_error>) -> i32 {
    read_handle(error, |reply| reply.http_status)
}

/// The service's own error code, such as "60026" (interface 7), for SECONDER_REJECTED,
/// SECONDER_RATE_LIMITED, SECONDER_UNAUTHORIZED, SECONDER_TOKEN_WRONG and SECONDER_TOKEN_REUSED.
/// NULL for others, and if the service sent none. An engine in this process has the codes that a
/// remote service sends.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_service_code(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |reply| pointer(&reply.service_code))
}

/// The name of the limit that was reached, such as "cool_down", "wrong_codes" or "country_day", if
/// the status is SECONDER_RATE_LIMITED and the service says which: interface 8 lists them. NULL if
/// not. Services of other projects do not say it, and a later version may have more names.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_limit(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |reply| pointer(&reply.limit))
}

/// Returns whether the limit that was reached is one of the whole application: "country_day",
/// "application_day" or "key_rate". Its users cannot do anything about it, but the operator can
/// raise it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_is_operator_limit(error: Option<&seconder_error>) -> bool {
    read_handle(error, |reply| reply.is_operator_limit)
}

/// The service's own message, for SECONDER_REJECTED, SECONDER_RATE_LIMITED and
/// SECONDER_UNAUTHORIZED. NULL for others. Its wording changes over the years, so decide on the
/// status and on the service's code instead.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_service_message(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |reply| pointer(&reply.service_message))
}

/// The stage at which the call failed, if the status is SECONDER_UNAVAILABLE: one of
/// SECONDER_STAGE_...; otherwise SECONDER_STAGE_NONE.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_stage(error: Option<&seconder_error>) -> i32 {
    read_handle(error, |reply| reply.stage)
}

/// The name of the invalid argument or option, if the status is SECONDER_INVALID_ARGUMENT or
/// SECONDER_TOKEN_MALFORMED. NULL for others.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_parameter(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |reply| pointer(&reply.parameter))
}

/// Returns whether the same call can be retried without the risk that it takes effect twice.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_retry_safe(error: Option<&seconder_error>) -> bool {
    read_handle(error, |reply| reply.retry_safe)
}

/// Returns whether the call failed because its time limit was reached.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_timed_out(error: Option<&seconder_error>) -> bool {
    read_handle(error, |reply| reply.timed_out)
}

/// The time to wait before a retry, in whole seconds, rounded up, as in the message; 0 if that is
/// not known.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_retry_after(error: Option<&seconder_error>) -> u64 {
    read_handle(error, |reply| reply.retry_after)
}

/// Frees an error. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_free(error: Option<Box<seconder_error>>) {
    free(error);
}
