//! Written by tools/generate from src/calls/set_number.rs.

use super::delete_user::seconder_call_options;
use super::done::seconder_done;
use crate::calls::{Handle, SetNumber};
use crate::capi::error::seconder_error;
use crate::capi::ffi::{self, named, with_optional_out};
use crate::capi::open::seconder_service;
use crate::capi::status::seconder_status;
use crate::model::UserId;
use std::ffi::c_char;

/// Changes the phone number of a user, who proves to hold the new one by the code of
/// seconder_start_phone_verification() (interface 4.32). The code is used up.
///
/// The user keeps the id, the authenticator apps, the devices and the recovery codes. Codes that
/// were sent to the former number are wrong from then on, remembered browsers are forgotten, and
/// the devices of the user are notified.
///
/// `user_id` is the user who gets the number. `phone_number` is the new number without its calling
/// code: 4 to 15 digits in groups that dashes, periods or spaces may separate. `country_code` is
/// the calling code of the number: "1" to "999". `verification_code` is the code that was sent to
/// the new number: 4 to 10 digits and nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_TOKEN_WRONG if the code
/// is wrong; SECONDER_REJECTED with status 404 and the service code "60023" if no code is pending,
/// with 409 if another user has the number, and if there is no such user. Other statuses are as
/// described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_set_number(
    service: Option<&seconder_service>,
    user_id: u64,
    phone_number: *const c_char,
    country_code: *const c_char,
    verification_code: *const c_char,
    options: *const seconder_call_options,
    options_size: usize,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let options = ffi::options(options, options_size)?;
            let call = SetNumber {
                user_id: named("user_id", UserId::try_from(user_id))?,
                phone_number: ffi::value("phone_number", phone_number)?,
                country_code: ffi::value("country_code", country_code)?,
                verification_code: ffi::typed("verification_code", verification_code)?,
                user_ip: ffi::address("user_ip", options.user_ip)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}
