//! The numbers that C programs compare with. A number is never reused for another meaning, because
//! compiled programs contain it. C++ has enums of them, and a status has its name, as tools/generate writes.

use super::generated::status_names::STATUS_NAMES;
use crate::calls::ApprovalStatus;
use crate::otp::Algorithm;
use crate::{CallOutcome, Error, Result, Stage};
use std::ffi::c_char;

/// The outcome of a call: SECONDER_OK, or the kind of failure. New numbers may be added; only 0 is
/// a success.
pub type seconder_status = i32;

// The statuses come before other constants, by which tools/generate knows them.

/// The call succeeded. From seconder_verify(), seconder_confirm_authenticator(),
/// seconder_check_phone_verification() and seconder_totp_check() it means that the code was checked
/// and is correct, from seconder_recognise() that the browser is recognised, and from seconder_login()
/// that a code is correct or the user approved the login.
pub const SECONDER_OK: i32 = 0;
/// The code is wrong, or is no longer valid: of a user, or of a number that
/// seconder_check_phone_verification() checks.
pub const SECONDER_TOKEN_WRONG: i32 = 1;
/// The code was correct but has already been used.
pub const SECONDER_TOKEN_REUSED: i32 = 2;
/// The code was not checked, because the user was never confirmed and `force` was not set.
pub const SECONDER_TOKEN_NOT_CHECKED: i32 = 3;
/// The user typed something that cannot be a code: it has other characters than digits, or the wrong length.
/// Nothing was sent and no code was compared, so it does not count as a wrong code: ask the user to
/// type it again.
pub const SECONDER_TOKEN_MALFORMED: i32 = 4;
/// From seconder_recognise(): the browser is not recognised, so ask the user for the second factor.
pub const SECONDER_NOT_RECOGNISED: i32 = 5;
/// An argument is invalid, which is for the caller to fix. Nothing was sent and nothing was
/// changed.
pub const SECONDER_INVALID_ARGUMENT: i32 = 10;
/// The service does not accept the API key, which is for the operator to fix. It says nothing about
/// the user, so a lock-out must not count it.
pub const SECONDER_UNAUTHORIZED: i32 = 11;
/// The service understood the call and rejected it.
pub const SECONDER_REJECTED: i32 = 12;
/// The call was rate limited: wait, then retry.
pub const SECONDER_RATE_LIMITED: i32 = 13;
/// The network or the service failed: there was no response in time.
pub const SECONDER_UNAVAILABLE: i32 = 14;
/// The service's response could not be parsed, or contradicts itself. The URL may be wrong.
pub const SECONDER_INVALID_RESPONSE: i32 = 15;
/// A callback must not be trusted: it was not signed by the service with this API key, or a
/// verifier found it stale or received before. No action is needed.
pub const SECONDER_INVALID_CALLBACK: i32 = 16;
/// The database cannot be opened, read or written, or was removed or replaced while it was open, which
/// is for the operator to fix. In the latter case, open the service again.
pub const SECONDER_STORAGE: i32 = 17;
/// An internal error, for the developers of this library to fix.
pub const SECONDER_INTERNAL: i32 = 18;
/// The stop function that was passed to seconder_wait_for_approval() ended that one wait.
pub const SECONDER_STOPPED: i32 = 19;
/// seconder_service_cancel() ended the call, as it does every call of the handle.
/// seconder_error_retry_safe() says whether the request may have been sent.
pub const SECONDER_CANCELLED: i32 = 20;
/// From seconder_login(): the user did not give a right code or approve the login, or the service or a
/// limit of the application rejected the user.
pub const SECONDER_LOGIN_DENIED: i32 = 30;
/// From seconder_login(): the user has too many wrong attempts, and may try again later.
pub const SECONDER_LOGIN_LOCKED: i32 = 31;
/// From seconder_login(): the service does not know the user.
pub const SECONDER_LOGIN_UNENROLLED: i32 = 32;
/// From seconder_login(): the user cannot be asked, or has not answered.
pub const SECONDER_LOGIN_NO_ANSWER: i32 = 33;
/// From seconder_login(): the configuration excepts the user or the network from the second factor.
/// Nothing was checked.
pub const SECONDER_LOGIN_EXCEPTED: i32 = 34;
/// From seconder_login(): the user is unknown to the service, and the configuration says
/// `unenrolled=ignore`; or the service could not be asked, and it says `on_trouble=ignore`. Nothing was
/// checked.
pub const SECONDER_LOGIN_IGNORED: i32 = 35;
/// From seconder_login(): the configuration, the map of users or a file of theirs has errors, or the
/// service does not accept the API key or this process, which is for the operator to fix.
pub const SECONDER_LOGIN_MISCONFIGURED: i32 = 36;

