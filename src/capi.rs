//! The C interface. `include/seconder.h` is written from these files, their documentation included.
//!
//! A function here takes C's arguments apart, makes the call of [`crate::calls`] out of them and
//! leaves the rest to the library. [`ffi`] has what all of them share: one wrapper that catches
//! panics and reports errors, and the one way in for each kind of argument.

#![allow(unsafe_code, reason = "C promises by its header what Rust's types cannot say")]
#![allow(non_camel_case_types, reason = "types have the names that C programs know them by")]
#![allow(clippy::missing_safety_doc, reason = "the header says once what it asks of every caller")]
#![allow(clippy::too_many_arguments, reason = "the interface's parameters, options and ways out")]

pub mod application;
pub mod approvals;
pub mod callback;
pub mod checks;
pub mod codes;
pub mod deliver;
pub mod devices;
pub mod engine;
pub mod error;
mod ffi;
pub mod names;
pub mod open;
#[cfg(feature = "panic-test")]
mod panic;
pub mod phones;
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

/// What the header lets many threads use, or read, at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<application::seconder_application>();
    shared::<application::seconder_statistics>();
    shared::<approvals::seconder_approval>();
    shared::<approvals::seconder_approval_created>();
    shared::<callback::seconder_event>();
    shared::<codes::seconder_authenticator_enrolled>();
    shared::<codes::seconder_code_requested>();
    shared::<codes::seconder_verification>();
    shared::<engine::seconder_approval_requests>();
    shared::<engine::seconder_device>();
    shared::<error::seconder_error>();
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
