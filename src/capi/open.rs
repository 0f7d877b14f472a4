//! Opening a service, and the version of the library.

use super::border::{self, Flag, Outcome, Plain, Text, free, give, number_if, run};
use super::deliver::{ByFunction, seconder_deliver, seconder_deliver_userdata_free};
use super::error::seconder_error;
use super::status::seconder_status;
use crate::{Service, Settings};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// What answers the calls: an engine in this process, or a client of a service elsewhere.
pub struct seconder_service {
    pub(super) service: Service,
    api_key: OnceLock<Text>,
}

/// How a service is opened. Nothing of it is read from the environment.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_open_options {
    /// How long a call to a service elsewhere may take from its first step to its last, in
    /// milliseconds. Default: 10000.
    pub timeout_ms: u32,
    /// Allows `http://` to this machine itself. For tests: the API key then travels in the clear.
    pub allow_loopback_http: Flag,
    /// A file of certificates in PEM to trust in place of the system's.
    pub ca_file: *const c_char,
    /// The application's name in messages and authenticator apps, for an engine. Default: the name
    /// that the database holds, and "Seconder" in a new one.
    pub application_name: *const c_char,
    /// Where an engine posts the answers to approval requests (interface 6). Default: the URL that
    /// the database holds, and none in a new one.
    pub callback_url: *const c_char,
    /// What carries SMS and voice calls of an engine. Default: a folder of text files beside the
    /// database, named as the database with `.spool` for `.db`.
    pub deliver: seconder_deliver,
    /// What the deliver function is given. It must bear use by many threads at once.
    pub deliver_userdata: *mut c_void,
    /// Runs exactly once with `deliver_userdata`, when nothing can use it any more: at the latest
    /// when the service is freed, and before seconder_open() returns when it fails.
    pub deliver_userdata_free: seconder_deliver_userdata_free,
}

// SAFETY: numbers, pointers, and functions that may be NULL.
unsafe impl Plain for seconder_open_options {}

/// Opens a service.
///
/// `url` says who answers: `https://...` for a service elsewhere, `sqlite:/path/file.db` for an
/// engine in this process, `sandbox:` for an engine that forgets and accepts every token, for the
/// tests of applications (`sandbox:?accept=0000000` accepts that token alone).
///
/// `api_key` is the application's API key. A service elsewhere needs it; for an engine it may be
/// NULL, which makes one for the first application of a new database.
///
/// SECONDER_INVALID for a URL or an option that cannot be right, SECONDER_STORAGE for a database
/// that cannot be opened, SECONDER_UNAUTHORIZED when the database has no application of that API
/// key. Nothing is sent before the first call.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_open(
    url: *const c_char,
    api_key: *const c_char,
    options: *const seconder_open_options,
    options_size: usize,
    out: *mut *mut seconder_service,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks. What the caller's data belong to is made before anything can fail.
    unsafe {
        let (options, rest) = border::options_and_rest(options, options_size);
        let deliver = ByFunction::new(
            options.deliver,
            options.deliver_userdata,
            options.deliver_userdata_free,
        );
        give(out, error, move || {
            rest?;
            let service = settings(url, api_key, &options, deliver)?.open()?;
            Ok(seconder_service { service, api_key: OnceLock::new() })
        })
    }
}

/// # Safety
/// Every pointer is NULL or a text.
unsafe fn settings(
    url: *const c_char,
    api_key: *const c_char,
    options: &seconder_open_options,
    deliver: ByFunction,
) -> Outcome<Settings> {
    // SAFETY: promised by the caller.
    let (url, key, ca_file, name, callback) = unsafe {
        (
            border::text("url", url)?,
            border::text_if("api_key", api_key)?,
            border::text_if("ca_file", options.ca_file)?,
            border::text_if("application_name", options.application_name)?,
            border::text_if("callback_url", options.callback_url)?,
        )
    };
    let mut settings = Settings::new(url).allow_loopback_http(options.allow_loopback_http.is_set());
    if let Some(key) = key {
        settings = settings.api_key(key);
    }
    if let Some(time) = number_if(options.timeout_ms.into()) {
        settings = settings.timeout(Duration::from_millis(time));
    }
    if let Some(file) = ca_file {
        settings = settings.ca_file(file);
    }
    if let Some(name) = name {
        settings = settings.application_name(name);
    }
    if let Some(url) = callback {
        settings = settings.callback_url(url);
    }
    if deliver.is_given() {
        settings = settings.deliver(deliver);
    }
    Ok(settings)
}

/// Frees a service, after the last call with it has returned. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_service_free(service: Option<Box<seconder_service>>) {
    free(service);
}

/// The application's API key, for an engine in this process: callbacks are signed with it. The text
/// belongs to the service. NULL, and an error of SECONDER_INVALID, when a service elsewhere answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_api_key(
    service: Option<&seconder_service>,
    error: *mut *mut seconder_error,
) -> *const c_char {
    let mut key = ptr::null();
    let find = || {
        let service = border::need("service", service)?;
        let engine = service.service.require_engine()?;
        key = service.api_key.get_or_init(|| Text::new(engine.api_key().expose())).as_ptr();
        Ok(())
    };
    // SAFETY: as the header asks.
    match unsafe { run(error, find) } {
        super::status::SECONDER_OK => key,
        _ => ptr::null(),
    }
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn seconder_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
