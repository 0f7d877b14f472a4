//! Written by tools/generate from src/capi/totp.rs.

use crate::capi::ffi::{free, read_handle};
use crate::capi::totp::seconder_totp;

/// The hash with which codes are generated: one of SECONDER_ALGORITHM_....
#[unsafe(no_mangle)]
pub extern "C" fn seconder_totp_algorithm(totp: Option<&seconder_totp>) -> i32 {
    read_handle(totp, |reply| reply.algorithm)
}

/// The number of digits of a code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_totp_digits(totp: Option<&seconder_totp>) -> u32 {
    read_handle(totp, |reply| reply.digits)
}

/// The time for which a code is shown, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_totp_period(totp: Option<&seconder_totp>) -> u64 {
    read_handle(totp, |reply| reply.period)
}

/// Frees a secret, and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_totp_free(totp: Option<Box<seconder_totp>>) {
    free(totp);
}
