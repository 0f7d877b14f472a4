//! A whole login in one call.

#[cfg(not(target_os = "linux"))]
#[path = "login/unsupported.rs"]
mod dialogue;
#[cfg(target_os = "linux")]
mod dialogue;

use crate::prompt::seconder_converse;
use seconder::capi::error::seconder_error;
use seconder::capi::open::seconder_service;
use seconder::capi::shared::{self, Flag, Outcome, Plain};
use seconder::capi::status::seconder_status;
use seconder::model::UserId;
use std::ffi::{c_char, c_void};

/// To a journal function: the decision about a login and its reason.
pub const SECONDER_JOURNAL_NOTICE: i32 = 1;
/// To a journal function: something that the operator has to mend.
pub const SECONDER_JOURNAL_ERROR: i32 = 2;

/// Writes a line for the operator, such as to syslog: one SECONDER_JOURNAL_NOTICE for each login, such as
/// "login of ada by ftpd from 192.0.2.7: accepted (by a code)", and any SECONDER_JOURNAL_ERROR before it.
///
/// `line` is UTF-8 without a line feed, never contains what the user typed, a code or a key, and is valid
/// until the function returns. It runs inside seconder_login(), on the same thread. It must return
/// normally: it must not be left by longjmp() or a C++ exception.
pub type seconder_journal =
    Option<unsafe extern "C" fn(kind: i32, line: *const c_char, journal_userdata: *mut c_void)>;

/// Options of seconder_login().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_login_options {
    /// The service's user of the login name, if the program knows it. Default: it is looked up as the key
    /// `users` says, by default in the file /etc/seconder/users.
    pub user_id: u64,
    /// The address of the machine that the user comes from: for the key `trusted_networks`, the user's
    /// phone and the log. Default: not known.
    pub remote: *const c_char,
    /// The name of the program, such as "ftpd", for the user's phone and the log. Default: "a program".
    pub program: *const c_char,
    /// The text that the user typed before: a password, a code, or both in one field, as the key
    /// `first_pass` says. Default: none.
    pub typed: *const c_char,
    /// The absolute path of a configuration: seconder-pam.conf(5). Default: no file is read, and each key
    /// has its default.
    pub config_file: *const c_char,
    /// Keys of the configuration that override the file, each as "key=value", such as "users=directory".
    pub settings: *const *const c_char,
    /// The number of texts at `settings`, at most 1000.
    pub settings_count: usize,
    /// The function that writes for the operator. Default: nothing is written.
    pub journal: seconder_journal,
    /// Passed to the journal function. It is used until seconder_login() returns.
    pub journal_userdata: *mut c_void,
    /// Set if texts reach the user only with the next question. A user who is to approve the login on the
    /// phone is then asked to press Enter afterwards, instead of being waited for.
    pub holds_text_back: Flag,
    /// Set if the user has given the answer to the first question already, so that nothing is sent before
    /// it is asked.
    pub answered: Flag,
}

// SAFETY: flags, numbers, pointers, and a function that may be NULL.
unsafe impl Plain for seconder_login_options {}

/// Asks a user who logs in for the second factor, and decides: in one call, what pam_seconder(8) and
/// seconder-login(8) do. It finds the service's user of the login name; offers the factors that the user
/// has; sends a code, or an approval request whose response it waits for; and checks codes. With the key
/// `offline=yes`, it also prepares logins for when the service cannot be reached, and checks codes itself
/// then. The configuration has the keys of the PAM module's: seconder-pam.conf(5).
///
/// `service` makes the calls. The keys that say how to connect to a service, such as `url`, are errors
/// then. NULL: the service that the configuration names is opened for this login.
///
/// `login` is the login name, which the user may have chosen: one that no user can have is denied.
/// `converse` reaches the user, and is passed `converse_userdata`. NULL: the user cannot be asked, and
/// only what was `typed` before is checked.
///
/// Only SECONDER_OK lets the user in: a code was checked and is right, or the user approved the login.
/// SECONDER_LOGIN_DENIED, SECONDER_LOGIN_LOCKED, SECONDER_LOGIN_UNENROLLED and SECONDER_LOGIN_NO_ANSWER
/// are for the user; SECONDER_LOGIN_MISCONFIGURED and SECONDER_INVALID_RESPONSE are for the operator; and
/// after SECONDER_UNAVAILABLE, another attempt may succeed. SECONDER_LOGIN_EXCEPTED and
/// SECONDER_LOGIN_IGNORED mean that nothing was checked because the configuration says so: a program may
/// let such users in with their password alone. SECONDER_CANCELLED if seconder_service_cancel() ended the
/// calls of `service`. The message of the error has the decision and its reason, for a log.
///
/// It returns when the login has ended, and so takes as long as the user does. Many threads may log users
/// in at once. Files of the configuration must belong to root or to the effective user of the process, and
/// the folder of the key `offline_cache` to the latter. The accounts of the machine are read as by
/// getpwnam(3). No program is started, so the value `command:` of the key `users` is an error: set `user_id`
/// instead. SECONDER_INVALID_ARGUMENT on other systems than Linux.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_login(
    service: Option<&seconder_service>,
    login: *const c_char,
    converse: seconder_converse,
    converse_userdata: *mut c_void,
    options: *const seconder_login_options,
    options_size: usize,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        shared::run(error, || {
            let options = shared::options(options, options_size)?;
            let given = Given::read(login, &options)?;
            dialogue::log_in(service, &given, (converse, converse_userdata), &options)
        })
    }
}

/// The texts that the program passes.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "they are only checked"))]
struct Given<'a> {
    login: &'a str,
    user_id: Option<UserId>,
    remote: Option<&'a str>,
    program: &'a str,
    typed: Option<&'a str>,
    config_file: Option<&'a str>,
    settings: Vec<&'a str>,
}

impl<'a> Given<'a> {
    /// # Safety
    /// Every pointer is NULL or as the header requires.
    unsafe fn read(login: *const c_char, options: &seconder_login_options) -> Outcome<Given<'a>> {
        let user_id = (options.user_id != 0)
            .then(|| shared::named("user_id", UserId::try_from(options.user_id)));
        // SAFETY: promised by the caller.
        unsafe {
            Ok(Given {
                login: shared::text("login", login)?,
                user_id: user_id.transpose()?,
                remote: shared::text_if("remote", options.remote)?,
                program: shared::text_if("program", options.program)?.unwrap_or_default(),
                typed: shared::text_if("typed", options.typed)?,
                config_file: shared::text_if("config_file", options.config_file)?,
                settings: shared::texts(
                    ["settings", "settings_count"],
                    options.settings,
                    options.settings_count,
                )?,
            })
        }
    }
}
