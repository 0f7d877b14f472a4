//! Opening a service, and the version and the parts of the library.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Text, engine_only, free, run, with_out};
use super::generated::open_options::seconder_open_options;
use super::log::Slot;
use super::settings;
use super::status::{SECONDER_OK, seconder_status};
use super::userdata::ByFunction;
use crate::model::ApiKey;
use crate::{Canceller, Scheme, Service};
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// A service: an engine in this process, or a client of a remote service.
pub struct seconder_service {
    pub(super) service: Service,
    canceller: Canceller,
    // The URL of a remote service, to which offline logins belong.
    remote_url: Option<Arc<str>>,
    pub(super) log: Arc<Slot>,
    // NUL-terminated copies of an engine's keys, made on first use: most programs never read any. Those that
    // were replaced stay, because a caller may have the text.
    api_keys: Mutex<Vec<(ApiKey, Text)>>,
}

impl seconder_service {
    /// A handle of a service that was opened at this URL.
    ///
    /// # Safety
    /// The URL is as the header requires.
    unsafe fn opened(url: *const c_char, service: &Service) -> Outcome<seconder_service> {
        // SAFETY: promised by the caller.
        let url = unsafe { ffi::text("url", url) }?;
        let is_remote = !Scheme::of(url).is_some_and(Scheme::is_engine);
        Ok(seconder_service::new(service, is_remote.then(|| url.into()), Slot::default()))
    }

    /// A handle with a canceller and a log function of its own.
    fn new(service: &Service, remote_url: Option<Arc<str>>, log: Slot) -> seconder_service {
        let (canceller, log) = (Canceller::new(), Arc::new(log));
        let service =
            service.with_interrupt(Arc::new(canceller.clone())).with_log(Arc::clone(&log) as _);
        seconder_service { service, canceller, remote_url, log, api_keys: Mutex::default() }
    }

    /// The API key of the engine's application.
    #[cfg(feature = "engine")]
    fn own_key(&self) -> Outcome<*const c_char> {
        let key = self.service.require_engine()?.api_key();
        let mut keys = self.api_keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, text)) = keys.last()
            && *known == key
        {
            return Ok(text.as_ptr());
        }
        let text = Text::new(key.expose());
        let pointer = text.as_ptr();
        keys.push((key, text));
        Ok(pointer)
    }

    /// The service, with calls that the handle cancels and logs.
    #[doc(hidden)]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The URL of a remote service; `None` for an engine in this process.
    #[doc(hidden)]
    pub fn remote_url(&self) -> Option<&str> {
        self.remote_url.as_deref()
    }

    /// Returns whether `seconder_service_cancel()` was called.
    #[doc(hidden)]
    pub fn is_cancelled(&self) -> bool {
        self.canceller.is_cancelled()
    }
}

/// Opens a service.
///
/// `url` selects the service: `https://...` for a remote service, `unix:/path/of.sock` for a service
/// on this machine by its Unix socket, `sqlite:/path/file.db` for an engine in this process,
/// `postgres://user@host/database` for one on a database that several processes and machines share
/// (docs/scale.md has its parameters; the option `keyring` is required),
/// `sandbox:` for an engine that keeps nothing and accepts every token, for the tests of applications
/// (`sandbox:?accept=0000000` accepts that token alone, and `sandbox:?accept=right` checks codes as
/// `sqlite:` does). A sandbox that does not check codes has
/// no waits and caps, and accepts 0000 for every phone number. With `clear_every`, as in
/// `sandbox:?accept=0000000&clear_every=86400`, a sandbox is emptied every that many seconds, 1 to
/// 31536000, when a call begins; seconder_clear_sandbox() empties it at once.
///
/// `api_key` is the application's API key. A service on the network requires it; for an engine it may
/// be NULL, which generates one for the first application of a new database. A service on this
/// machine recognises the user of this process instead: it must be NULL for `unix:`.
///
/// Free `out` with seconder_service_free(). SECONDER_INVALID_ARGUMENT for an invalid URL or option,
/// an option that has no effect with the URL, or a URL that this build of the library cannot open;
/// SECONDER_STORAGE for a database that cannot be opened, or does not exist although the option
/// `must_exist` is set; SECONDER_UNAUTHORIZED if the database has no application with that API key;
/// SECONDER_UNAVAILABLE if a file of certificates cannot be read because the process has no
/// descriptors or memory left. Nothing is sent before the first call.
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
    // SAFETY: as the header requires. The owners of the userdata are created before anything can
    // fail, so that it is freed exactly once in any case.
    unsafe {
        let (options, rest) = ffi::sized_and_rest("options_size", options, options_size);
        let o = &options;
        let functions = (
            ByFunction::new(o.deliver, o.deliver_userdata, o.deliver_userdata_free),
            ByFunction::new(o.post, o.post_userdata, o.post_userdata_free),
            ByFunction::new(o.lookup, o.lookup_userdata, o.lookup_userdata_free),
        );
        with_out(out, error, move || {
            rest?;
            let service = settings::open(url, api_key, &options, functions)?;
            seconder_service::opened(url, &service)
        })
    }
}

