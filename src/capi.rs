//! The C interface. `include/seconder.h` is written from these files, their documentation included.
//!
//! A function here reads C's arguments, builds the call of [`crate::calls`] from them and leaves
//! the rest to the library. [`ffi`] holds what they all share: one wrapper that catches panics and
//! reports errors, and one conversion for each kind of argument.

#![allow(unsafe_code, reason = "the header states what Rust's types cannot express")]
#![allow(non_camel_case_types, reason = "types are named as C programs see them")]
#![allow(clippy::missing_safety_doc, reason = "the header states the requirements on callers once")]
#![allow(
    clippy::too_many_arguments,
    reason = "the interface's parameters, options and out arguments"
)]

pub mod application;
pub mod approvals;
pub mod audit;
pub mod browsers;
pub mod callback;
pub mod checks;
pub mod codes;
pub mod deliver;
pub mod devices;
pub mod engine;
pub mod error;
pub mod factors;
mod ffi;
pub mod invitations;
pub mod jobs;
pub mod log;
pub mod logins;
pub mod lookup;
pub mod names;
pub mod offline;
pub mod open;
pub mod operate;
#[cfg(feature = "panic-test")]
mod panic;
mod panics;
pub mod phones;
mod plain;
pub mod post;
mod settings;
pub mod status;
#[cfg(test)]
mod tests;
pub mod text;
pub mod totp;
pub mod userdata;
pub mod users;
pub mod verifier;
pub mod waiting;

/// The types that the header lets many threads use, or read, at once. A type that stops being `Send
/// + Sync` would break that promise silently, so this makes it a compile error.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<application::seconder_application>();
    shared::<application::seconder_statistics>();
    shared::<approvals::seconder_approval>();
    shared::<approvals::seconder_approval_created>();
    shared::<audit::seconder_audit_page>();
    shared::<browsers::seconder_browser_check>();
    shared::<browsers::seconder_remembered>();
    shared::<callback::seconder_event>();
    shared::<codes::seconder_authenticator_enrolled>();
    shared::<codes::seconder_code_requested>();
    shared::<codes::seconder_verification>();
    shared::<engine::seconder_approval_requests>();
    shared::<engine::seconder_device>();
    shared::<error::seconder_error>();
    shared::<factors::seconder_factors>();
    shared::<factors::seconder_registered_devices>();
    shared::<invitations::seconder_device_invited>();
    shared::<jobs::seconder_jobs_run>();
    shared::<logins::seconder_found_user>();
    shared::<logins::seconder_recovery_codes>();
    shared::<offline::seconder_offline_prepared>();
    shared::<open::seconder_service>();
    shared::<phones::seconder_phone_information>();
    shared::<phones::seconder_phone_verification_started>();
    shared::<text::seconder_text>();
    shared::<totp::seconder_totp>();
    shared::<users::seconder_done>();
    shared::<users::seconder_user_created>();
    shared::<users::seconder_user_status_reply>();
    shared::<verifier::seconder_verifier>();
};
