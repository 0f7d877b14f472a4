//! Opening a service, and the version and the parts of the library.

use super::deliver::{self, seconder_deliver};
use super::error::seconder_error;
use super::ffi::{self, Flag, Plain, Text, free, run, with_out, within};
use super::log::Slot;
use super::lookup::{self, seconder_lookup};
use super::names::seconder_names;
use super::post::{self, seconder_post};
use super::settings;
use super::status::{SECONDER_OK, seconder_status};
use super::userdata::{Userdata, seconder_userdata_free};
use crate::model::ApiKey;
use crate::{Canceller, Scheme, Service};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};

/// A service: an engine in this process, or a client of a remote service.
pub struct seconder_service {
    pub(super) service: Service,
    canceller: Canceller,
    /// The URL of a remote service, to which offline logins belong.
    remote_url: Option<Arc<str>>,
    pub(super) log: Arc<Slot>,
    // NUL-terminated copies of an engine's keys, made on first use: most programs never read any. Those that
    // were replaced stay, because a caller may have the text.
    pub(super) api_keys: Mutex<Vec<(ApiKey, Text)>>,
}

impl seconder_service {
    /// A handle with a canceller and a log function of its own.
    fn new(service: &Service, remote_url: Option<Arc<str>>, log: Slot) -> seconder_service {
        let (canceller, log) = (Canceller::new(), Arc::new(log));
        let service =
            service.with_interrupt(Arc::new(canceller.clone())).with_log(Arc::clone(&log) as _);
        seconder_service { service, canceller, remote_url, log, api_keys: Mutex::default() }
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

/// Options of seconder_open(). Nothing is read from the environment, and every text is copied. Each
/// option says which URLs it is for: "Remote service" is https: (and http: to this machine) and
/// unix:, "Network" the former alone, "Socket" the latter alone, "Engine" is sqlite:, postgres:
/// and sandbox:. An option that is set and has no effect with the URL is SECONDER_INVALID_ARGUMENT, so that no program
/// relies on it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_open_options {
    /// Remote service: the time limit of a whole call, in milliseconds, at most 3600000. Default:
    /// 10000.
    pub timeout_ms: u32,
    /// Remote service: which calls are retried if it asks to wait and the wait fits into the time
    /// limit, one of SECONDER_REPEATS_... Default: SECONDER_REPEATS_QUESTIONS.
    pub repeats: i32,
    /// Remote service: the format of responses, SECONDER_FORMAT_JSON or SECONDER_FORMAT_XML.
    /// Default: JSON.
    pub format: i32,
    /// Remote service: the generation of the interface to use (interface 9),
    /// SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER. Default: the current one.
    pub generation: i32,
    /// Network: a PEM file of certificates to trust instead of the system's: of authorities,
    /// or the service's own if it is self-signed.
    pub ca_file: *const c_char,
    /// Network: pinned public keys. The service must present one of them. Each is "sha256/"
    /// followed by the SHA-256 of the key (SubjectPublicKeyInfo) in Base64. Without `ca_file` only
    /// the pins are checked; with it, both must match.
    pub pins: *const *const c_char,
    /// The number of keys at `pins`, at most 1000.
    pub pins_count: usize,
    /// Network: a PEM file with the certificate that this client presents, followed by the
    /// chain up to an authority that the service trusts. Requires `client_key`.
    pub client_certificate: *const c_char,
    /// Network: a PEM file with the private key of `client_certificate`, not encrypted with a password.
    pub client_key: *const c_char,
    /// Network: a proxy to connect through, as "http://host:port" or
    /// "http://user:password@host:port". Default: none.
    pub proxy: *const c_char,
    /// Network: name servers to query, in this order, instead of those in /etc/resolv.conf:
    /// IP addresses with or without a port, such as "192.0.2.1:5353" and "[2001:db8::1]:53".
    pub name_servers: *const *const c_char,
    /// The number of servers at `name_servers`, at most 1000.
    pub name_servers_count: usize,
    /// Both: the names that the service uses where the interface document says `svc`. Default, also
    /// where every field is NULL: for a remote service the document's; for an engine those stored
    /// in the database, the document's in a new one. A database that was created with other names
    /// is SECONDER_INVALID_ARGUMENT.
    pub names: *const seconder_names,
    /// The size of the struct at `names`: `sizeof *names`.
    pub names_size: usize,
    /// Engine: the application's name in messages and authenticator apps, 1 to 64 bytes without
    /// colons and line feeds. Default: the name stored in the database, "Seconder" in a new one.
    pub application_name: *const c_char,
    /// Engine: the URL to which answers to approval requests are posted (interface 6), an https:
    /// URL or an http: one of this machine. "" removes the stored one. Default: the URL stored in
    /// the database, none in a new one.
    pub callback_url: *const c_char,
    /// Engine: a PEM file with the authorities to trust when callbacks are posted, or the
    /// application's own certificate, instead of the system's. Every process that uses the database
    /// reads it when it posts a callback. A post function decides itself whom to trust. ""
    /// removes the stored one. Default: the file stored in the database, none in a new one.
    pub callback_ca_file: *const c_char,
    /// Engine: the link to the app that a new user receives by SMS (interface 4.1), an https: URL of
    /// at most 2048 characters. "" removes the stored one. Default: the link stored in the database,
    /// none in a new one, and then no message is sent.
    pub install_link: *const c_char,
    /// `sqlite:` and `postgres:`: the file with the keys that seal the secrets in the database. A
    /// database that was created with one is SECONDER_STORAGE without it, or with another one. Default
    /// for `sqlite:`: the file next to the database that is named like it with `.keys` at the end; it is
    /// created with a new database, readable by its owner only. With `postgres:` it is required:
    /// `seconder keyring create` makes the file, and each machine has a copy of it.
    pub keyring: *const c_char,
    /// Engine: limits of the application, as name=value, separated by spaces or commas, such as
    /// "number_day=10 countries=1+44". Those that are not given stay as they are stored in the
    /// database. docs/limits.md lists them.
    pub limits: *const c_char,
    /// Engine: the application's own texts of messages, as a JSON object of languages, each of them an
    /// object of texts, such as {"de": {"sms": "{{code}} ist Ihr Code."}}: docs/texts.md describes them.
    /// They replace those that are stored; "" removes them. Default: those stored in the database, none
    /// in a new one, so that the texts that are built in are used.
    pub texts: *const c_char,
    /// Engine: the domain of the page on which users enter codes, such as "example.com". Each SMS with a
    /// code then ends with a line such as "@example.com #123456", by which browsers offer the code on
    /// pages of that domain alone. "" removes the stored one. Default: the domain stored in the database,
    /// none in a new one.
    pub otp_domain: *const c_char,
    /// Engine: what seconder_app_details() says was booked, 1 to 64 bytes. Default: the text stored in the
    /// database, "embedded" in a new one.
    pub plan: *const c_char,
    /// Engine: the picture that approval requests show which have no logos (interface 4.12), an https:
    /// URL of at most 2048 characters. "" removes the stored one. Default: the one stored in the
    /// database, none in a new one.
    pub logo: *const c_char,
    /// Engine: further hosts of push services to which messages for phones are posted, besides the hosts of the
    /// makers of browsers, such as "push.example *.push.example"; "127.0.0.1:8080" for one on this machine.
    pub push_hosts: *const c_char,
    /// Engine: the generation of the bodies that a server in front of it replies with (interface 9),
    /// SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER. Default: the one stored in the
    /// database, the current one in a new one.
    pub replies: i32,
    /// Engine: how callbacks are sent, SECONDER_CALLBACK_METHOD_POST or SECONDER_CALLBACK_METHOD_GET.
    /// Default: the method stored in the database, POST in a new one.
    pub callback_method: i32,
    /// Engine: whether `callback_url` may lead to addresses that are not of the public Internet (private
    /// networks and this machine): SECONDER_YES or SECONDER_NO. A URL with "localhost" or
    /// a loopback address leads to this machine in any case, and nowhere else. A post function decides
    /// itself. Default: what is stored in the database, no in a new one.
    pub callback_private: i32,
    /// Engine: whether seconder_app_details() says that the application has an app of its own: SECONDER_YES
    /// or SECONDER_NO. Default: what is stored in the database, no in a new one.
    pub white_label: i32,
    /// Engine: whether SMS are sent: SECONDER_YES or SECONDER_NO. Without them, codes can be spoken in
    /// calls. Default: what is stored in the database, yes in a new one.
    pub sms_enabled: i32,
    /// Engine: whether users who have an app are sent codes by SMS and calls too, unless a call sets
    /// `force`: SECONDER_YES or SECONDER_NO. Default: what is stored in the database, no in a new one.
    pub force_codes: i32,
    /// Engine: the number of digits of codes by SMS and voice, 6 to 10. Default: the number stored
    /// in the database, 7 in a new one.
    pub token_length: u32,
    /// Engine: the number of digits of codes of authenticator apps enrolled from now on, 6 to 8.
    /// Default: the number stored in the database, 6 in a new one, which every app supports.
    pub authenticator_digits: u32,
    /// Engine: how long such an app shows a code, in seconds, 1 to 3600. Default: the time stored in the
    /// database, 30 in a new one, which every app supports.
    pub authenticator_period: u32,
    /// Socket: the number of the user who runs the service, as `id -u NAME` prints it. Before anything
    /// is sent, the user who listens on the socket is checked: root, the user of this process and
    /// this one are trusted, and everyone else is SECONDER_UNAVAILABLE. Default: only the first two.
    pub service_uid: u32,
    /// Engine: for how many days, 1 to 7, a login machine may check the codes of authenticator apps
    /// while it cannot reach the service; -1 forbids it. Default: the number stored in the database,
    /// none in a new one. See seconder_prepare_offline().
    pub offline_days: i32,
    /// Network: allows `http://` to this machine itself. For tests only: the API key is then
    /// sent in the clear.
    pub allow_loopback_http: Flag,
    /// Remote service: sends `details`, `hidden_details` and `data` in a JSON body if they hold
    /// anything but texts, for services that are known to read JSON. Default: a form, which every
    /// service reads, and in which numbers and flags become text; nulls, empty lists and empty
    /// objects are left out; and a name that is empty or has brackets is
    /// SECONDER_INVALID_ARGUMENT.
    pub nested_as_json: Flag,
    /// `sqlite:` and `postgres:`: requires that the database exists: a file that is missing, and a
    /// database without tables, is SECONDER_STORAGE. With it, a mistyped path is an error rather than a
    /// new database without users. Default: the file or the tables are created.
    pub must_exist: Flag,
    /// Engine: the function that delivers SMS and voice calls. Default for `sqlite:`: messages are
    /// written as text files to a folder next to the database, named like the database with `.spool` for
    /// `.db`; a file is removed after its code has expired. With `postgres:` there is no default, and
    /// requesting a code fails; a sandbox delivers nothing.
    pub deliver: seconder_deliver,
    /// Passed to the deliver function. It must be safe to use from many threads at once.
    pub deliver_userdata: *mut c_void,
    /// Called exactly once with `deliver_userdata`, when nothing can use it any longer: at the latest
    /// when the last service that shares it is freed, and before seconder_open() returns if it
    /// fails.
    pub deliver_userdata_free: seconder_userdata_free,
    /// Engine: the function that posts callbacks. Default: HTTPS within 15 s, trusting
    /// `callback_ca_file` or else the system's authorities.
    pub post: seconder_post,
    /// Passed to the post function. It must be safe to use from many threads at once.
    pub post_userdata: *mut c_void,
    /// Called exactly once with `post_userdata`, under the same conditions as
    /// `deliver_userdata_free`.
    pub post_userdata_free: seconder_userdata_free,
    /// Engine: the function that looks numbers up: their carrier, their type, and whether they were
    /// ported. How often is limited by `lookup_day` of `limits`, and what it says is used again for some
    /// days. Default: only what numbering plans say is known.
    pub lookup: seconder_lookup,
    /// Passed to the lookup function. It must be safe to use from many threads at once.
    pub lookup_userdata: *mut c_void,
    /// Called exactly once with `lookup_userdata`, under the same conditions as
    /// `deliver_userdata_free`.
    pub lookup_userdata_free: seconder_userdata_free,
}

// SAFETY: numbers, pointers, and functions that may be NULL.
unsafe impl Plain for seconder_open_options {}

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
        let userdata = Userdata::new(options.deliver_userdata, options.deliver_userdata_free);
        let deliver = deliver::ByFunction::new(options.deliver, userdata);
        let userdata = Userdata::new(options.post_userdata, options.post_userdata_free);
        let post = post::ByFunction::new(options.post, userdata);
        let userdata = Userdata::new(options.lookup_userdata, options.lookup_userdata_free);
        let lookup = lookup::ByFunction::new(options.lookup, userdata);
        with_out(out, error, move || {
            rest?;
            let service = settings::open(url, api_key, &options, (deliver, post, lookup))?;
            let url = ffi::text("url", url)?;
            let is_remote = !Scheme::of(url).is_some_and(Scheme::is_engine);
            let remote_url = is_remote.then(|| url.into());
            Ok(seconder_service::new(&service, remote_url, Slot::default()))
        })
    }
}

/// Creates a second handle of a service, sharing its connections or its engine, with another time
/// limit or another choice of retries.
///
/// `timeout_ms` is the time limit of each call in milliseconds, at most 3600000; 0 keeps the one of
/// `service`. `repeats` is one of SECONDER_REPEATS_...; 0 keeps the one of `service`. Neither affects
/// an engine in this process, which waits for no response and retries nothing. The new handle has
/// the log function of `service`, and is not cancelled even if `service` is.
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
        key = within!(open::own_key(ffi::need("service", service)?))?;
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
