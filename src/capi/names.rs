//! The names that services choose differently, as C gives them.

use super::ffi::{self, Outcome, Plain};
use crate::wire::Names;
use std::ffi::c_char;

/// The names that a service of this interface uses where the interface document says `svc`. NULL in
/// a field is the name that comes of `word`, and the document's own where that is NULL too.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_names {
    /// What the service is called where the document says `svc`: with "acme", headers are
    /// X-Acme-..., ids acme_id and the browser acme_chrome. 1 to 32 lower-case letters and digits
    /// of ASCII that begin with a letter.
    pub word: *const c_char,
    /// The first part of the paths of approval requests: a word as above. Default: "push".
    pub push_path: *const c_char,
    /// What the names of the headers begin with: 1 to 32 letters, digits and dashes of ASCII.
    /// Default: "X-Svc-".
    pub header_prefix: *const c_char,
    /// The field that names a user, in bodies and callbacks: 1 to 32 lower-case letters, digits and
    /// underscores of ASCII that begin with a letter. Default: "svc_id".
    pub id_field: *const c_char,
    /// The browser among the devices, written as `id_field`. Default: "svc_chrome".
    pub chrome_device: *const c_char,
}

// SAFETY: pointers alone.
unsafe impl Plain for seconder_names {}

/// The names behind a pointer; the document's for NULL.
///
/// # Safety
/// `given` is NULL, or `size` bytes can be read there, and every pointer in them is NULL or a text.
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
