//! Written by tools/generate from src/calls/prepare_offline.rs.

use crate::calls::{Handle, OfflinePrepared, PrepareOffline};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Plain, Text, free, named, number_if, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_prepare_offline().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_prepare_offline_options {
    /// The number of days, 1 to 7, and at most as many as the service allows. Default: 3.
    pub days: u64,
    /// The machine that keeps the hashes, for the service's records. 1 to 1024 bytes.
    pub machine: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_prepare_offline_options {}

/// The hashes by which a machine checks codes while the service is unreachable. Anyone who has them
/// can find the codes by trying all of them.
pub struct seconder_offline_prepared {
    authenticator_id: u64,
    digits: u64,
    period: u64,
    last_step: u64,
    first_step: u64,
    expires_at: u64,
    hash_key: Text,
    hashes: Text,
    message: Option<Text>,
}

impl From<OfflinePrepared> for seconder_offline_prepared {
    fn from(reply: OfflinePrepared) -> seconder_offline_prepared {
        seconder_offline_prepared {
            authenticator_id: reply.authenticator_id,
            digits: reply.digits,
            period: reply.period,
            last_step: reply.last_step,
            first_step: reply.first_step,
            expires_at: reply.expires_at,
            hash_key: Text::new(reply.hash_key.expose()),
            hashes: Text::new(reply.hashes.expose()),
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Prepares logins of a user while the service is unreachable: returns a hash of each code that the
/// user's authenticator app will show in the next days (interface 4.21). The secret stays with the
/// service. A machine must accept a step once, and none before it, and report each login with
/// seconder_report_offline().
///
/// The call requires the code of the app that the service has accepted just now, so only someone
/// who was given that code can prepare anything, and once. The service must allow it:
/// `offline_days` of seconder_open_options. A wrong code counts as a wrong code of
/// seconder_verify() does.
///
/// `user_id` is the user who logs in. `token` is the code of the app that was accepted in the last
/// five minutes: 6 to 12 digits and nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
///
/// Free `out` with seconder_offline_prepared_free(), which wipes it. SECONDER_REJECTED if the
/// service does not allow it, if the code is not the one that was accepted last, such as a code by
/// SMS, if the user's app has not shown a right code yet, or if there is no such user;
/// SECONDER_RATE_LIMITED after wrong codes. Other statuses are as described at the top of the
/// header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_prepare_offline(
    service: Option<&seconder_service>,
    user_id: u64,
    token: *const c_char,
    options: *const seconder_prepare_offline_options,
    options_size: usize,
    out: *mut *mut seconder_offline_prepared,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = PrepareOffline {
                user_id: named("user_id", UserId::try_from(user_id))?,
                token: ffi::typed("token", token)?,
                days: number_if(options.days),
                machine: ffi::value_if("machine", options.machine)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The number of the authenticator app that generates the codes, for seconder_report_offline().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_authenticator_id(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(offline_prepared, |reply| reply.authenticator_id)
}

/// The number of digits of a code.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_digits(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(offline_prepared, |reply| reply.digits)
}

/// The time that the app shows a code, in seconds. A step is a time in Unix seconds divided by it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_period(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(offline_prepared, |reply| reply.period)
}

/// The step that was used last. No code of it, or of an earlier step, may be accepted.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_last_step(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(offline_prepared, |reply| reply.last_step)
}

/// The step of the first hash; each further hash is of the next step.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_first_step(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(offline_prepared, |reply| reply.first_step)
}

/// When the hashes must no longer be used, in Unix seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_expires_at(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(offline_prepared, |reply| reply.expires_at)
}

/// The key of the hashes: 32 bytes in Base64. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_hash_key(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> *const c_char {
    read_handle(offline_prepared, |reply| reply.hash_key.as_ptr())
}

/// The hashes, 8 bytes each, in Base64. Each is the first 8 bytes of HMAC-SHA-256 with the key
/// seconder_offline_prepared_hash_key(), of the text "seconder offline code", a zero byte, the
/// user's id and the step as 8 bytes each with the most significant first, and the digits of the
/// code. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_hashes(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> *const c_char {
    read_handle(offline_prepared, |reply| reply.hashes.as_ptr())
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_message(
    offline_prepared: Option<&seconder_offline_prepared>,
) -> *const c_char {
    read_handle(offline_prepared, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_prepare_offline(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_free(
    offline_prepared: Option<Box<seconder_offline_prepared>>,
) {
    free(offline_prepared);
}
