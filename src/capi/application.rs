//! The application itself, and what it used.

use super::error::seconder_error;
use super::ffi::{self, Plain, Text, free, pointer, read_handle, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use crate::calls::{AppDetails, AppStats, Application, Handle, MonthlyStatistic, Statistics};
use std::ffi::c_char;
use std::ptr;

/// Options of seconder_app_details().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_app_details_options {
    /// The address that asks, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_app_stats().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_app_stats_options {
    /// The address that asks, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_app_details_options {}
// SAFETY: pointers alone.
unsafe impl Plain for seconder_app_stats_options {}

/// One application of the service (interface 2.3).
pub struct seconder_application {
    reply: Application,
    name: Text,
    plan: Option<Text>,
    message: Option<Text>,
}

/// What the application used in one month, in UTC (interface 2.4).
#[repr(C)]
pub struct seconder_monthly_statistic {
    /// The English name of the month.
    pub month: *const c_char,
    /// The year.
    pub year: u64,
    /// How many calls the application made.
    pub api_calls_count: u64,
    /// How many codes and approvals let somebody in.
    pub auths_count: u64,
    /// How many voice calls were made.
    pub calls_count: u64,
    /// How many SMS were sent.
    pub sms_count: u64,
    /// How many users were enrolled.
    pub users_count: u64,
}

/// What the application used.
pub struct seconder_statistics {
    app_id: u64,
    count: u64,
    total_users: u64,
    message: Option<Text>,
    stats: Vec<seconder_monthly_statistic>,
    /// What the `month` pointers of `stats` point into.
    _months: Vec<Text>,
}

// SAFETY: the pointers are into the texts beside them, which nobody changes.
unsafe impl Send for seconder_statistics {}
// SAFETY: as above.
unsafe impl Sync for seconder_statistics {}

impl From<Application> for seconder_application {
    fn from(reply: Application) -> seconder_application {
        seconder_application {
            name: Text::new(&reply.name),
            plan: Text::of(reply.plan.as_deref()),
            message: Text::of(reply.message.as_deref()),
            reply,
        }
    }
}

impl From<Statistics> for seconder_statistics {
    fn from(reply: Statistics) -> seconder_statistics {
        let months: Vec<Text> = reply.stats.iter().map(|stat| Text::new(&stat.month)).collect();
        let stats = reply.stats.iter().zip(&months).map(|(stat, month)| monthly(stat, month));
        seconder_statistics {
            app_id: reply.app_id.unwrap_or_default(),
            count: reply.count.unwrap_or_default(),
            total_users: reply.total_users.unwrap_or_default(),
            message: Text::of(reply.message.as_deref()),
            stats: stats.collect(),
            _months: months,
        }
    }
}

fn monthly(stat: &MonthlyStatistic, month: &Text) -> seconder_monthly_statistic {
    seconder_monthly_statistic {
        month: month.as_ptr(),
        year: stat.year,
        api_calls_count: stat.api_calls_count.unwrap_or_default(),
        auths_count: stat.auths_count.unwrap_or_default(),
        calls_count: stat.calls_count.unwrap_or_default(),
        sms_count: stat.sms_count,
        users_count: stat.users_count,
    }
}

/// Asks what the service knows of the application (interface 4.7).
///
/// `out` is freed with seconder_application_free(). SECONDER_UNAUTHORIZED when the API key is not
/// accepted; else as the header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_app_details(
    service: Option<&seconder_service>,
    options: *const seconder_app_details_options,
    options_size: usize,
    out: *mut *mut seconder_application,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let user_ip = ffi::address("user_ip", options.user_ip)?;
            Ok(service.service.handle(&AppDetails { user_ip })?.into())
        })
    }
}

/// Asks how much the application used, month by month (interface 4.9).
///
/// `out` is freed with seconder_statistics_free(). SECONDER_UNAUTHORIZED when the API key is not
/// accepted; else as the header's beginning says of calls.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_app_stats(
    service: Option<&seconder_service>,
    options: *const seconder_app_stats_options,
    options_size: usize,
    out: *mut *mut seconder_statistics,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let user_ip = ffi::address("user_ip", options.user_ip)?;
            Ok(service.service.handle(&AppStats { user_ip })?.into())
        })
    }
}

/// The application's number. 0 where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_app_id(application: Option<&seconder_application>) -> u64 {
    read_handle(application, |application| application.reply.app_id.unwrap_or_default())
}

/// The name that users see in messages. NULL for NULL alone.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_name(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |application| application.name.as_ptr())
}

/// What was booked with the service. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_plan(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |application| pointer(&application.plan))
}

/// Whether codes can be sent by SMS.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_sms_enabled(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |application| application.reply.sms_enabled)
}

/// Whether the application's own app is used.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_white_label(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |application| application.reply.white_label)
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_message(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |application| pointer(&application.message))
}

/// Frees the reply of seconder_app_details(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_free(application: Option<Box<seconder_application>>) {
    free(application);
}

/// The application's number. 0 where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_app_id(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |statistics| statistics.app_id)
}

/// How many months the service says there are. Count with seconder_statistics_stat_count().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_count(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |statistics| statistics.count)
}

/// How many months there are to look at.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_stat_count(
    statistics: Option<&seconder_statistics>,
) -> usize {
    read_handle(statistics, |statistics| statistics.stats.len())
}

/// The month at `index`, the oldest first; NULL beyond the last. It belongs to the statistics.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_stat(
    statistics: Option<&seconder_statistics>,
    index: usize,
) -> *const seconder_monthly_statistic {
    read_handle(statistics, |statistics| {
        statistics.stats.get(index).map_or(ptr::null(), ptr::from_ref)
    })
}

/// How many users the application has now. 0 where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_total_users(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |statistics| statistics.total_users)
}

/// What happened, in the service's words. NULL where the service does not tell.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_message(
    statistics: Option<&seconder_statistics>,
) -> *const c_char {
    read_handle(statistics, |statistics| pointer(&statistics.message))
}

/// Frees the reply of seconder_app_stats(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_free(statistics: Option<Box<seconder_statistics>>) {
    free(statistics);
}