/// No stage: the error is not SECONDER_UNAVAILABLE.
pub const SECONDER_STAGE_NONE: i32 = 0;
/// The host name was being resolved.
pub const SECONDER_STAGE_DNS: i32 = 1;
/// The connection was being established.
pub const SECONDER_STAGE_CONNECT: i32 = 2;
/// The TLS handshake was under way and the service's certificate was being verified.
pub const SECONDER_STAGE_TLS: i32 = 3;
/// The request may have been sent, in whole or in part.
pub const SECONDER_STAGE_RESPONSE: i32 = 4;
/// A code was being handed to the gateway or function that delivers it.
pub const SECONDER_STAGE_DELIVERY: i32 = 5;
/// The socket of a `unix:` URL may not be used by this process, or does not belong to a trusted service.
/// Nothing was sent. Waiting does not help: an operator has to act.
pub const SECONDER_STAGE_ACCESS: i32 = 6;

/// A status of an approval request that this library does not know. It does not let the user in.
pub const SECONDER_APPROVAL_UNKNOWN: i32 = 0;
/// Not answered yet.
pub const SECONDER_APPROVAL_PENDING: i32 = 1;
/// The user approved the request. The only status that lets anyone in.
pub const SECONDER_APPROVAL_APPROVED: i32 = 2;
/// The user denied the request.
pub const SECONDER_APPROVAL_DENIED: i32 = 3;
/// The request expired before the user answered.
pub const SECONDER_APPROVAL_EXPIRED: i32 = 4;

/// No choice: the default applies.
pub const SECONDER_DEFAULT: i32 = 0;
/// Yes, for an option that has a default, and from a replay function.
pub const SECONDER_YES: i32 = 1;
/// No, in the same places. It is not 0, because 0 is the default: only a program that sets an option
/// or answers a question of the library uses it. No function returns it.
pub const SECONDER_NO: i32 = 2;

/// The remote service responds in JSON.
pub const SECONDER_FORMAT_JSON: i32 = 1;
/// The remote service responds in XML.
pub const SECONDER_FORMAT_XML: i32 = 2;

/// The current generation of the interface: the API key is sent in a header (interface 9).
pub const SECONDER_GENERATION_CURRENT: i32 = 1;
/// The older generation: the API key is sent as a parameter, and some replies use other names.
pub const SECONDER_GENERATION_OLDER: i32 = 2;

/// Callbacks are sent by POST, with a JSON body (interface 6).
pub const SECONDER_CALLBACK_METHOD_POST: i32 = 1;
/// Callbacks are sent by GET, with their parameters as the query of the URL.
pub const SECONDER_CALLBACK_METHOD_GET: i32 = 2;

/// No call is retried: every request to wait is returned as SECONDER_RATE_LIMITED.
pub const SECONDER_REPEATS_NONE: i32 = 1;
/// Calls that change nothing are retried: seconder_app_details(), seconder_user_status(),
/// seconder_app_stats(), seconder_phone_info(), seconder_phone_verification_status(),
/// seconder_check_approval(), seconder_find_user(), seconder_devices() and seconder_recognise().
pub const SECONDER_REPEATS_QUESTIONS: i32 = 2;
/// Every call is retried. If a service asks to wait after it has already sent an SMS, it then sends
/// a second one.
pub const SECONDER_REPEATS_ALL: i32 = 3;

/// From a deliver or post function: the message or callback was accepted.
pub const SECONDER_OUTCOME_SENT: i32 = 0;
/// From a deliver or post function: it was not accepted, and no attempt will succeed.
pub const SECONDER_OUTCOME_PERMANENT: i32 = 1;
/// From a deliver or post function: it was not accepted, and a later attempt may succeed.
pub const SECONDER_OUTCOME_RETRY: i32 = 2;
/// From a deliver or post function: it may have been accepted, because the connection was lost before a
/// response arrived. Another attempt carries the same id.
pub const SECONDER_OUTCOME_AMBIGUOUS: i32 = 3;
/// From a deliver or post function: nothing was attempted, such as because no more messages are taken in
/// this second. It counts as no attempt.
pub const SECONDER_OUTCOME_NOT_ATTEMPTED: i32 = 4;
/// From a deliver function: the provider refuses the number, as one that does not exist or cannot be reached.
/// The call is rejected with SECONDER_ERROR_CODE_NUMBER_REFUSED, because the caller has to correct the number.
pub const SECONDER_OUTCOME_NUMBER_REFUSED: i32 = 5;

/// From a lookup function: the number is a mobile phone's.
pub const SECONDER_LINE_TYPE_MOBILE: i32 = 1;
/// From a lookup function: it is a landline's, which receives calls and no SMS.
pub const SECONDER_LINE_TYPE_LANDLINE: i32 = 2;
/// From a lookup function: it is a VoIP number.
pub const SECONDER_LINE_TYPE_VOIP: i32 = 3;
/// From a lookup function: anybody can use it for a while, such as one on a website that shows its
/// messages.
pub const SECONDER_LINE_TYPE_DISPOSABLE: i32 = 4;

