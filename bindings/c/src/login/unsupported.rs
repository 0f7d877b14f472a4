//! Systems on which there are no logins.

use super::{Given, seconder_login_options};
use crate::prompt::seconder_converse;
use seconder::Error;
use seconder::capi::open::seconder_service;
use seconder::capi::shared::Outcome;
use std::ffi::c_void;

pub(super) unsafe fn log_in(
    _: Option<&seconder_service>,
    _: &Given<'_>,
    _: (seconder_converse, *mut c_void),
    _: &seconder_login_options,
) -> Outcome<()> {
    let (parameter, reason) =
        ("login".into(), "cannot be logged in: this system is not Linux".into());
    Err(Error::InvalidArgument { parameter, reason }.into())
}
