//! Values of the structs that C passes.

use super::ffi::Outcome;
use crate::{Error, Result};
use std::mem::{self, MaybeUninit};
use std::ptr;

/// A `bool` of C inside a struct. Memory that was never set may hold any byte there, which would be
/// undefined behaviour in a Rust `bool`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Flag(u8);

impl Flag {
    /// Returns whether the program has set it.
    pub fn is_set(self) -> bool {
        self.0 != 0
    }
}

/// A struct of options as C passes it.
///
/// # Safety
/// Any bytes are a valid value of the type, zeros included.
pub unsafe trait Plain: Copy {}

/// A number for which 0 selects the default.
pub(super) fn number_if(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}

/// A number that has -1 in place of 0, because 0 selects the default.
pub(super) fn number_or_zero(name: &'static str, number: i64) -> Result<Option<u64>> {
    match number {
        0 => Ok(None),
        -1 => Ok(Some(0)),
        _ => u64::try_from(number)
            .map(Some)
            .map_err(|_| Error::invalid_argument(name, "must be 0 or more, or -1")),
    }
}

/// A struct of a list that C passes.
pub(super) trait Input {
    /// The value of Rust that it stands for.
    type Value;

    /// Reads the struct. `list` is the name of the list.
    ///
    /// # Safety
    /// Every text of it is NULL or NUL-terminated.
    unsafe fn read(&self, list: &'static str) -> Outcome<Self::Value>;
}

/// No version of a struct of the header is larger, so a wrong size, such as -1, is rejected before
/// anything is read.
const LARGEST: usize = 4096;

/// The options behind a pointer, and whether they set something that this version does not know. No
/// version is smaller than the first, so a smaller size is a mistake, and nothing is read: the
/// struct may end inside a pointer.
///
/// # Safety
/// `given` is NULL or points to `size` readable bytes.
pub(super) unsafe fn sized_and_rest<T: Plain>(
    size_name: &'static str,
    given: *const T,
    size: usize,
) -> (T, Outcome<()>) {
    let mut known = MaybeUninit::<T>::zeroed();
    let wrong = |reason: &'static str| Err(Error::invalid_argument(size_name, reason).into());
    let whole = size.is_multiple_of(mem::align_of::<T>());
    let possible = whole && (mem::size_of::<T>()..=LARGEST).contains(&size);
    if given.is_null() || !possible {
        let rest = match given.is_null() {
            true => Ok(()),
            false => wrong("must be the size of the struct"),
        };
        // SAFETY: zeros are a valid value of every `Plain` type.
        return (unsafe { known.assume_init() }, rest);
    }
    let bytes = given.cast::<u8>();
    // SAFETY: only as much is copied as can be read and as fits, any bytes are a valid value, and
    // the rest is read as bytes within the `size` readable ones.
    unsafe {
        ptr::copy_nonoverlapping(bytes, known.as_mut_ptr().cast(), mem::size_of::<T>());
        let unknown = (mem::size_of::<T>()..size).any(|at| *bytes.add(at) != 0);
        let rest = match unknown {
            true => wrong("is of a newer version, and an unknown option is set"),
            false => Ok(()),
        };
        (known.assume_init(), rest)
    }
}

/// The struct behind a pointer, whose size is the argument named `size_name`.
///
/// # Safety
/// As for [`sized_and_rest`].
pub(super) unsafe fn sized<T: Plain>(
    size_name: &'static str,
    given: *const T,
    size: usize,
) -> Outcome<T> {
    // SAFETY: promised by the caller.
    let (known, rest) = unsafe { sized_and_rest(size_name, given, size) };
    rest.map(|()| known)
}

/// The options behind a pointer.
///
/// # Safety
/// As for `sized_and_rest`.
pub unsafe fn options<T: Plain>(given: *const T, size: usize) -> Outcome<T> {
    // SAFETY: promised by the caller.
    unsafe { sized("options_size", given, size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Sample {
        first: u32,
        flag: Flag,
    }
    // SAFETY: numbers alone.
    unsafe impl Plain for Sample {}

    fn read(bytes: &[u32], size: usize) -> Outcome<Sample> {
        assert!(size <= bytes.len() * 4);
        // SAFETY: `size` bytes can be read there.
        unsafe { options(bytes.as_ptr().cast(), size) }
    }

    #[test]
    fn options_of_a_newer_version_are_accepted_and_other_sizes_rejected() {
        let new = [7, 0xff, 0, 0];
        assert_eq!(read(&new, 8).ok().map(|o| (o.first, o.flag.is_set())), Some((7, true)));
        for size in [0, 1, 4, 6, 7, 9, 15] {
            assert!(read(&new, size).is_err(), "{size}");
        }
        for size in [LARGEST + 4, usize::MAX & !3, usize::MAX] {
            // SAFETY: nothing is read for such a size.
            let read = unsafe { sized_and_rest::<Sample>("size", new.as_ptr().cast(), size) };
            assert!(read.0.first == 0 && read.1.is_err(), "{size}");
        }
        assert!(read(&new, 16).is_ok());
        assert!(read(&[7, 1, 0, 1], 16).is_err());
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { options::<Sample>(ptr::null(), 0) }.ok().map(|o| o.first), Some(0));
    }
}