/// HMAC-SHA-1, which every authenticator app supports (RFC 6238).
pub const SECONDER_ALGORITHM_SHA1: i32 = 1;
/// HMAC-SHA-256.
pub const SECONDER_ALGORITHM_SHA256: i32 = 2;
/// HMAC-SHA-512.
pub const SECONDER_ALGORITHM_SHA512: i32 = 3;

/// In place of a number of seconds: no expiry.
pub const SECONDER_FOREVER: i64 = -1;

/// The name of a status as in the header, such as "SECONDER_OK", for a log. "unknown" for a number
/// that is no status of this version. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_status_name(status: seconder_status) -> *const c_char {
    let known = STATUS_NAMES.iter().find(|(number, _)| *number == status);
    known.map_or(c"unknown", |(_, name)| name).as_ptr()
}

pub(super) fn of_error(error: &Error) -> seconder_status {
    of_outcome(CallOutcome::from(error))
}

/// The status that a call returns that ends so.
pub(super) fn of_outcome(outcome: CallOutcome) -> seconder_status {
    match outcome {
        CallOutcome::Ok => SECONDER_OK,
        CallOutcome::TokenWrong => SECONDER_TOKEN_WRONG,
        CallOutcome::TokenReused => SECONDER_TOKEN_REUSED,
        CallOutcome::TokenNotChecked => SECONDER_TOKEN_NOT_CHECKED,
        CallOutcome::NotRecognised => SECONDER_NOT_RECOGNISED,
        CallOutcome::InvalidArgument => SECONDER_INVALID_ARGUMENT,
        CallOutcome::TokenMalformed => SECONDER_TOKEN_MALFORMED,
        CallOutcome::Unauthorized => SECONDER_UNAUTHORIZED,
        CallOutcome::Rejected => SECONDER_REJECTED,
        CallOutcome::RateLimited => SECONDER_RATE_LIMITED,
        CallOutcome::Unavailable => SECONDER_UNAVAILABLE,
        CallOutcome::Cancelled => SECONDER_CANCELLED,
        CallOutcome::InvalidResponse => SECONDER_INVALID_RESPONSE,
        CallOutcome::InvalidCallback => SECONDER_INVALID_CALLBACK,
        CallOutcome::Storage => SECONDER_STORAGE,
        CallOutcome::Internal => SECONDER_INTERNAL,
    }
}

pub(super) fn of_stage(stage: Stage) -> i32 {
    match stage {
        Stage::Dns => SECONDER_STAGE_DNS,
        Stage::Connect => SECONDER_STAGE_CONNECT,
        Stage::Tls => SECONDER_STAGE_TLS,
        Stage::Response => SECONDER_STAGE_RESPONSE,
        Stage::Delivery => SECONDER_STAGE_DELIVERY,
        Stage::Access => SECONDER_STAGE_ACCESS,
    }
}

pub(super) fn of_algorithm(algorithm: Algorithm) -> i32 {
    match algorithm {
        Algorithm::Sha1 => SECONDER_ALGORITHM_SHA1,
        Algorithm::Sha256 => SECONDER_ALGORITHM_SHA256,
        Algorithm::Sha512 => SECONDER_ALGORITHM_SHA512,
    }
}

/// The answer that a number stands for; `None` for `SECONDER_DEFAULT`.
pub(super) fn yes_or_no(name: &'static str, number: i32) -> Result<Option<bool>> {
    match number {
        SECONDER_DEFAULT => Ok(None),
        SECONDER_YES => Ok(Some(true)),
        SECONDER_NO => Ok(Some(false)),
        _ => Err(Error::invalid_argument(
            name,
            "must be SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO",
        )),
    }
}

/// The choice that a number stands for; `None` for `SECONDER_DEFAULT`.
pub(super) fn chosen<T: Copy>(
    name: &'static str,
    number: i32,
    choices: &[(i32, T)],
) -> Result<Option<T>> {
    match choices.iter().find(|(known, _)| *known == number) {
        Some((_, choice)) => Ok(Some(*choice)),
        None if number == SECONDER_DEFAULT => Ok(None),
        None => Err(Error::invalid_argument(name, "must be 0 or one of its constants")),
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

/// On the wire 0 seconds means no expiry; in C 0 means the default, or not provided.
pub(super) fn of_seconds(seconds: Option<u64>) -> i64 {
    match seconds {
        None => 0,
        Some(0) => SECONDER_FOREVER,
        Some(seconds) => i64::try_from(seconds).unwrap_or(i64::MAX),
    }
}
