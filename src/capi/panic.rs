//! A function that panics, so that a test can check that no panic crosses the FFI boundary. No
//! installed library contains it, and no header declares it.

use super::error::seconder_error;
use super::ffi::{Outcome, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use super::text::seconder_text;

/// Without a service, it is no call that could be logged.
#[unsafe(no_mangle)]
unsafe extern "C" fn seconder_panic_test(
    service: Option<&seconder_service>,
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    let panic = || -> Outcome<seconder_text> {
        let Some(handle) = service else { panic!("on purpose") };
        handle.service.carry_out::<()>("panic_test", None, || panic!("on purpose"))?;
        Ok(seconder_text::new(""))
    };
    // SAFETY: the test passes pointers that can be written to.
    unsafe { with_out(out, error, panic) }
}
