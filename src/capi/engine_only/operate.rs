//! Operations for operators of an engine.

use crate::capi::ffi::{self, Outcome};
use crate::capi::open::seconder_service;
use crate::capi::text::seconder_text;
use crate::wire::Wiping;
use std::ffi::c_char;
use zeroize::Zeroizing;

/// # Safety
/// Both pointers are NULL or texts.
pub(crate) unsafe fn operate(
    service: &seconder_service,
    operation: *const c_char,
    parameters: *const c_char,
) -> Outcome<seconder_text> {
    // SAFETY: promised by the caller.
    let (operation, parameters) =
        unsafe { (ffi::text("operation", operation)?, ffi::object("parameters", parameters)?) };
    let reply = Wiping(service.service.operate_json(operation, parameters)?);
    Ok(seconder_text::new(&Zeroizing::new(reply.0.to_string())))
}
