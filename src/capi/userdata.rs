//! The userdata of a function of the C program, freed exactly once.

use std::ffi::c_void;

/// Frees the userdata of a function of the program. It runs exactly once, with the userdata that it
/// was passed along with, on whichever thread ends its use. It must not be left by longjmp() or a
/// C++ exception.
pub type seconder_userdata_free = Option<unsafe extern "C" fn(userdata: *mut c_void)>;

/// The userdata of a function, freed when this is dropped.
pub(super) struct Userdata {
    data: *mut c_void,
    free: seconder_userdata_free,
}

// SAFETY: the header requires that functions and their userdata can be used from every thread.
unsafe impl Send for Userdata {}
// SAFETY: as above.
unsafe impl Sync for Userdata {}

impl Userdata {
    pub(super) fn new(data: *mut c_void, free: seconder_userdata_free) -> Userdata {
        Userdata { data, free }
    }

    pub(super) fn as_ptr(&self) -> *mut c_void {
        self.data
    }
}

impl Drop for Userdata {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            // SAFETY: the header requires that the function can be called with its userdata, once.
            unsafe { free(self.data) };
        }
    }
}
