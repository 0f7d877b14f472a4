//! A function that panics, so that a test can see where the panic ends. No library that is installed
//! has it, and no header shows it.

use super::error::seconder_error;
use super::ffi::with_out;
use super::status::seconder_status;
use super::text::seconder_text;

#[unsafe(no_mangle)]
unsafe extern "C" fn seconder_panic_test(
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: the test gives what can be written to.
    unsafe { with_out(out, error, || panic!("on purpose")) }
}
