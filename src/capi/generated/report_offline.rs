//! Written by tools/generate from src/calls/report_offline.rs.

use super::done::seconder_done;
use crate::calls::{Handle, OfflineLogin, ReportOffline};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Input, Outcome, Plain, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Options of seconder_report_offline().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_report_offline_options {
    /// The machine, for the service's records. 1 to 1024 bytes.
    pub machine: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_report_offline_options {}

/// A login that was accepted while the service was unreachable.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_offline_login {
    /// The step of the code.
    pub step: u64,
    /// When the code was accepted, in Unix seconds.
    pub time: u64,
}

impl Input for seconder_offline_login {
    type Value = OfflineLogin;

    unsafe fn read(&self, _: &'static str) -> Outcome<OfflineLogin> {
        Ok(OfflineLogin { step: self.step, time: self.time })
    }
}

/// Reports the logins that a machine has accepted while the service was unreachable (interface
/// 4.22). The service marks their codes as used, and records each login as an activity of the user.
///
/// A machine reports a login until a report of it was acknowledged; a login that is reported twice
/// is recorded once.
///
/// `user_id` is the user who logged in. `authenticator_id` is the authenticator app, by
/// seconder_offline_prepared_authenticator_id(). `logins` is a list of 1 to 100 logins.
/// `logins_count` is their number.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
/// such user, and with the service code "offline_not_prepared" if the service has not prepared
/// these logins. Other statuses are as described at the top of the header.
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
                logins: ffi::inputs(
                    ["logins", "logins_count"],
                    logins,
                    logins_count,
                    ReportOffline::MOST_LOGINS,
                )?,
                machine: ffi::value_if("machine", options.machine)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
