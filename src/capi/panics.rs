//! Panics stay in the library, and write nothing to standard error: it is the program's.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// The number of functions of the C interface that this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    /// The place where this thread has panicked last.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The work has panicked.
pub(super) struct Panicked;

/// Does the work of a function of the C interface. [`place`] says where it panicked. The message of a panic
/// is left out, because it could hold something that was typed.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    set_hook();
    let _inside = Inside::begin();
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        // Dropping what a panic carries could panic again, except for a text.
        if !payload.is::<&str>() && !payload.is::<String>() {
            std::mem::forget(payload);
        }
        Panicked
    })
}

/// Sets the library's hook of panics, once. It is not part of [`caught`], which is compiled for each function.
///
/// The hook belongs to the library's copy of the standard library, not to the program. The usual one
/// would write to descriptor 2, which may be a connection of the program, and look for `RUST_BACKTRACE`
/// in the environment. It still gets panics outside of these functions: in a program in Rust, the hook is
/// shared.
fn set_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if INSIDE.get() == 0 {
                return before(panic);
            }
            // A build for size has no places.
            let known = panic.location().filter(|at| at.line() > 0);
            let place = known.map(|at| format!(" (a panic at {}:{})", at.file(), at.line()));
            // A thread that ends has none.
            let _ = PLACE.try_with(|last| last.replace(place.unwrap_or_default()));
        }));
    });
}

/// The place where this thread has panicked since the function of the C interface began, to be read after the
/// message of an error; empty if it has not. The engine turns panics of its decisions into errors itself.
pub(super) fn place() -> String {
    PLACE.try_with(RefCell::take).unwrap_or_default()
}

struct Inside;

impl Inside {
    fn begin() -> Inside {
        if INSIDE.get() == 0 {
            drop(place());
        }
        INSIDE.set(INSIDE.get() + 1);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}
