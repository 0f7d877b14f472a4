//! Written by tools/generate from src/calls/confirm_authenticator.rs.

use super::verify::seconder_verification;
use crate::calls::{ConfirmAuthenticator, Handle};
use crate::capi::decisions;
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Checks a code of the authenticator app that seconder_enrol_authenticator() has enrolled last, if
/// it is still pending, and of no other factor (interface 4.23). The right one makes it the user's
/// app, in place of an earlier one. seconder_verify() accepts any code of the user, such as one by
/// SMS, so it does not show that the user has scanned the new secret.
///
/// Only SECONDER_OK means that the code was checked and is correct. SECONDER_TOKEN_WRONG and
/// SECONDER_TOKEN_REUSED say why it was not accepted.
///
/// `user_id` is the user who scanned the secret. `code` is the code that the user typed: 6 to 12
/// digits and nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
///
/// `out` may be NULL; otherwise free it with seconder_verification_free(). SECONDER_RATE_LIMITED
/// after wrong codes, until the user may try again; SECONDER_REJECTED with the service code
/// "no_pending_authenticator" if no app of the user is pending. Other statuses are as described at
/// the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_confirm_authenticator(
    service: Option<&seconder_service>,
    user_id: u64,
    code: *const c_char,
    out: *mut *mut seconder_verification,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = ConfirmAuthenticator {
                user_id: named("user_id", UserId::try_from(user_id))?,
                code: ffi::typed("code", code)?,
            };
            Ok(decisions::verification("code", service.service.handle(&call)?)?.into())
        })
    }
}
