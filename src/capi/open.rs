//! Opening a service, and the version of the library.

use super::deliver::{self, seconder_deliver};
use super::error::seconder_error;
use super::ffi::{self, Flag, Plain, Text, free, run, with_out};
use super::names::seconder_names;
use super::post::{self, seconder_post};
use super::settings;
use super::status::{SECONDER_OK, seconder_status};
use super::userdata::{Userdata, seconder_userdata_free};
use crate::Service;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

/// What answers the calls: an engine in this process, or a client of a remote service.
pub struct seconder_service {
    pub(super) service: Service,
    #[cfg_attr(not(feature = "engine"), allow(dead_code, reason = "an engine's key is told"))]
    api_key: OnceLock<Text>,
}

impl seconder_service {
    fn new(service: Service) -> seconder_service {
        seconder_service { service, api_key: OnceLock::new() }
    }
}

/// How a service is opened. Nothing of it is read from the environment, and every text is copied. A
/// remote service does without the options of an engine, and an engine without those of a remote service
/// .
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_open_options {
    /// Service remote: how long a call may take from its first step to its last, in milliseconds,
    /// at most 3600000. Default: 10000.
    pub timeout_ms: u32,
    /// Service remote: which calls are repeated when it says "wait" and the wait ends in time,
    /// one of SECONDER_REPEATS_... Default: SECONDER_REPEATS_QUESTIONS.
    pub repeats: i32,
    /// Service remote: the format it is asked for, SECONDER_FORMAT_JSON or SECONDER_FORMAT_XML.
    /// Default: JSON.
    pub format: i32,
    /// Service remote: the generation of the interface it is spoken to in (interface 9),
    /// SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER. Default: the current one.
    pub generation: i32,
    /// Service remote: a file of certificates in PEM to trust in place of the system's: of
    /// authorities, or the service's own.
    pub ca_file: *const c_char,
    /// Service remote: the keys by which it is known, one of which must be shown: each is
    /// "sha256/" and the SHA-256 of the key (SubjectPublicKeyInfo) in Base64. Without `ca_file` they
    /// are all that is trusted; with it, both must hold.
    pub pins: *const *const c_char,
    /// How many keys there are at `pins`.
    pub pins_count: usize,
    /// Service remote: a file in PEM with the certificate that this client shows, followed by
    /// those of the authorities that lead to one which the service trusts. Goes with `client_key`.
    pub client_certificate: *const c_char,
    /// A file in PEM with the private key of `client_certificate`, not locked with a password.
    pub client_key: *const c_char,
    /// Service remote: a proxy to go through, as "http://host:port" or
    /// "http://user:password@host:port". Default: none.
    pub proxy: *const c_char,
    /// Service remote: name servers to ask, in this order, in place of those of /etc/resolv.conf:
    /// IP addresses with a port or without, such as "192.0.2.1:5353" and "[2001:db8::1]:53".
    pub name_servers: *const *const c_char,
    /// How many servers there are at `name_servers`.
    pub name_servers_count: usize,
    /// Both: the names that the service uses where the interface document says `svc`. Default: the
    /// document's.
    pub names: *const seconder_names,
    /// The size of the struct at `names`: `sizeof *names`.
    pub names_size: usize,
    /// Engine: the application's name in messages and authenticator apps, 1 to 64 bytes without
    /// colons and line feeds. Default: the name that the database holds, and "Seconder" in a new one.
    pub application_name: *const c_char,
    /// Engine: where the answers to approval requests are posted (interface 6), an https: URL or an
    /// http: one of this machine. Default: the URL that the database holds, and none in a new one.
    pub callback_url: *const c_char,
    /// Engine: how many digits the codes by SMS and voice have, 6 to 10. Default: as the database has
    /// it, and 7 in a new one.
    pub token_length: u32,
    /// Engine: how many digits the codes of authenticator apps have that are enrolled from now on, 6
    /// to 8. Default: 6, which every app knows.
    pub authenticator_digits: u32,
    /// Engine: how long such an app shows a code, in seconds, 1 to 3600. Default: 30, which every app
    /// knows.
    pub authenticator_period: u32,
    /// Service remote: allows `http://` to this machine itself. For tests: the API key then
    /// travels in the clear.
    pub allow_loopback_http: Flag,
    /// Engine: what carries SMS and voice calls. Default: a folder of text files beside the database,
    /// named as the database with `.spool` for `.db`.
    pub deliver: seconder_deliver,
    /// What the deliver function is given. It must bear use by many threads at once.
    pub deliver_userdata: *mut c_void,
    /// Runs exactly once with `deliver_userdata`, when nothing can use it any more: at the latest
    /// when the last service that shares it is freed, and before seconder_open() returns when it
    /// fails.
    pub deliver_userdata_free: seconder_userdata_free,
    /// Engine: what posts callbacks. Default: HTTPS within 15 s, trusting the system's authorities.
    pub post: seconder_post,
    /// What the post function is given. It must bear use by many threads at once.
    pub post_userdata: *mut c_void,
    /// Runs exactly once with `post_userdata`, as `deliver_userdata_free` does with its own.
    pub post_userdata_free: seconder_userdata_free,
}

