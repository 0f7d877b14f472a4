//! Codes that were prepared for a time without the service: checking them.

use super::error::seconder_error;
use super::ffi::{self, Plain, named, run};
use super::status::seconder_status;
use super::totp::accepted;
use crate::Error;
use crate::model::UserId;
use crate::offline::Codes;
use std::ffi::c_char;

/// What a machine keeps of the reply of seconder_prepare_offline(), and of whom it is.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_offline_codes {
    /// The user who logs in.
    pub user_id: u64,
    /// The number of digits of a code: seconder_offline_prepared_digits().
    pub digits: u64,
    /// The seconds of a step: seconder_offline_prepared_period().
    pub period: u64,
    /// The step of the first hash: seconder_offline_prepared_first_step().
    pub first_step: u64,
    /// When the codes must no longer be used, in Unix seconds: seconder_offline_prepared_expires_at().
    pub expires_at: u64,
    /// The key of the hashes: seconder_offline_prepared_hash_key().
    pub hash_key: *const c_char,
    /// The hashes: seconder_offline_prepared_hashes().
    pub hashes: *const c_char,
}

// SAFETY: numbers and pointers alone.
unsafe impl Plain for seconder_offline_codes {}

/// Checks a code of a user's authenticator app while the service is unreachable, at a given time, in
/// Unix seconds. Codes of the steps immediately before and after are accepted too, to allow for
/// inaccurate clocks.
///
/// `codes_size` is sizeof(seconder_offline_codes). `last_step` prevents replay: it begins with
/// seconder_offline_prepared_last_step(), and a code of that step or of an earlier one is never
/// accepted. Only SECONDER_OK means that the code is correct; `*last_step` is then set to the code's
/// step. Before letting anyone in, store it, together with the login for seconder_report_offline(),
/// so that only one of two logins with the same code succeeds. For any other status it is unchanged.
///
/// SECONDER_TOKEN_WRONG if the code is not one of the current ones, SECONDER_TOKEN_REUSED if its step
/// has been used; SECONDER_TOKEN_MALFORMED if `token` is not 6 to 12 digits;
/// SECONDER_INVALID_ARGUMENT if an argument is NULL, and if the codes cannot be used: their time is
/// over, or a field has a value that no reply has. Wrong codes are not counted: limiting them is the
/// caller's responsibility.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_offline_check(
    codes: *const seconder_offline_codes,
    codes_size: usize,
    token: *const c_char,
    unix_seconds: u64,
    last_step: *mut u64,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        run(error, || {
            if codes.is_null() {
                return Err(ffi::null("codes"));
            }
            if last_step.is_null() {
                return Err(ffi::null("last_step"));
            }
            let given = ffi::sized("codes_size", codes, codes_size)?;
            let hash_key = ffi::text("hash_key", given.hash_key)?;
            let hashes = ffi::text("hashes", given.hashes)?;
            let user_id = named("user_id", UserId::try_from(given.user_id))?;
            let token = ffi::typed("token", token)?;
            let steps = (given.digits, given.period);
            let codes = Codes::new(user_id, steps, given.first_step, hash_key, hashes)?;
            if unix_seconds >= given.expires_at {
                return Err(
                    Error::invalid_argument("expires_at", "is over: prepare new codes").into()
                );
            }
            let step = accepted(codes.check(&token, unix_seconds, last_step.read()))?;
            last_step.write(step);
            Ok(())
        })
    }
}
