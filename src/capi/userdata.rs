//! Functions of the C program, and their userdata, which is freed exactly once.

use std::ffi::c_void;

/// Frees the userdata of a function of the program. It runs exactly once, with the userdata that it
/// was passed along with, on whichever thread ends its use. It must not be left by longjmp() or a
/// C++ exception.
pub type seconder_userdata_free = Option<unsafe extern "C" fn(userdata: *mut c_void)>;

/// A function of the program with its userdata. `F` is the type of the function, which may be NULL.
pub(super) struct ByFunction<F> {
    pub(super) function: F,
    pub(super) userdata: Userdata,
}

impl<F> ByFunction<Option<F>> {
    pub(super) fn new(
        function: Option<F>,
        data: *mut c_void,
        free: seconder_userdata_free,
    ) -> ByFunction<Option<F>> {
        ByFunction { function, userdata: Userdata { data, free } }
    }

    /// This, unless the function is NULL.
    pub(super) fn given(self) -> Option<ByFunction<Option<F>>> {
        self.function.is_some().then_some(self)
    }
}

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
