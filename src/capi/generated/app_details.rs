//! Written by tools/generate from src/calls/app_details.rs.

use super::delete_user::seconder_call_options;
use crate::calls::{AppDetails, Application, Handle};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, Text, free, pointer, read_handle, with_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use std::ffi::c_char;

/// The service's record of an application (interface 2.3).
pub struct seconder_application {
    app_id: Option<u64>,
    name: Text,
    plan: Option<Text>,
    sms_enabled: bool,
    phone_calls_enabled: bool,
    push_enabled: bool,
    white_label: bool,
    message: Option<Text>,
}

impl From<Application> for seconder_application {
    fn from(reply: Application) -> seconder_application {
        seconder_application {
            app_id: reply.app_id,
            name: Text::new(&reply.name),
            plan: Text::of(reply.plan.as_deref()),
            sms_enabled: reply.sms_enabled,
            phone_calls_enabled: reply.phone_calls_enabled,
            push_enabled: reply.push_enabled,
            white_label: reply.white_label,
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Requests the service's record of the application (interface 4.7).
///
/// Free `out` with seconder_application_free(). SECONDER_UNAUTHORIZED if the service does not
/// accept the API key. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_app_details(
    service: Option<&seconder_service>,
    options: *const seconder_call_options,
    options_size: usize,
    out: *mut *mut seconder_application,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = AppDetails { user_ip: ffi::address("user_ip", options.user_ip)? };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// The application's number. 0 if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_app_id(application: Option<&seconder_application>) -> u64 {
    read_handle(application, |reply| reply.app_id.unwrap_or_default())
}

/// The name shown to users in messages. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_name(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |reply| reply.name.as_ptr())
}

/// The application's plan with the service. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_plan(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |reply| pointer(&reply.plan))
}

/// Returns whether codes can be sent by SMS.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_sms_enabled(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |reply| reply.sms_enabled)
}

/// Returns whether codes can be sent by voice call.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_phone_calls_enabled(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |reply| reply.phone_calls_enabled)
}

/// Returns whether approval requests can be sent.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_push_enabled(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |reply| reply.push_enabled)
}

/// Returns whether the application's own app is used.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_white_label(
    application: Option<&seconder_application>,
) -> bool {
    read_handle(application, |reply| reply.white_label)
}

/// The service's message. NULL if the service does not provide it.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_message(
    application: Option<&seconder_application>,
) -> *const c_char {
    read_handle(application, |reply| pointer(&reply.message))
}

/// Frees the reply of seconder_app_details(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_application_free(application: Option<Box<seconder_application>>) {
    free(application);
}
