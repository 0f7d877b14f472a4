//! The numbers that C programs compare with. None is ever used for something else.

use crate::calls::ApprovalStatus;
use crate::otp::Algorithm;
use crate::{Error, Result, Stage};

/// What came of a call: SECONDER_OK, or why not. New numbers may come; none but 0 is a success.
pub type seconder_status = i32;

/// What was asked for is done. From seconder_verify(), seconder_check_phone_verification() and
/// seconder_totp_check() it says that the code was checked and is right.
pub const SECONDER_OK: i32 = 0;
/// The code is not the user's, or no longer.
pub const SECONDER_TOKEN_WRONG: i32 = 1;
/// The code was right once and has been used.
pub const SECONDER_TOKEN_REUSED: i32 = 2;
/// The user was never confirmed and `force` was not given, so the code was not looked at.
pub const SECONDER_TOKEN_NOT_CHECKED: i32 = 3;
/// The caller: an argument cannot be right. Nothing was sent and nothing was changed.
pub const SECONDER_INVALID_ARGUMENT: i32 = 10;
/// The operator: the service does not accept the API key. This says nothing about the user, so a
/// lock-out must not count it.
pub const SECONDER_UNAUTHORIZED: i32 = 11;
/// The service looked at the call and said no.
pub const SECONDER_REJECTED: i32 = 12;
/// Nobody yet: wait, then repeat.
pub const SECONDER_RATE_LIMITED: i32 = 13;
/// The network or the service: there was no answer in time.
pub const SECONDER_UNAVAILABLE: i32 = 14;
/// The service: there was an answer that makes no sense. The URL may be wrong.
pub const SECONDER_INVALID_RESPONSE: i32 = 15;
/// Nobody: a callback was not signed by the service with this API key.
pub const SECONDER_INVALID_CALLBACK: i32 = 16;
/// The operator: the database cannot be opened, read or written.
pub const SECONDER_STORAGE: i32 = 17;
/// The makers of this library.
pub const SECONDER_INTERNAL: i32 = 18;
/// The program: its own function ended the wait of seconder_wait_for_approval().
pub const SECONDER_STOPPED: i32 = 19;

/// An error that tells of no stage: no call broke off on its way.
pub const SECONDER_STAGE_NONE: i32 = 0;
/// The host name was being looked up.
pub const SECONDER_STAGE_DNS: i32 = 1;
/// The connection was being made.
pub const SECONDER_STAGE_CONNECT: i32 = 2;
/// The service's certificate was being checked.
pub const SECONDER_STAGE_TLS: i32 = 3;
/// The request may have been sent, whole or in part.
pub const SECONDER_STAGE_RESPONSE: i32 = 4;
/// A code was being handed to what delivers it.
pub const SECONDER_STAGE_DELIVERY: i32 = 5;

/// An approval request's status that this library does not know, which lets nobody in.
pub const SECONDER_APPROVAL_UNKNOWN: i32 = 0;
/// Not answered yet.
pub const SECONDER_APPROVAL_PENDING: i32 = 1;
/// The user said yes. The only status that lets anyone in.
pub const SECONDER_APPROVAL_APPROVED: i32 = 2;
/// The user said no.
pub const SECONDER_APPROVAL_DENIED: i32 = 3;
/// Nobody answered in time.
pub const SECONDER_APPROVAL_EXPIRED: i32 = 4;

/// A choice that was not made: the default.
pub const SECONDER_DEFAULT: i32 = 0;
/// Yes.
pub const SECONDER_YES: i32 = 1;
/// No. It is not 0: compare with the names.
pub const SECONDER_NO: i32 = 2;
/// An answer that the service did not give.
pub const SECONDER_NOT_PROVIDED: i32 = 0;

/// A remote service answers in JSON.
pub const SECONDER_FORMAT_JSON: i32 = 1;
/// A remote service answers in XML.
pub const SECONDER_FORMAT_XML: i32 = 2;

/// The present generation of the interface: the API key is in a header (interface 9).
pub const SECONDER_GENERATION_CURRENT: i32 = 1;
/// The older generation: the API key is a parameter, and some replies have other words.
pub const SECONDER_GENERATION_OLDER: i32 = 2;

