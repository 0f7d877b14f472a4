//! Errors as C sees them: why a status is not `SECONDER_OK`.

use super::ffi::{Text, read_handle};
use super::panics;
use super::status::{
    SECONDER_INVALID_ARGUMENT, SECONDER_STAGE_NONE, of_error, of_stage, seconder_status,
};
use crate::error::{bounded, whole_seconds};
use crate::{Error, Rejection};
use std::ffi::c_char;
use std::ptr;

/// The reason that a call failed. It never contains an API key, a token, a code or a secret.
#[cfg_attr(false, c(freed = "an error"))]
pub struct seconder_error {
    pub(super) status: seconder_status,
    message: Text,
    /// The HTTP status of a rejection (interface 7), otherwise 0.
    pub(super) http_status: i32,
    /// The service's own error code, such as "60026" (interface 7), for SECONDER_REJECTED,
    /// SECONDER_RATE_LIMITED, SECONDER_UNAUTHORIZED, SECONDER_TOKEN_WRONG and SECONDER_TOKEN_REUSED.
    /// `None` for others, and if the service sent none. An engine in this process has the codes that a
    /// remote service sends.
    pub(super) service_code: Option<Text>,
    /// The name of the limit that was reached, such as "cool_down", "wrong_codes" or "country_day", if the
    /// status is SECONDER_RATE_LIMITED and the service says which: interface 8 lists them. `None` if not.
    /// Services of other projects do not say it, and a later version may have more names.
    pub(super) limit: Option<Text>,
    /// True if the limit that was reached is one of the whole application: "country_day", "application_day"
    /// or "key_rate". Its users cannot do anything about it, but the operator can raise it.
    pub(super) is_operator_limit: bool,
    /// The service's own message, for SECONDER_REJECTED, SECONDER_RATE_LIMITED and SECONDER_UNAUTHORIZED.
    /// `None` for others. Its wording changes over the years, so decide on the status and on the service's
    /// code instead.
    pub(super) service_message: Option<Text>,
    /// The stage at which the call failed, if the status is SECONDER_UNAVAILABLE: one of
    /// SECONDER_STAGE_...; otherwise SECONDER_STAGE_NONE.
    #[cfg_attr(false, cpp(kind = "Stage"))]
    pub(super) stage: i32,
    /// The name of the invalid argument or option, if the status is SECONDER_INVALID_ARGUMENT or
    /// SECONDER_TOKEN_MALFORMED. `None` for others.
    pub(super) parameter: Option<Text>,
    fields: Vec<(Text, Text)>,
    /// True if the same call can be retried without the risk that it takes effect twice.
    pub(super) retry_safe: bool,
    /// True if the call failed because its time limit was reached.
    pub(super) timed_out: bool,
    /// The time to wait before a retry, in whole seconds, rounded up, as in the message; 0 if that is not
    /// known.
    #[cfg_attr(false, cpp(seconds))]
    pub(super) retry_after: u64,
}

impl seconder_error {
    /// A token that was not accepted, by the name of its argument, and the service's code for that.
    pub(super) fn of_token(
        name: &str,
        status: seconder_status,
        message: &str,
        code: Option<&str>,
    ) -> Box<seconder_error> {
        let fields = vec![(Text::new(name), Text::new(message))];
        let message = Text::new(&format!("the {name} {message}"));
        let service_code = Text::of(code);
        Box::new(seconder_error { fields, service_code, ..seconder_error::bare(status, message) })
    }

    /// An error of the C interface alone, which the rest of the library does not have.
    #[doc(hidden)]
    pub fn with_message(status: seconder_status, message: &str) -> Box<seconder_error> {
        Box::new(seconder_error::bare(status, Text::new(message)))
    }

    fn bare(status: seconder_status, message: Text) -> seconder_error {
        seconder_error {
            status,
            message,
            http_status: 0,
            service_code: None,
            limit: None,
            is_operator_limit: false,
            service_message: None,
            stage: SECONDER_STAGE_NONE,
            fields: Vec::new(),
            parameter: None,
            retry_safe: false,
            timed_out: false,
            retry_after: 0,
        }
    }

    fn rejected(mut self, rejection: &Rejection) -> seconder_error {
        // Replies repeat the message among `errors`. C has seconder_error_service_message() for it.
        let fields = rejection.fields.iter().filter(|(name, _)| *name != "message");
        self.fields = fields.map(|(name, text)| (short(name), short(text))).collect();
        self.http_status = rejection.status.into();
        self.service_message = Some(short(&rejection.message));
        self
    }
}

/// A text of an error, which may be as long as the reply of a service.
fn short(text: &str) -> Text {
    Text::new(&bounded(text))
}

impl From<Error> for Box<seconder_error> {
    fn from(error: Error) -> Box<seconder_error> {
        let mut text = error.to_string();
        if matches!(error, Error::Internal { .. }) {
            text += &panics::place();
        }
        let mut bare = seconder_error::bare(of_error(&error), short(&text));
        bare.service_code = error.code().map(short);
        bare.limit = Text::of(error.limit());
        bare.is_operator_limit = error.is_operator_limit();
        let retry_safe = error.retry_safe();
        let timed_out = error.timed_out();
        let error = match &error {
            Error::InvalidArgument { parameter, reason }
            | Error::TokenMalformed { parameter, reason } => seconder_error {
                fields: vec![(short(parameter), short(reason))],
                parameter: Some(short(parameter)),
                ..bare
            },
            Error::TokenWrong { parameter, .. } => {
                seconder_error { fields: vec![(short(parameter), Text::new("is wrong"))], ..bare }
            }
            Error::Rejected(rejection) => bare.rejected(rejection),
            Error::RateLimited { message, retry_after, .. } => seconder_error {
                service_message: Some(short(message)),
                retry_after: retry_after.map_or(0, whole_seconds),
                ..bare
            },
            Error::Unauthorized { message, .. } => {
                seconder_error { service_message: Some(short(message)), ..bare }
            }
            Error::Unavailable { stage, .. } => seconder_error { stage: of_stage(*stage), ..bare },
            _ => bare,
        };
        Box::new(seconder_error { retry_safe, timed_out, ..error })
    }
}

/// The status that the call returned. SECONDER_INVALID_ARGUMENT for NULL, so that a missing error
/// is never taken for success.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_status(error: Option<&seconder_error>) -> seconder_status {
    error.map_or(SECONDER_INVALID_ARGUMENT, |error| error.status)
}

/// Says what happened and what to do about it, in English, for a log. Never NULL, and at most 8192
/// bytes: for a NULL argument the message is "no error".
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_message(error: Option<&seconder_error>) -> *const c_char {
    error.map_or(c"no error".as_ptr(), |error| error.message.as_ptr())
}

/// The number of invalid fields, as found by the service or by the check of the arguments.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_field_count(error: Option<&seconder_error>) -> usize {
    read_handle(error, |error| error.fields.len())
}

/// The name of the field at `index`, as in the interface; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_field_name(
    error: Option<&seconder_error>,
    index: usize,
) -> *const c_char {
    read_handle(error, |error| {
        error.fields.get(index).map_or(ptr::null(), |(name, _)| name.as_ptr())
    })
}

/// The fault of the field at `index`; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_field_text(
    error: Option<&seconder_error>,
    index: usize,
) -> *const c_char {
    read_handle(error, |error| {
        error.fields.get(index).map_or(ptr::null(), |(_, text)| text.as_ptr())
    })
}
