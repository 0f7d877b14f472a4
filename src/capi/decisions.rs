//! Statuses of calls that decide about a code or a token. Nothing else turns a verdict into a status.

use super::error::seconder_error;
use super::ffi::Outcome;
use super::status::*;
use crate::calls::{BrowserCheck, Recognition, Verdict, Verification};

/// Returns the reply for a right code, and an error for any other. `name` is the argument with the code.
pub(super) fn verification(name: &str, reply: Verification) -> Outcome<Verification> {
    let code = reply.error_code.as_deref();
    let no = |status, message| Err(seconder_error::of_token(name, status, message, code));
    match reply.verdict {
        Verdict::Right => Ok(reply),
        Verdict::Wrong if reply.reused => no(SECONDER_TOKEN_REUSED, "has been used already"),
        Verdict::Wrong => no(SECONDER_TOKEN_WRONG, "is wrong"),
        Verdict::NotChecked => no(
            SECONDER_TOKEN_NOT_CHECKED,
            "was not checked, because the user was never confirmed: set the option force",
        ),
    }
}

/// Returns the reply for a browser that is recognised, and an error for any other. `name` is the
/// argument with its token.
pub(super) fn browser_check(name: &str, reply: BrowserCheck) -> Outcome<BrowserCheck> {
    match (reply.recognition, reply.user_id) {
        (Recognition::Recognised, Some(_)) => Ok(reply),
        _ => {
            Err(seconder_error::of_token(name, SECONDER_NOT_RECOGNISED, "is not recognised", None))
        }
    }
}
