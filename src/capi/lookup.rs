//! Look-ups of numbers, passed to a function of the C program.

use super::ffi::read_handle;
use super::jobs;
use std::ffi::{c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The line behind a number, filled in by the lookup function. It is valid until that returns.
#[derive(Default)]
pub struct seconder_phone_line(Mutex<Said>);

#[derive(Default)]
pub(super) struct Said {
    pub(super) carrier: Option<String>,
    pub(super) kind: i32,
    pub(super) ported: i32,
}

/// Looks up a number, in E.164 format: +15550100123. It says what is known by the functions
/// seconder_phone_line_set_...() on `line`, and returns 0; also if nothing is known of the number. Any
/// other number means that the look-up failed: nothing is known then, and the number is not looked up
/// again for a minute. No call fails because of it.
///
/// It runs inside the call that needs it, on the same thread, and on several threads at once if
/// several make such calls. It must return within seconds, and normally: it must not be left by
/// longjmp() or a C++ exception.
pub type seconder_lookup = Option<
    unsafe extern "C" fn(
        number: *const c_char,
        line: *const seconder_phone_line,
        lookup_userdata: *mut c_void,
    ) -> i32,
>;

impl seconder_phone_line {
    pub(super) fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For the lookup function: the name of the carrier. NULL or an empty text: not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seconder_phone_line_set_carrier(
    line: Option<&seconder_phone_line>,
    carrier: *const c_char,
) {
    // SAFETY: as the header requires.
    let carrier = unsafe { jobs::given(carrier) };
    let carrier = carrier.map(|text| text.to_string_lossy().into_owned());
    read_handle(line, |line| line.said().carrier = carrier);
}

/// For the lookup function: what is at the other end, one of SECONDER_LINE_TYPE_.... Any other number:
/// not known.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_line_set_kind(line: Option<&seconder_phone_line>, kind: i32) {
    read_handle(line, |line| line.said().kind = kind);
}

/// For the lookup function: whether the number was ported from another carrier, SECONDER_YES or
/// SECONDER_NO. Any other number: not known.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_phone_line_set_ported(line: Option<&seconder_phone_line>, ported: i32) {
    read_handle(line, |line| line.said().ported = ported);
}
