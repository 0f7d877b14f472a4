//! Texts and structs that C reads.

use serde_json::{Map, Value, json};
use std::ffi::c_char;
use std::ptr;
use zeroize::Zeroizing;

/// A text for C: it ends with its only NUL, and is wiped when it is dropped.
pub struct Text(Zeroizing<Vec<u8>>);

impl Text {
    /// Copies a text. Each NUL in it becomes a space.
    pub fn new(text: &str) -> Text {
        // Enough for the NUL: a reallocation would leave a copy that is not wiped.
        let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() + 1));
        bytes.extend_from_slice(text.as_bytes());
        // C would take an inner NUL for the end.
        bytes.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        bytes.push(0);
        Text(bytes)
    }

    pub(super) fn of(text: Option<&str>) -> Option<Text> {
        text.map(Text::new)
    }

    /// A JSON object as text.
    pub(super) fn of_object(fields: &Map<String, Value>) -> Text {
        Text::new(&json!(fields).to_string())
    }

    /// The pointer for C, valid as long as this is.
    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

/// The pointer to a text; NULL for `None`.
pub(super) fn pointer(text: &Option<Text>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), Text::as_ptr)
}

/// A struct that C reads.
///
/// # Safety
/// Each pointer of what [`MadeOf::new`] returns comes from [`Texts::keep`] of the texts that it was given.
pub(super) unsafe trait Item: Sized {}

/// A struct that C reads, made of a value of Rust.
pub(super) trait MadeOf<T>: Item {
    fn new(of: &T, texts: &mut Texts) -> Self;
}

/// The texts that structs point to.
#[derive(Default)]
pub(super) struct Texts(Vec<Text>);

impl Texts {
    /// The pointer to a text that is kept; NULL for none.
    pub(super) fn keep(&mut self, text: Option<&str>) -> *const c_char {
        let text = Text::of(text);
        let start = pointer(&text);
        self.0.extend(text);
        start
    }
}

/// Structs that C reads, with the texts that they point to.
pub(super) struct Items<T> {
    list: Vec<T>,
    _texts: Texts,
}

// SAFETY: the pointers of an `Item` point into the texts of the same value, which never change.
unsafe impl<T: Item> Send for Items<T> {}
// SAFETY: as above.
unsafe impl<T: Item> Sync for Items<T> {}

impl<T: Item> Items<T> {
    pub(super) fn new<Of>(of: &[Of]) -> Items<T>
    where
        T: MadeOf<Of>,
    {
        let mut texts = Texts::default();
        let list = of.iter().map(|one| T::new(one, &mut texts)).collect();
        Items { list, _texts: texts }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The pointer to a struct; NULL if `index` is out of range.
    pub(super) fn get(&self, index: usize) -> *const T {
        self.list.get(index).map_or(ptr::null(), ptr::from_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_one_nul_at_their_end() {
        assert_eq!(*Text::new("a\0b").0, *b"a b\0");
    }
}
