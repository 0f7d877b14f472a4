//! Written by tools/generate from src/capi/verifier.rs.

use crate::capi::ffi::free;
use crate::capi::verifier::seconder_verifier;

/// Frees a verifier. The last call with it must have returned. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_verifier_free(verifier: Option<Box<seconder_verifier>>) {
    free(verifier);
}