// SAFETY: numbers, pointers, and functions that may be NULL.
unsafe impl Plain for seconder_open_options {}

/// Opens a service.
///
/// `url` says who answers: `https://...` for a remote service, `sqlite:/path/file.db` for an
/// engine in this process, `sandbox:` for an engine that forgets and accepts every token, for the
/// tests of applications (`sandbox:?accept=0000000` accepts that token alone, and
/// `sandbox:?accept=right` checks codes as `sqlite:` does).
///
/// `api_key` is the application's API key. A remote service needs it; for an engine it may be
/// NULL, which makes one for the first application of a new database.
///
/// `out` is freed with seconder_service_free(). SECONDER_INVALID_ARGUMENT for a URL or an option that cannot
/// be right, or a URL that this build of the library cannot open; SECONDER_STORAGE for a database
/// that cannot be opened; SECONDER_UNAUTHORIZED when the database has no application of that API
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
        let (options, rest) = ffi::sized_and_rest("options_size", options, options_size);
        let userdata = Userdata::new(options.deliver_userdata, options.deliver_userdata_free);
        let deliver = deliver::ByFunction::new(options.deliver, userdata);
        let userdata = Userdata::new(options.post_userdata, options.post_userdata_free);
        let post = post::ByFunction::new(options.post, userdata);
        with_out(out, error, move || {
            rest?;
            Ok(seconder_service::new(settings::open(url, api_key, &options, deliver, post)?))
        })
    }
}

/// Makes a second handle of a service, on the same connections or the same engine, whose calls have
/// another time limit or are repeated otherwise.
///
/// `timeout_ms` is the limit of each call in milliseconds, at most 3600000; 0 keeps the service's
/// own. `repeats` is one of SECONDER_REPEATS_...; 0 keeps the service's own. An engine in this
/// process waits for nobody and repeats nothing, so that neither changes it.
///
/// `out` is freed with seconder_service_free(), before or after `service`: each works without the
/// other. SECONDER_INVALID_ARGUMENT when one of the two is not as said.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_service_with(
    service: Option<&seconder_service>,
    timeout_ms: u32,
    repeats: i32,
    out: *mut *mut seconder_service,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header asks.
    unsafe {
        with_out(out, error, || {
            let service = &ffi::need("service", service)?.service;
            Ok(seconder_service::new(settings::with(service, timeout_ms, repeats)?))
        })
    }
}

/// Frees a service, after the last call with this handle has returned. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_service_free(service: Option<Box<seconder_service>>) {
    free(service);
}

/// The application's API key, for an engine in this process: callbacks are signed with it. The text
/// belongs to the service. NULL, and an error of SECONDER_INVALID_ARGUMENT, when a remote service answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_api_key(
    service: Option<&seconder_service>,
    error: *mut *mut seconder_error,
) -> *const c_char {
    let mut key = ptr::null();
    let find = || {
        key = own_key(ffi::need("service", service)?)?;
        Ok(())
    };
    // SAFETY: as the header asks.
    match unsafe { run(error, find) } {
        SECONDER_OK => key,
        _ => ptr::null(),
    }
}

#[cfg(feature = "engine")]
fn own_key(service: &seconder_service) -> ffi::Outcome<*const c_char> {
    let engine = service.service.require_engine()?;
    Ok(service.api_key.get_or_init(|| Text::new(engine.api_key().expose())).as_ptr())
}

#[cfg(not(feature = "engine"))]
fn own_key(_: &seconder_service) -> ffi::Outcome<*const c_char> {
    Err(ffi::no_engine())
}

/// The version of the library, such as "0.1.0". It stays as long as the library is loaded. Never
/// NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
