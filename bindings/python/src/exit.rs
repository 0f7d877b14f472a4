//! Keeps threads from being ended inside this module when the interpreter ends.
//!
//! CPython before 3.14 ends a thread that asks for the global lock then, by `pthread_exit`. glibc
//! unwinds its stack with libgcc_s, through frames of Rust that must not be unwound in this way, and
//! whose unwinder may be another one: the process would crash. Such a thread sleeps instead until the
//! process ends, as CPython has threads do from 3.14 on.

#![allow(unsafe_code, reason = "the handlers of threads are functions of the C library")]

use pyo3::Python;
use pyo3::ffi::Py_IsInitialized;
use std::thread;
use std::time::Duration;

/// Puts a thread to sleep that the interpreter ends, until this is dropped. It covers the functions
/// that are called meanwhile, Python's too.
pub(crate) struct Staying {
    #[cfg(target_os = "linux")]
    _handler: handler::Handler,
}

impl Staying {
    pub(crate) fn new() -> Staying {
        // On other systems, `pthread_exit` unwinds nothing.
        Staying {
            #[cfg(target_os = "linux")]
            _handler: handler::Handler::push(),
        }
    }
}

/// Runs work without holding up other Python threads.
pub(crate) fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let _staying = Staying::new();
    // Only the thread that ends the interpreter is attached after that began.
    let ends_it = !is_initialized();
    py.detach(|| {
        let result = work();
        // Asking for the lock would read the state of this thread, which may be freed already.
        if !ends_it && !is_initialized() {
            sleep_for_ever();
        }
        result
    })
}

/// False from the moment at which the interpreter begins to end.
fn is_initialized() -> bool {
    // SAFETY: it can be called at any time.
    unsafe { Py_IsInitialized() != 0 }
}

fn sleep_for_ever() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

#[cfg(target_os = "linux")]
mod handler {
    use super::sleep_for_ever;
    use std::ffi::{c_int, c_void};
    use std::ptr;

    unsafe extern "C" {
        fn _pthread_cleanup_push(
            buffer: *mut Buffer,
            routine: extern "C" fn(*mut c_void),
            argument: *mut c_void,
        );
        fn _pthread_cleanup_pop(buffer: *mut Buffer, execute: c_int);
    }

    /// A buffer as large as `_pthread_cleanup_buffer` of glibc, which is larger than musl's `__ptcb`.
    #[repr(C)]
    struct Buffer([*mut c_void; 4]);

    /// A handler that the C library calls when the thread is ended.
    pub(super) struct Handler(*mut Buffer);

    impl Handler {
        pub(super) fn push() -> Handler {
            // glibc calls a handler when it unwinds the frame in which the address of the buffer is.
            // One outside of the stack counts as a part of every frame, so it is called before any
            // frame is unwound. musl unwinds nothing.
            let buffer = Box::into_raw(Box::new(Buffer([ptr::null_mut(); 4])));
            // SAFETY: the buffer lives until `drop`, which this thread runs, as a raw pointer is not
            // Send, and handlers are dropped in the opposite order, as each belongs to a scope.
            unsafe { _pthread_cleanup_push(buffer, on_exit, ptr::null_mut()) };
            Handler(buffer)
        }
    }

    impl Drop for Handler {
        fn drop(&mut self) {
            // SAFETY: `push` has pushed the buffer on this thread, and allocated it with Box.
            unsafe {
                _pthread_cleanup_pop(self.0, 0);
                drop(Box::from_raw(self.0));
            }
        }
    }

    extern "C" fn on_exit(_: *mut c_void) {
        sleep_for_ever();
    }
}
