//! The application itself, and its usage statistics.

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
    /// The IP address that the request was made from, IPv4 or IPv6.
    pub user_ip: *const c_char,
}

/// Options of seconder_app_stats().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_app_stats_options {
    /// The IP address that the request was made from, IPv4 or IPv6.
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

/// The usage of the application in one month, in UTC (interface 2.4).
#[repr(C)]
pub struct seconder_monthly_statistic {
    /// The English name of the month.
    pub month: *const c_char,
    /// The year.
    pub year: u64,
    /// The number of calls that the application made.
    pub api_calls_count: u64,
    /// The number of codes and approvals that let someone in.
    pub auths_count: u64,
    /// The number of voice calls made.
    pub calls_count: u64,
    /// The number of SMS sent.
    pub sms_count: u64,
    /// The number of users enrolled.
    pub users_count: u64,
}

/// The usage of the application, month by month.
pub struct seconder_statistics {
    app_id: u64,
    count: u64,
    total_users: u64,
    message: Option<Text>,
    stats: Vec<seconder_monthly_statistic>,
    /// Owns the texts that the `month` pointers of `stats` point into.
    _months: Vec<Text>,
}

// SAFETY: the pointers point into the texts beside them, which never change.
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

/// Returns what the service knows about the application (interface 4.7).
///
/// Free `out` with seconder_application_free(). SECONDER_UNAUTHORIZED if the API key is not
/// accepted. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_app_details(
    service: Option<&seconder_service>,
    options: *const seconder_app_details_options,
    options_size: usize,
    out: *mut *mut seconder_application,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let user_ip = ffi::address("user_ip", options.user_ip)?;
            Ok(service.service.handle(&AppDetails { user_ip })?.into())
        })
    }
}

/// Returns the usage of the application, month by month (interface 4.9).
///
/// Free `out` with seconder_statistics_free(). SECONDER_UNAUTHORIZED if the API key is not
/// accepted. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_app_stats(
    service: Option<&seconder_service>,
    options: *const seconder_app_stats_options,
    options_size: usize,
    out: *mut *mut seconder_statistics,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let user_ip = ffi::address("user_ip", options.user_ip)?;
            Ok(service.service.handle(&AppStats { user_ip })?.into())
        })
    }
}

/// The application's id. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_app_id(application: Option<&seconder_application>) -> u64 {
    read_handle(application, |application| application.reply.app_id.unwrap_or_default())
}

/// The name that users see in messages. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_name(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |application| application.name.as_ptr())
}

/// The plan booked with the service. NULL if the service does not provide it.
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

/// Whether codes can be sent by voice call.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_phone_calls_enabled(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |application| application.reply.phone_calls_enabled)
}

/// Whether approval requests can be sent.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_push_enabled(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |application| application.reply.push_enabled)
}

/// Whether the application uses its own app.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_white_label(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |application| application.reply.white_label)
}

/// The service's message. NULL if it does not provide one.
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

/// The application's id. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_app_id(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |statistics| statistics.app_id)
}

/// The number of months as reported by the service. Iterate with seconder_statistics_stat_count()
/// instead.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_count(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |statistics| statistics.count)
}

/// The number of months that seconder_statistics_stat() can return.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_stat_count(
    statistics: Option<&seconder_statistics>,
) -> usize {
    read_handle(statistics, |statistics| statistics.stats.len())
}

/// The month at `index`, oldest first, owned by the statistics; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_stat(
    statistics: Option<&seconder_statistics>,
    index: usize,
) -> *const seconder_monthly_statistic {
    read_handle(statistics, |statistics| {
        statistics.stats.get(index).map_or(ptr::null(), ptr::from_ref)
    })
}

/// The number of users that the application has now. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_statistics_total_users(statistics: Option<&seconder_statistics>) -> u64 {
    read_handle(statistics, |statistics| statistics.total_users)
}

/// The service's message. NULL if it does not provide one.
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