/// Opens a service as seconder_open() does, with options that are written as text: for languages
/// that can call C, and cannot make a struct of it.
///
/// `options` has a line for each option: the name of the field in seconder_open_options, `=`, and the
/// value. The time limit is `timeout` instead, in seconds, as in `timeout=2.5`; constants are words in
/// small letters, as in `format=xml` and `callback_method=get`; flags are `yes` or `no`; the values of
/// a list have spaces between them; `names` is the word in place of `svc`. Functions cannot be written.
/// It may be NULL. A line that cannot be understood, an unknown name, and an option that is there
/// twice are SECONDER_INVALID_ARGUMENT with the line's number, and so is all that seconder_open()
/// rejects.
///
/// Free `out` with seconder_service_free().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_open_text(
    url: *const c_char,
    api_key: *const c_char,
    options: *const c_char,
    out: *mut *mut seconder_service,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = settings::open_text(url, api_key, options)?;
            seconder_service::opened(url, &service)
        })
    }
}

/// Creates a second handle of a service, sharing its connections or its engine, with another time
/// limit or another choice of retries.
///
/// `timeout_ms` is the time limit of each call in milliseconds, at most 3600000; 0 keeps the one of
/// `service`. `repeats` is one of SECONDER_REPEATS_...; 0 keeps the one of `service`. Neither affects
/// an engine in this process, which waits for no response and retries nothing, unless a call meets a fault
/// of seconder_sandbox_fail(). The new handle has the log function of `service`, and is not cancelled even
/// if `service` is.
///
/// Free `out` with seconder_service_free(), before or after `service`: the handles are independent
/// of each other. SECONDER_INVALID_ARGUMENT if `timeout_ms` or `repeats` is out of range.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_service_with(
    service: Option<&seconder_service>,
    timeout_ms: u32,
    repeats: i32,
    out: *mut *mut seconder_service,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let handle = ffi::need("service", service)?;
            let service = settings::with(&handle.service, timeout_ms, repeats)?;
            let remote_url = handle.remote_url.clone();
            Ok(seconder_service::new(&service, remote_url, handle.log.copied()))
        })
    }
}

/// Ends the calls under way with this handle, on whichever threads, and every later one, with
/// SECONDER_CANCELLED. A call that waits for the network ends within 100 ms, and so does
/// seconder_wait_for_approval(); a call that an engine in this process has begun is completed.
/// seconder_error_retry_safe() on the error says whether the request may have been sent: if not, the
/// call has had no effect.
///
/// A handle stays cancelled, so that a call cannot slip through by beginning a moment later. To be
/// able to cancel one call alone, make it with a handle of its own by seconder_service_with(): other
/// handles of the service are not affected, and keep their connections. The service can be used
/// again with another handle, also with one made from the cancelled one.
///
/// It may be called from any thread and in a signal handler: it only stores a flag. NULL is fine.
/// The handle must not be freed yet.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_service_cancel(service: Option<&seconder_service>) {
    if let Some(service) = service {
        service.canceller.cancel();
    }
}

/// Frees a service. The last call with this handle must have returned. NULL is fine.
///
/// If the program has closed descriptors of the database, nothing is written, and the log function
/// gets SECONDER_STORAGE and a line with "call=close".
#[unsafe(no_mangle)]
pub extern "C" fn seconder_service_free(service: Option<Box<seconder_service>>) {
    #[cfg(feature = "engine")]
    ffi::read_handle(service.as_deref(), |handle| handle.service.log_closed_descriptors());
    free(service);
}

/// The application's API key as it is now, with which an engine in this process signs callbacks. The
/// text is owned by the service, also after the key was replaced. NULL, and an error with
/// SECONDER_INVALID_ARGUMENT, if the service is a remote one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_api_key(
    service: Option<&seconder_service>,
    error: *mut *mut seconder_error,
) -> *const c_char {
    let mut key = ptr::null();
    let find = || {
        key = engine_only!(service, seconder_service::own_key)?;
        Ok(())
    };
    // SAFETY: as the header requires.
    match unsafe { run(error, find) } {
        SECONDER_OK => key,
        _ => ptr::null(),
    }
}

/// The version of the library, such as "0.1.0". Valid as long as the library is loaded. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The parts of this build, with spaces between them: "client engine postgres" in the full library,
/// whose databases may be in SQLite or PostgreSQL, and "client" in the one without an engine. Valid as long as the
/// library is loaded. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_parts() -> *const c_char {
    const PARTS: &CStr = if cfg!(feature = "postgres") {
        c"client engine postgres"
    } else if cfg!(feature = "engine") {
        c"client engine"
    } else {
        c"client"
    };
    PARTS.as_ptr()
}
