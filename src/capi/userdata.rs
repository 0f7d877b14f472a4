//! What belongs to a function of the C program, freed exactly once.

use std::ffi::c_void;

/// Frees what a function of the program works with. It runs exactly once with the data that were
/// given beside it, on whichever thread ends their use. No longjmp() and no C++ exception may leave
/// it.
pub type seconder_userdata_free = Option<unsafe extern "C" fn(userdata: *mut c_void)>;

/// The data of a function, which go when this goes.
pub(super) struct Userdata {
    data: *mut c_void,
    free: seconder_userdata_free,
}

// SAFETY: the header asks that functions and their data can be used from every thread.
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
            // SAFETY: the header asks that the function can be called with its data, once.
            unsafe { free(self.data) };
        }
    }
}
