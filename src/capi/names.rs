//! The names that differ between services, as C passes them.

use super::ffi::{self, Outcome, Plain};
use crate::wire::Names;
use std::ffi::c_char;

/// The names that a service uses where the interface document says `svc`. A NULL field selects the
/// name derived from `word`, and the document's own name if `word` is NULL too.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_names {
    /// The word that replaces `svc`: with "acme", headers are X-Acme-..., ids acme_id and the
    /// browser acme_chrome. 1 to 32 lower-case ASCII letters and digits, starting with a letter.
    pub word: *const c_char,
    /// The first segment of the paths of approval requests: a word as above. Default: "push".
    pub push_path: *const c_char,
    /// The prefix of header names: 1 to 32 ASCII letters, digits and dashes. Default: "X-Svc-".
    pub header_prefix: *const c_char,
    /// The field that identifies a user in bodies and callbacks: 1 to 32 lower-case ASCII letters,
    /// digits and underscores, starting with a letter. Default: "svc_id".
    pub id_field: *const c_char,
    /// The device type of the browser, in the same form as `id_field`. Default: "svc_chrome".
    pub chrome_device: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_names {}

/// The names behind a pointer; `None` for NULL, and if every field is NULL.
///
/// # Safety
/// As for [`read`].
pub(super) unsafe fn given(given: *const seconder_names, size: usize) -> Outcome<Option<Names>> {
    // SAFETY: promised by the caller.
    let (names, fields) = unsafe { (read(given, size)?, ffi::sized("names_size", given, size)?) };
    let seconder_names { word, push_path, header_prefix, id_field, chrome_device } = fields;
    let fields = [word, push_path, header_prefix, id_field, chrome_device];
    Ok(fields.iter().any(|field| !field.is_null()).then_some(names))
}

/// The names behind a pointer; the document's own names for NULL.
///
/// # Safety
/// `given` is NULL or points to `size` readable bytes, and every pointer in them is NULL or a text.
pub(super) unsafe fn read(given: *const seconder_names, size: usize) -> Outcome<Names> {
    let text = |name, text| -> Outcome<Option<&str>> {
        // SAFETY: promised by the caller.
        unsafe { ffi::text_if(name, text) }
    };
    // SAFETY: promised by the caller.
    let given = unsafe { ffi::sized("names_size", given, size) }?;
    let mut names = match text("names", given.word)? {
        Some(word) => Names::new(word)?,
        None => Names::default(),
    };
    if let Some(word) = text("push_path", given.push_path)? {
        names = names.push_path(word)?;
    }
    if let Some(prefix) = text("header_prefix", given.header_prefix)? {
        names = names.header_prefix(prefix)?;
    }
    if let Some(name) = text("id_field", given.id_field)? {
        names = names.id_field(name)?;
    }
    if let Some(name) = text("chrome_device", given.chrome_device)? {
        names = names.chrome_device(name)?;
    }
    Ok(names)
}
