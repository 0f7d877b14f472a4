//! A function that panics, so that a test can check that no panic crosses the FFI boundary. No
//! installed library contains it, and no header declares it.

use super::error::seconder_error;
use super::ffi::with_out;
use super::status::seconder_status;
use super::text::seconder_text;

#[unsafe(no_mangle)]
unsafe extern "C" fn seconder_panic_test(
    out: *mut *mut seconder_text,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: the test passes pointers that can be written to.
    unsafe { with_out(out, error, || panic!("on purpose")) }
}
