//! The library for C and C++, `libseconder`.
//!
//! Most functions of the header `include/seconder.h` are in `seconder::capi`, which this crate links as a
//! whole. The functions of whole logins are here, because the crate of logins is built on that one.

#![allow(non_camel_case_types, reason = "types are named as C programs see them")]
#![allow(clippy::missing_safety_doc, reason = "the header states the requirements on callers once")]

pub mod login;
pub mod prompt;
