//! Written by tools/generate from src/capi/audit.rs.

use crate::capi::audit::{seconder_audit_entry, seconder_audit_page};
use crate::capi::ffi::{free, pointer, read_handle};
use std::ffi::c_char;

/// The number of values that seconder_audit_page_entry() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_entry_count(
    audit_page: Option<&seconder_audit_page>,
) -> usize {
    read_handle(audit_page, |reply| reply.entries.len())
}

/// The decisions, the latest first. There may be none although more follow. Returns the one at
/// `index`, owned by the handle; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_entry(
    audit_page: Option<&seconder_audit_page>,
    index: usize,
) -> *const seconder_audit_entry {
    read_handle(audit_page, |reply| reply.entries.get(index))
}

/// The value to pass as `after` to read on. NULL at the end.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_next(
    audit_page: Option<&seconder_audit_page>,
) -> *const c_char {
    read_handle(audit_page, |reply| pointer(&reply.next))
}

/// Frees a page of seconder_audit(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_audit_page_free(audit_page: Option<Box<seconder_audit_page>>) {
    free(audit_page);
}
