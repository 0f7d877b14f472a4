//! The C interface. `include/seconder.h` is written from these files, their documentation included.
//!
//! A function here reads C's arguments, builds the call of [`crate::calls`] from them and leaves
//! the rest to the library. [`generated`] holds the functions of the calls, which tools/generate
//! writes. `ffi` holds what they all share: one wrapper that catches panics and reports errors,
//! and one conversion for each kind of argument. Whole logins are in the crate `seconder-c`, which uses [`shared`].
//!
//! A field of a handle that has documentation is read by a function of its name, which is generated too, in C and
//! C++; so is the function that frees a handle with the attribute `c(freed = "…")`.

#![allow(unsafe_code, reason = "the header states what Rust's types cannot express")]
#![allow(non_camel_case_types, reason = "types are named as C programs see them")]
#![allow(clippy::missing_safety_doc, reason = "the header states the requirements on callers once")]
#![allow(rustdoc::broken_intra_doc_links, reason = "what C has in brackets is no link")]
#![allow(
    clippy::too_many_arguments,
    reason = "the interface's parameters, options and out arguments"
)]
#![cfg_attr(
    not(feature = "engine"),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "what only an engine uses stays in the header"
    )
)]

pub mod approvals;
pub mod audit;
pub mod callback;
pub mod checks;
mod decisions;
pub mod deliver;
pub mod engine;
#[cfg(feature = "engine")]
mod engine_only;
pub mod error;
mod ffi;
pub mod generated;
mod items;
pub mod jobs;
pub mod log;
pub mod lookup;
pub mod names;
pub mod offline;
pub mod open;
pub mod operate;
#[cfg(feature = "panic-test")]
mod panic;
mod panics;
mod plain;
pub mod post;
pub mod sandbox;
mod settings;
#[doc(hidden)]
pub mod shared;
pub mod status;
#[cfg(test)]
mod tests;
pub mod text;
pub mod totp;
pub mod userdata;
pub mod verifier;
pub mod waiting;

/// The types that the header lets many threads use, or read, at once. A type that stops being `Send
/// + Sync` would break that promise silently, so this makes it a compile error.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<audit::seconder_audit_page>();
    shared::<callback::seconder_event>();
    shared::<engine::seconder_approval_requests>();
    shared::<engine::seconder_device>();
    shared::<error::seconder_error>();
    shared::<jobs::seconder_jobs_run>();
    shared::<open::seconder_service>();
    shared::<sandbox::seconder_sent_messages>();
    shared::<text::seconder_text>();
    shared::<totp::seconder_totp>();
    shared::<verifier::seconder_verifier>();
};
