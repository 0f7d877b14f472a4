//! Logins while the service is unreachable: preparing and reporting them.

use super::error::seconder_error;
use super::ffi::{
    self, Outcome, Plain, Text, free, named, number_if, pointer, read_handle, with_optional_out,
    with_out,
};
use super::open::seconder_service;
use super::status::seconder_status;
use super::users::seconder_done;
use crate::calls::{Handle, OfflineLogin, OfflinePrepared, PrepareOffline, ReportOffline};
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_prepare_offline().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_prepare_offline_options {
    /// For how many days, 1 to 7. Default: 3. At most as many as the service allows.
    pub days: u64,
    /// The machine that keeps the hashes, for the service's records: 1 to 1024 bytes.
    pub machine: *const c_char,
}

/// Options of seconder_report_offline().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_report_offline_options {
    /// The machine, for the service's records: 1 to 1024 bytes.
    pub machine: *const c_char,
}

/// A login that was accepted while the service was unreachable.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_offline_login {
    /// The step of the code.
    pub step: u64,
    /// When the code was accepted, in Unix seconds.
    pub time: u64,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_prepare_offline_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_report_offline_options {}

/// What a machine keeps to check codes while the service is unreachable. Whoever has it can find the
/// codes by trying all of them.
pub struct seconder_offline_prepared {
    reply: OfflinePrepared,
    hash_key: Text,
    hashes: Text,
    message: Option<Text>,
}

impl From<OfflinePrepared> for seconder_offline_prepared {
    fn from(reply: OfflinePrepared) -> seconder_offline_prepared {
        seconder_offline_prepared {
            hash_key: Text::new(reply.hash_key.expose()),
            hashes: Text::new(reply.hashes.expose()),
            message: Text::of(reply.message.as_deref()),
            reply,
        }
    }
}

/// Prepares logins of a user while the service is unreachable: returns a hash of each code that the
/// user's authenticator app will show in the next days (interface 4.21). `token` is the code of the
/// app that the service has accepted just now. A code prepares once.
///
/// Each hash is the first 8 bytes of HMAC-SHA-256 under `hash_key` of "seconder offline code", a zero
/// byte, the user's id and the step as 8 bytes each with the most significant first, and the digits
/// of the code. A machine must accept a step once, and none before it, and report each login with
/// seconder_report_offline().
///
/// Free `out` with seconder_offline_prepared_free(), which wipes it. SECONDER_REJECTED if the service
/// does not allow it, if the code is not the one that was accepted last, or if there is no such user;
/// SECONDER_RATE_LIMITED after wrong codes. Other statuses are as described at the top of the header.
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

/// Reports the logins that a machine has accepted while the service was unreachable, 1 to 100
/// (interface 4.22). The service marks their codes as used, and records each login once, however often
/// it is reported. `authenticator_id` is that of seconder_prepare_offline().
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user, or if no logins with these steps were prepared. Other statuses are as described at the
/// top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_report_offline(
    service: Option<&seconder_service>,
    user_id: u64,
    authenticator_id: u64,
    logins: *const seconder_offline_login,
    logins_count: usize,
    options: *const seconder_report_offline_options,
    options_size: usize,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = ReportOffline {
                user_id: named("user_id", UserId::try_from(user_id))?,
                authenticator_id,
                logins: read(logins, logins_count)?,
                machine: ffi::value_if("machine", options.machine)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// # Safety
/// `logins` is NULL or points to `count` logins.
unsafe fn read(logins: *const seconder_offline_login, count: usize) -> Outcome<Vec<OfflineLogin>> {
    let names = ["logins", "logins_count"];
    // SAFETY: promised by the caller.
    let logins = unsafe { ffi::list(names, logins, count, ReportOffline::MOST_LOGINS)? };
    Ok(logins.iter().map(|login| OfflineLogin { step: login.step, time: login.time }).collect())
}

/// Which authenticator app the codes are of, for seconder_report_offline().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_authenticator_id(
    prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(prepared, |prepared| prepared.reply.authenticator_id)
}

/// How many digits a code has.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_digits(
    prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(prepared, |prepared| prepared.reply.digits)
}

/// How long the app shows a code, in seconds. A step is a time in Unix seconds divided by it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_period(
    prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(prepared, |prepared| prepared.reply.period)
}

/// The step that was used last. No code of it, or of an earlier step, may be accepted.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_last_step(
    prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(prepared, |prepared| prepared.reply.last_step)
}

/// The step of the first hash; each further hash is of the next step.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_first_step(
    prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(prepared, |prepared| prepared.reply.first_step)
}

/// When the hashes must no longer be used, in Unix seconds.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_expires_at(
    prepared: Option<&seconder_offline_prepared>,
) -> u64 {
    read_handle(prepared, |prepared| prepared.reply.expires_at)
}

/// The key of the hashes: 32 bytes in Base64. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_hash_key(
    prepared: Option<&seconder_offline_prepared>,
) -> *const c_char {
    read_handle(prepared, |prepared| prepared.hash_key.as_ptr())
}

/// The hashes, 8 bytes each, in Base64. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_hashes(
    prepared: Option<&seconder_offline_prepared>,
) -> *const c_char {
    read_handle(prepared, |prepared| prepared.hashes.as_ptr())
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_message(
    prepared: Option<&seconder_offline_prepared>,
) -> *const c_char {
    read_handle(prepared, |prepared| pointer(&prepared.message))
}

/// Frees the reply of seconder_prepare_offline(), and wipes it. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_offline_prepared_free(prepared: Option<Box<seconder_offline_prepared>>) {
    free(prepared);
}
