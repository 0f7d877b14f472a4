//! Values of the structs that C passes.

/// A `bool` of C inside a struct. Memory that was never set may hold any byte there, which would be
/// undefined behaviour in a Rust `bool`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Flag(u8);

impl Flag {
    pub(super) fn is_set(self) -> bool {
        self.0 != 0
    }
}

/// A struct of options as C passes it.
///
/// # Safety
/// Any bytes are a valid value of the type, zeros included.
pub(super) unsafe trait Plain: Copy {}

/// A number for which 0 selects the default.
pub(super) fn number_if(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}
