//! Catches panics, so that they stay in the module.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once, PoisonError};

/// The source location of the last panic.
static PLACE: Mutex<String> = Mutex::new(String::new());

/// Calls a function. If it panics, the error is the place where it did so, to be read after "a panic".
///
/// The hook belongs to the copy of the standard library in this module, not to the program. It takes the place of the
/// usual one, which would write to the program's standard error and look for `RUST_BACKTRACE` in the environment. The
/// message of a panic is left out, because it could contain typed text.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|panic| {
            // A build for size has no places.
            let known = panic.location().filter(|at| at.line() > 0);
            let place = known.map(|at| format!(" at {}:{}", at.file(), at.line()));
            *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place.unwrap_or_default();
        }));
    });
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        // Dropping the payload of a panic could panic again.
        std::mem::forget(payload);
        PLACE.lock().unwrap_or_else(PoisonError::into_inner).clone()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_an_error_that_names_its_place() {
        let caught: Result<(), String> = super::caught(|| panic!("7081923"));
        let place = caught.expect_err("it panicked");
        assert!(place.contains("panic.rs:") && !place.contains("7081923"), "{place}");
        assert_eq!(super::caught(|| 7), Ok(7));
    }
}
