//! The PAM module `pam_seconder`: see pam_seconder(8).
//!
//! The functions that PAM calls are here; what they ask and decide is in the crate
//! `seconder_login`. Nothing here starts a thread, installs a signal handler or reads the
//! environment, because the program that loads the module may run with more rights than its user.

mod code;
mod command;
mod conversation;
mod handle;
mod panic;
mod terminal;

use code::pam_code;
use conversation::Talk;
use handle::{Handle, Syslog};
use libpam_sys::{PAM_SILENT, PAM_SUCCESS, pam_handle};
use seconder_login::config::{DEFAULT_FILE, Sources};
use seconder_login::{Journal, Login, Outcome, Trouble, log_in_as_configured};
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

/// Asks the user for the second factor.
///
/// # Safety
/// PAM calls it: with its handle, and with `argc` arguments in `argv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pam_sm_authenticate(
    pamh: *mut pam_handle,
    flags: c_int,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: PAM's handle is valid until this function returns.
    let handle = unsafe { Handle::new(pamh) };
    // SAFETY: PAM's arguments are valid until this function returns.
    let arguments = unsafe { arguments(argc, argv) };
    let (Some(handle), Some(arguments)) = (handle, arguments) else {
        return pam_code(&Outcome::Trouble(Trouble::Internal));
    };
    let outcome = panic::caught(|| authenticate(&handle, flags, &arguments));
    let outcome = outcome.unwrap_or_else(|place| {
        Syslog(&handle).error(&format!("a bug: a panic{place} was caught; the login is denied"));
        Outcome::Trouble(Trouble::Internal)
    });
    pam_code(&outcome)
}

/// Has nothing to do: a second factor gives no credentials.
///
/// # Safety
/// PAM calls it. Nothing is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pam_sm_setcred(
    _pamh: *mut pam_handle,
    _flags: c_int,
    _argc: c_int,
    _argv: *const *const c_char,
) -> c_int {
    PAM_SUCCESS
}

/// Has nothing to do, and is there for stacks that list the module under `account` too.
///
/// # Safety
/// PAM calls it. Nothing is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pam_sm_acct_mgmt(
    _pamh: *mut pam_handle,
    _flags: c_int,
    _argc: c_int,
    _argv: *const *const c_char,
) -> c_int {
    PAM_SUCCESS
}

fn authenticate(handle: &Handle<'_>, flags: c_int, arguments: &[&CStr]) -> Outcome {
    let mut journal = Syslog(handle);
    let arguments: Result<Vec<&str>, _> = arguments.iter().map(|text| text.to_str()).collect();
    let Ok(arguments) = arguments else {
        journal.error("arguments: one is not UTF-8");
        return Outcome::Trouble(Trouble::Configuration);
    };
    let Some(user) = handle.user() else {
        journal.notice("not enrolled: the program does not name, in UTF-8, the user who logs in");
        return Outcome::Unenrolled;
    };
    let (remote, program) = (handle.remote(), handle.service().unwrap_or_default());
    let login = Login {
        user: &user,
        remote: remote.as_deref(),
        program: &program,
        typed_before: handle.typed_before(),
        run_command: Some(command::run),
        // SAFETY: reads what the kernel passed when the program began.
        started_by_user: unsafe { libc::getauxval(libc::AT_SECURE) } != 0,
        ..Login::default()
    };
    let mut talk = Talk::new(handle, flags & PAM_SILENT != 0);
    let sources = Sources::new(Path::new(DEFAULT_FILE), &arguments);
    log_in_as_configured(&sources, &login, &mut talk, &mut journal)
}

/// Returns the arguments of the module, unless they are not what PAM passes.
///
/// # Safety
/// `argv` has `argc` texts that end with NUL and are valid during `'a`, or `argc` is 0.
unsafe fn arguments<'a>(argc: c_int, argv: *const *const c_char) -> Option<Vec<&'a CStr>> {
    let count = usize::try_from(argc).ok()?;
    if count == 0 {
        return Some(Vec::new());
    }
    if argv.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let texts = unsafe { std::slice::from_raw_parts(argv, count) };
    let text = |text: &*const c_char| {
        // SAFETY: promised by the caller.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(*text) })
    };
    texts.iter().map(text).collect()
}
