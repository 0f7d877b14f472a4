//! Errors as C sees them: why a status is not `SECONDER_OK`.

use super::ffi::{Text, free, pointer, read_handle};
use super::status::{
    SECONDER_INVALID_ARGUMENT, SECONDER_STAGE_NONE, of_error, of_stage, seconder_status,
};
use crate::{Error, Rejection};
use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

/// Why a call did not do what was asked. It never holds an API key, a token, a code or a secret.
pub struct seconder_error {
    pub(super) status: seconder_status,
    message: Text,
    http_status: u16,
    service_code: Option<Text>,
    service_message: Option<Text>,
    stage: i32,
    fields: Vec<(Text, Text)>,
    names_parameter: bool,
    retry_safe: bool,
    timed_out: bool,
    retry_after: Option<Duration>,
}

impl seconder_error {
    /// A token that does not let anyone in.
    pub(super) fn of_token(status: seconder_status, message: &str) -> Box<seconder_error> {
        let fields = vec![(Text::new("token"), Text::new(message))];
        let message = Text::new(&format!("the token {message}"));
        Box::new(seconder_error { fields, ..seconder_error::bare(status, message) })
    }

    /// What did not happen, in this library's words.
    pub(super) fn saying(status: seconder_status, message: &str) -> Box<seconder_error> {
        Box::new(seconder_error::bare(status, Text::new(message)))
    }

    fn bare(status: seconder_status, message: Text) -> seconder_error {
        seconder_error {
            status,
            message,
            http_status: 0,
            service_code: None,
            service_message: None,
            stage: SECONDER_STAGE_NONE,
            fields: Vec::new(),
            names_parameter: false,
            retry_safe: false,
            timed_out: false,
            retry_after: None,
        }
    }

    fn rejected(mut self, rejection: &Rejection) -> seconder_error {
        let fields = rejection.fields.iter().filter(|(name, _)| *name != "message");
        self.fields = fields.map(|(name, text)| (Text::new(name), Text::new(text))).collect();
        self.http_status = rejection.status;
        self.service_code = Text::of(rejection.code.as_deref());
        self.service_message = Some(Text::new(&rejection.message));
        self
    }
}

impl From<Error> for Box<seconder_error> {
    fn from(error: Error) -> Box<seconder_error> {
        let bare = seconder_error::bare(of_error(&error), Text::new(&error.to_string()));
        let retry_safe = error.retry_safe();
        #[cfg(feature = "remote")]
        let timed_out = error.timed_out();
        #[cfg(not(feature = "remote"))]
        let timed_out = false;
        let told = match &error {
            Error::InvalidArgument { parameter, reason } => seconder_error {
                fields: vec![(Text::new(parameter), Text::new(reason))],
                names_parameter: true,
                ..bare
            },
            Error::Rejected(rejection) => bare.rejected(rejection),
            Error::RateLimited { message, retry_after } => seconder_error {
                service_message: Some(Text::new(message)),
                retry_after: *retry_after,
                ..bare
            },
            Error::Unauthorized { message } => {
                seconder_error { service_message: Some(Text::new(message)), ..bare }
            }
            Error::Unavailable { stage, .. } => seconder_error { stage: of_stage(*stage), ..bare },
            _ => bare,
        };
        Box::new(seconder_error { retry_safe, timed_out, ..told })
    }
}

/// The status that the call returned. SECONDER_INVALID_ARGUMENT for NULL: no error is no permission.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_status(error: Option<&seconder_error>) -> seconder_status {
    error.map_or(SECONDER_INVALID_ARGUMENT, |error| error.status)
}

/// What happened and what to do about it, in English, for a log. Never NULL: for NULL it says that
/// there is no error.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_message(error: Option<&seconder_error>) -> *const c_char {
    error.map_or(c"no error".as_ptr(), |error| error.message.as_ptr())
}

/// The HTTP status of a rejection (interface 7), else 0.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_http_status(error: Option<&seconder_error>) -> i32 {
    read_handle(error, |error| error.http_status.into())
}

/// The service's own code of a rejection, such as "60026" (interface 7), else NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_service_code(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |error| pointer(&error.service_code))
}

/// The service's own words, for SECONDER_REJECTED, SECONDER_RATE_LIMITED and SECONDER_UNAUTHORIZED; else
/// NULL. Their spelling changes over the years: decide on the status and on
/// seconder_error_service_code().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_service_message(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |error| pointer(&error.service_message))
}

/// How far a call came before it got no answer, when the status is SECONDER_UNAVAILABLE: one of
/// SECONDER_STAGE_...; else SECONDER_STAGE_NONE.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_stage(error: Option<&seconder_error>) -> i32 {
    read_handle(error, |error| error.stage)
}

/// The argument that cannot be right, by its name in the interface, when the status is
/// SECONDER_INVALID_ARGUMENT; else NULL.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_parameter(error: Option<&seconder_error>) -> *const c_char {
    read_handle(error, |error| match error.names_parameter {
        true => error.fields.first().map_or(ptr::null(), |(name, _)| name.as_ptr()),
        false => ptr::null(),
    })
}

/// How many fields the service, or the check of the arguments, found fault with.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_field_count(error: Option<&seconder_error>) -> usize {
    read_handle(error, |error| error.fields.len())
}

/// The name of the field at `index`, by its name in the interface; NULL beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_field_name(
    error: Option<&seconder_error>,
    index: usize,
) -> *const c_char {
    read_handle(error, |error| {
        error.fields.get(index).map_or(ptr::null(), |(name, _)| name.as_ptr())
    })
}

/// What is wrong with the field at `index`; NULL beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_field_text(
    error: Option<&seconder_error>,
    index: usize,
) -> *const c_char {
    read_handle(error, |error| {
        error.fields.get(index).map_or(ptr::null(), |(_, text)| text.as_ptr())
    })
}

/// Whether the same call can be made again without the risk that it happens twice.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_retry_safe(error: Option<&seconder_error>) -> bool {
    read_handle(error, |error| error.retry_safe)
}

/// Whether there was no answer because the time for the call was over.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_timed_out(error: Option<&seconder_error>) -> bool {
    read_handle(error, |error| error.timed_out)
}

/// How long to wait before the call is made again, in whole seconds, rounded up; 0 where that is
/// not known.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_retry_after_seconds(error: Option<&seconder_error>) -> u64 {
    read_handle(error, |error| {
        let wait = error.retry_after.unwrap_or_default();
        wait.as_secs().saturating_add((wait.subsec_nanos() > 0).into())
    })
}

/// Frees an error. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_error_free(error: Option<Box<seconder_error>>) {
    free(error);
}
