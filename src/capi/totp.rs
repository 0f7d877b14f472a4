//! Codes of authenticator apps (RFC 6238), without a service.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Plain, read_handle, run, with_out};
use super::status::*;
use super::text::seconder_text;
use crate::otp::{Algorithm, Match, Totp};
use std::ffi::{c_char, c_void};

/// Options of seconder_totp_new().
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_totp_options {
    /// The hash with which codes are generated, one of SECONDER_ALGORITHM_... Default: SHA-1, which
    /// every app supports.
    pub algorithm: i32,
    /// The number of digits of a code, 6 to 8. Default: 6.
    pub digits: u32,
    /// The time for which a code is shown, in seconds, 1 to 3600. Default: 30.
    pub period: u32,
}

// SAFETY: numbers alone.
unsafe impl Plain for seconder_totp_options {}

/// A secret that an authenticator app and a service share, with the parameters for generating codes
/// from it. It may be used by many threads at once.
#[cfg_attr(false, c(freed = "a secret, and wipes it"))]
pub struct seconder_totp {
    totp: Totp,
    /// The hash with which codes are generated: one of SECONDER_ALGORITHM_....
    #[cfg_attr(false, cpp(kind = "Algorithm"))]
    pub(super) algorithm: i32,
    /// The number of digits of a code.
    pub(super) digits: u32,
    /// The time for which a code is shown, in seconds.
    pub(super) period: u64,
}

impl From<Totp> for seconder_totp {
    fn from(totp: Totp) -> seconder_totp {
        let (digits, period) = (totp.digits().into(), totp.period());
        seconder_totp { algorithm: of_algorithm(totp.algorithm()), digits, period, totp }
    }
}

/// Creates a totp from the bytes of a secret, 10 to 128 of them, which are copied. A new secret should
/// have 20 (RFC 4226, section 4); shorter ones are for apps that users have already.
///
/// Free `out` with seconder_totp_free(). SECONDER_INVALID_ARGUMENT if an argument or option is out
/// of range.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_totp_new(
    secret: *const c_void,
    secret_size: usize,
    options: *const seconder_totp_options,
    options_size: usize,
    out: *mut *mut seconder_totp,
    error: *mut *mut seconder_error,
) -> seconder_status {
    const ALGORITHMS: [(i32, Algorithm); 3] = [
        (SECONDER_ALGORITHM_SHA1, Algorithm::Sha1),
        (SECONDER_ALGORITHM_SHA256, Algorithm::Sha256),
        (SECONDER_ALGORITHM_SHA512, Algorithm::Sha512),
    ];
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let options = ffi::options(options, options_size)?;
            let secret = ffi::bytes(["secret", "secret_size"], secret, secret_size)?;
            let algorithm = chosen("algorithm", options.algorithm, &ALGORITHMS)?;
            let digits = or(options.digits, DIGITS).try_into().unwrap_or(u8::MAX);
            let period = or(options.period, PERIOD).into();
            Ok(Totp::new(secret, algorithm.unwrap_or_default(), digits, period)?.into())
        })
    }
}

/// The defaults of an otpauth: URI that does not state them.
const DIGITS: u32 = 6;
const PERIOD: u32 = 30;

fn or(number: u32, default: u32) -> u32 {
    if number == 0 { default } else { number }
}

/// Parses an otpauth://totp/ URI, such as the one of seconder_authenticator_enrolled_uri(). The secret may
/// have lower case, padding, spaces and dashes.
///
/// Free `out` with seconder_totp_free(). SECONDER_INVALID_ARGUMENT if it is not such a URI, has no
/// secret in Base32, or has a value that is out of range.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_totp_from_uri(
    uri: *const c_char,
    out: *mut *mut seconder_totp,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe { with_out(out, error, || Ok(Totp::from_uri(ffi::text("uri", uri)?)?.into())) }
}

/// Returns the otpauth: URI that transfers the secret to an app, which then shows `issuer` and
/// `label`. Anyone who sees the URI can generate the user's codes.
///
/// Free `out` with seconder_text_free(), which wipes it. SECONDER_INVALID_ARGUMENT for an argument
/// that is NULL or not UTF-8, and for an issuer or a label with a colon, which separates the two.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_totp_uri(
    totp: Option<&seconder_totp>,
    issuer: *const c_char,
    label: *const c_char,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let totp = &ffi::need("totp", totp)?.totp;
            let (issuer, label) = (ffi::text("issuer", issuer)?, ffi::text("label", label)?);
            Ok(seconder_text::new(totp.uri(issuer, label)?.expose()))
        })
    }
}

/// Returns the code that an app shows at a given time, in Unix seconds (RFC 6238).
///
/// Free `out` with seconder_text_free(), which wipes it. SECONDER_INVALID_ARGUMENT if `totp` is
/// NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_totp_code(
    totp: Option<&seconder_totp>,
    unix_seconds: u64,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let totp = &ffi::need("totp", totp)?.totp;
            Ok(seconder_text::new(totp.code(unix_seconds).expose()))
        })
    }
}

/// Checks a code at a given time, in Unix seconds. Codes of the steps immediately before and after
/// are accepted too, to allow for inaccurate clocks.
///
/// `last_step` prevents replay: it is the step of the user's last accepted code, 0 before the
/// first. A code of that step or of an earlier one is never accepted. Only SECONDER_OK means that
/// the code is correct; `*last_step` is then set to the code's step. Before letting anyone in,
/// store it so that only one of two logins with the same code succeeds. For any other status it is
/// unchanged.
///
/// SECONDER_TOKEN_WRONG if the code is not one of the current ones, SECONDER_TOKEN_REUSED if its
/// step has been used; SECONDER_TOKEN_MALFORMED if `token` is not 6 to 12 digits;
/// SECONDER_INVALID_ARGUMENT if `totp`, `token` or `last_step` is NULL. Wrong codes are not
/// counted: limiting them is the caller's responsibility.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_totp_check(
    totp: Option<&seconder_totp>,
    token: *const c_char,
    unix_seconds: u64,
    last_step: *mut u64,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        run(error, || {
            let totp = &ffi::need("totp", totp)?.totp;
            if last_step.is_null() {
                return Err(ffi::null("last_step"));
            }
            let token = ffi::typed("token", token)?;
            let step = accepted(totp.check(&token, unix_seconds, Some(last_step.read())))?;
            last_step.write(step);
            Ok(())
        })
    }
}

pub(super) fn accepted(result: Match) -> Outcome<u64> {
    let no = |status, message| Err(seconder_error::of_token("token", status, message, None));
    match result {
        Match::Step(step) => Ok(step),
        Match::Used => no(SECONDER_TOKEN_REUSED, "has been used already"),
        Match::None => no(SECONDER_TOKEN_WRONG, "is wrong"),
    }
}

/// The bytes of the secret, for storage, owned by `totp`. NULL only for a NULL argument.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_totp_secret(totp: Option<&seconder_totp>) -> *const c_void {
    read_handle(totp, |totp| totp.totp.secret().as_ptr().cast())
}

/// The size of the secret in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_totp_secret_size(totp: Option<&seconder_totp>) -> usize {
    read_handle(totp, |totp| totp.totp.secret().len())
}