/// No call is repeated: every wait is the program's, as SECONDER_RATE_LIMITED.
pub const SECONDER_REPEATS_NONE: i32 = 1;
/// Calls that only ask are repeated: seconder_app_details(), seconder_user_status(),
/// seconder_app_stats(), seconder_phone_info() and seconder_check_approval().
pub const SECONDER_REPEATS_QUESTIONS: i32 = 2;
/// Every call is repeated. A service that said "wait" after it had sent an SMS then does it twice.
pub const SECONDER_REPEATS_ALL: i32 = 3;

/// HMAC-SHA-1, which every authenticator app knows (RFC 6238).
pub const SECONDER_ALGORITHM_SHA1: i32 = 1;
/// HMAC-SHA-256.
pub const SECONDER_ALGORITHM_SHA256: i32 = 2;
/// HMAC-SHA-512.
pub const SECONDER_ALGORITHM_SHA512: i32 = 3;

/// In place of seconds: no end.
pub const SECONDER_FOREVER: i64 = -1;

pub(super) fn of_error(error: &Error) -> seconder_status {
    match error {
        Error::InvalidArgument { .. } => SECONDER_INVALID_ARGUMENT,
        Error::Unauthorized { .. } => SECONDER_UNAUTHORIZED,
        Error::Rejected(_) => SECONDER_REJECTED,
        Error::RateLimited { .. } => SECONDER_RATE_LIMITED,
        Error::Unavailable { .. } => SECONDER_UNAVAILABLE,
        Error::InvalidResponse { .. } => SECONDER_INVALID_RESPONSE,
        Error::InvalidCallback { .. } => SECONDER_INVALID_CALLBACK,
        Error::Storage { .. } => SECONDER_STORAGE,
        Error::Internal { .. } => SECONDER_INTERNAL,
    }
}

pub(super) fn of_stage(stage: Stage) -> i32 {
    match stage {
        Stage::Dns => SECONDER_STAGE_DNS,
        Stage::Connect => SECONDER_STAGE_CONNECT,
        Stage::Tls => SECONDER_STAGE_TLS,
        Stage::Response => SECONDER_STAGE_RESPONSE,
        Stage::Delivery => SECONDER_STAGE_DELIVERY,
    }
}

pub(super) fn of_algorithm(algorithm: Algorithm) -> i32 {
    match algorithm {
        Algorithm::Sha1 => SECONDER_ALGORITHM_SHA1,
        Algorithm::Sha256 => SECONDER_ALGORITHM_SHA256,
        Algorithm::Sha512 => SECONDER_ALGORITHM_SHA512,
    }
}

/// The choice that a number stands for; nothing for `SECONDER_DEFAULT`.
pub(super) fn chosen<T: Copy>(
    name: &'static str,
    number: i32,
    choices: &[(i32, T)],
) -> Result<Option<T>> {
    match choices.iter().find(|(known, _)| *known == number) {
        Some((_, choice)) => Ok(Some(*choice)),
        None if number == SECONDER_DEFAULT => Ok(None),
        None => Err(Error::invalid_argument(name, "must be 0 or one of the constants of its name")),
    }
}

pub(super) fn of_approval(status: ApprovalStatus) -> i32 {
    match status {
        ApprovalStatus::Unknown => SECONDER_APPROVAL_UNKNOWN,
        ApprovalStatus::Pending => SECONDER_APPROVAL_PENDING,
        ApprovalStatus::Approved => SECONDER_APPROVAL_APPROVED,
        ApprovalStatus::Denied => SECONDER_APPROVAL_DENIED,
        ApprovalStatus::Expired => SECONDER_APPROVAL_EXPIRED,
    }
}

pub(super) fn of_flag(told: Option<bool>) -> i32 {
    match told {
        None => SECONDER_NOT_PROVIDED,
        Some(true) => SECONDER_YES,
        Some(false) => SECONDER_NO,
    }
}

/// The wire's 0 seconds are for ever; C's 0 is the default, or not told.
pub(super) fn of_seconds(told: Option<u64>) -> i64 {
    match told {
        None => 0,
        Some(0) => SECONDER_FOREVER,
        Some(seconds) => i64::try_from(seconds).unwrap_or(i64::MAX),
    }
}
