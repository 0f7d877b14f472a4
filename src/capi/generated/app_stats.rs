//! Written by tools/generate from src/calls/app_stats.rs.

use super::delete_user::seconder_call_options;
use crate::calls::{AppStats, Handle, MonthlyStatistic, Statistics};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, pointer, read_handle, with_out};
use crate::capi::items::{Item, Items, MadeOf, Texts};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;

/// The application's usage in one month, in UTC (interface 2.4).
#[repr(C)]
pub struct seconder_monthly_statistic {
    /// The English name of the month.
    pub month: *const c_char,
    /// The year.
    pub year: u64,
    /// The number of API calls by the application. 0 if the service does not provide it.
    pub api_calls_count: u64,
    /// The number of codes and approvals that let a user in. 0 if the service does not provide it.
    pub auths_count: u64,
    /// The number of voice calls made. 0 if the service does not provide it.
    pub calls_count: u64,
    /// The number of SMS sent.
    pub sms_count: u64,
    /// The number of users enrolled.
    pub users_count: u64,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_monthly_statistic {}

impl MadeOf<MonthlyStatistic> for seconder_monthly_statistic {
    fn new(of: &MonthlyStatistic, texts: &mut Texts) -> seconder_monthly_statistic {
        seconder_monthly_statistic {
            month: texts.keep(Some(&of.month)),
            year: of.year,
            api_calls_count: of.api_calls_count.unwrap_or_default(),
            auths_count: of.auths_count.unwrap_or_default(),
            calls_count: of.calls_count.unwrap_or_default(),
            sms_count: of.sms_count,
            users_count: of.users_count,
        }
    }
}

/// The application's usage.
pub struct seconder_statistics {
    app_id: Option<u64>,
    count: Option<u64>,
    message: Option<Text>,
    stats: Items<seconder_monthly_statistic>,
    total_users: Option<u64>,
}

impl From<Statistics> for seconder_statistics {
    fn from(reply: Statistics) -> seconder_statistics {
        seconder_statistics {
            app_id: reply.app_id,
            count: reply.count,
            message: Text::of(reply.message.as_deref()),
            stats: Items::new(&reply.stats),
            total_users: reply.total_users,
        }
    }
}

/// Requests the application's usage, month by month (interface 4.9).
///
/// Free `out` with seconder_statistics_free(). SECONDER_UNAUTHORIZED if the service does not accept
/// the API key. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_app_stats(
    service: Option<&seconder_service>,
    options: *const seconder_call_options,
    options_size: usize,
    out: *mut *mut seconder_statistics,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = AppStats { user_ip: ffi::address("user_ip", options.user_ip)? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The application's number. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_app_id(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |reply| reply.app_id.unwrap_or_default())
}

/// The number of months, as the service counts them. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_count(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |reply| reply.count.unwrap_or_default())
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_message(
    statistics: Option<&seconder_statistics>,
) -> *const c_char {
    read_handle(statistics, |reply| pointer(&reply.message))
}

/// The number of values that seconder_statistics_stat() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_stat_count(
    statistics: Option<&seconder_statistics>,
) -> usize {
    read_handle(statistics, |reply| reply.stats.len())
}

/// The months, oldest first. Returns the one at `index`, owned by the handle; NULL if `index` is
/// out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_stat(
    statistics: Option<&seconder_statistics>,
    index: usize,
) -> *const seconder_monthly_statistic {
    read_handle(statistics, |reply| reply.stats.get(index))
}

/// The current number of the application's users. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_total_users(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |reply| reply.total_users.unwrap_or_default())
}

/// Frees the reply of seconder_app_stats(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_free(statistics: Option<Box<seconder_statistics>>) {
    free(statistics);
}
