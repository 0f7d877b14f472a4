//! Errors on the wire, in both directions (interface 7).

use super::{Call, OWN_PATHS, Route, USER_ID_ON_THE_WIRE};
use crate::codes::{
    APPROVAL_NOT_FOUND, AUTHENTICATOR_NOT_FOUND, DEVICE_NOT_FOUND, FACTOR_LOCKED, INVALID_API_KEY,
    INVALID_USER, NO_PENDING_AUTHENTICATOR, TOO_MANY_REQUESTS, TOO_MANY_WRONG_KEYS, UNSPECIFIC,
    USER_NOT_FOUND,
};
use crate::error::Rejection;
#[cfg(feature = "engine")]
use crate::model::LoginName;
use crate::model::{ApprovalId, AuthenticatorId, DeviceId, UserId};
use crate::wire::older::Shape;
use crate::wire::{Generation, Reply, has_error, scalar};
use crate::{Error, Result, Stage};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The codes with the status 404 of calls that only this project's service has.
const OWN_NOT_FOUND: [&str; 4] =
    [USER_NOT_FOUND, NO_PENDING_AUTHENTICATOR, AUTHENTICATOR_NOT_FOUND, DEVICE_NOT_FOUND];

/// The body of a success: status 200, and an object that reports no error and does not deny
/// success. `must_say` requires the field `success`; without it, the reply's other fields show the
/// success.
pub(super) fn success(reply: Reply, must_say: bool) -> Result<Map<String, Value>> {
    let Value::Object(fields) = &reply.body else { return Err(error_of(reply)) };
    let success = fields.get("success").and_then(scalar);
    let yes = match success.as_deref() {
        Some(flag) => flag.eq_ignore_ascii_case("true") || flag == "1",
        None => !must_say,
    };
    let fails = has_error(fields);
    match (reply.status, reply.body) {
        (200, Value::Object(fields)) if yes && !fails => Ok(fields),
        (200, _) if success.is_none() && !fails => {
            Err(Error::invalid_response("the field `success` is missing"))
        }
        (_, body) => Err(error_of(Reply { body, ..reply })),
    }
}

/// The error code, where there is one.
pub(super) fn code(reply: &Reply) -> Option<String> {
    reply.text("error_code").filter(|code| !code.is_empty())
}

/// The name of the limit that was reached, where there is one. Anything else than a name is left out, so that
/// programs can show it.
fn limit(reply: &Reply) -> Option<String> {
    let is_name = |name: &String| {
        let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        name.len() <= 40
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(rest)
    };
    reply.text("limit").filter(is_name)
}

/// Converts a reply to the error that it reports.
pub(crate) fn error_of(reply: Reply) -> Error {
    let Value::Object(body) = &reply.body else {
        return Error::invalid_response(format!(
            "status {}, and the body is not an object",
            reply.status
        ));
    };
    let code = code(&reply);
    let message = message(body).unwrap_or_else(|| format!("status {}", reply.status));
    match (reply.status, code.as_deref()) {
        (401, Some(INVALID_API_KEY) | None) => Error::Unauthorized { message, code },
        (429, _) | (503, Some(TOO_MANY_REQUESTS | FACTOR_LOCKED | TOO_MANY_WRONG_KEYS)) => {
            Error::RateLimited {
                message,
                retry_after: reply.retry_after,
                code,
                limit: limit(&reply),
            }
        }
        // Without a code, only the text distinguishes an account that waiting does not help.
        (503, None) if reply.retry_after.is_some() || is_of_the_service(body) => {
            match message.to_ascii_lowercase().contains("suspended") {
                true => rejection(&reply, code, message, body),
                false => Error::RateLimited {
                    message,
                    retry_after: reply.retry_after,
                    code,
                    limit: limit(&reply),
                },
            }
        }
        (500.., Some(UNSPECIFIC) | None) => Error::unavailable(Stage::Response, message),
        (200 | 400.., _) => rejection(&reply, code, message, body),
        (status, _) => Error::invalid_response(format!("the interface has no status {status}")),
    }
}

fn rejection(
    reply: &Reply,
    code: Option<String>,
    message: String,
    body: &Map<String, Value>,
) -> Error {
    let (status, fields) = (reply.status, fields(body));
    Error::Rejected(Box::new(Rejection { status, code, message, fields }))
}

/// Rejects ids in a path that no user, and nothing else, can have: services reply that nothing was
/// found, and not that the id is invalid.
pub(super) fn check_ids(in_path: &Map<String, Value>) -> Result<()> {
    for (name, value) in in_path {
        let text = value.as_str().unwrap_or_default();
        match name.as_str() {
            USER_ID_ON_THE_WIRE | "user_id" if text.parse::<UserId>().is_err() => {
                return Err(user_not_found());
            }
            "uuid" if text.parse::<ApprovalId>().is_err() => return Err(approval_not_found(None)),
            "authenticator_id" if text.parse::<AuthenticatorId>().is_err() => {
                return Err(authenticator_not_found());
            }
            "device_id" if text.parse::<DeviceId>().is_err() => return Err(device_not_found()),
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn user_not_found() -> Error {
    not_found_as(USER_NOT_FOUND, "User not found.")
}

#[cfg(feature = "engine")]
pub(crate) fn no_pending_authenticator() -> Error {
    let message = "The user has no authenticator app that waits to be confirmed: enrol one first.";
    not_found_as(NO_PENDING_AUTHENTICATOR, message)
}

pub(crate) fn authenticator_not_found() -> Error {
    not_found_as(AUTHENTICATOR_NOT_FOUND, "The user has no authenticator app with this id.")
}

pub(crate) fn device_not_found() -> Error {
    not_found_as(DEVICE_NOT_FOUND, "The user has no device with this id.")
}

/// As [`user_not_found`], for a call that names the user by a login name.
#[cfg(feature = "engine")]
pub(crate) fn login_not_found(login: &LoginName) -> Error {
    not_found_as(USER_NOT_FOUND, &format!("User not found: nobody has the login name {login}."))
}

/// The error for a call that only this project's service has, if the reply is that there is no such
/// path. Services send that with any body: an unknown user, and all else that is not found, has a
/// code of its own.
pub(super) fn lacks_call(route: &Route, reply: &Reply) -> Option<Error> {
    let (status, code) = (reply.status, code(reply));
    let is_lacking = match status {
        404 => !code.as_deref().is_some_and(|code| OWN_NOT_FOUND.contains(&code)),
        405 => true,
        401 => !reply.body.is_object(),
        _ => false,
    };
    (route.path.starts_with(OWN_PATHS) && is_lacking).then(|| {
        let mut message = format!(
            "the service has no call {}, which only a service of Seconder has, since version 0.1",
            route.name
        );
        if status == 401 {
            message += "; or a proxy before the service asks for a login of its own";
        }
        Error::Rejected(Box::new(Rejection { status, code, message, fields: BTreeMap::new() }))
    })
}

/// Services send no fields with this one. `uuid` is `None` for a text that cannot be one.
pub(crate) fn approval_not_found(uuid: Option<&ApprovalId>) -> Error {
    let which = uuid.map(|uuid| format!(": {uuid}")).unwrap_or_default();
    let message = format!("Approval request not found{which}");
    not_found(APPROVAL_NOT_FOUND, &message, BTreeMap::new())
}

/// With the message among the fields, where most services repeat it.
fn not_found_as(code: &str, message: &str) -> Error {
    not_found(code, message, [("message".to_owned(), message.to_owned())].into())
}

fn not_found(code: &str, message: &str, fields: BTreeMap<String, String>) -> Error {
    let (code, message) = (Some(code.to_owned()), message.to_owned());
    Error::Rejected(Box::new(Rejection { status: 404, code, message, fields }))
}

/// Returns whether the body is the service's own. A proxy in front of it also replies with 503, but the
/// call may have reached the service then, so it is not safe to retry.
fn is_of_the_service(body: &Map<String, Value>) -> bool {
    ["message", "errors", "success"].into_iter().any(|field| body.contains_key(field))
}

/// The message of a failure.
pub(super) fn message(body: &Map<String, Value>) -> Option<String> {
    let inner = body.get("errors").and_then(|errors| errors.get("message"));
    let own = body.get("message").and_then(scalar);
    own.or_else(|| inner.and_then(scalar))
}

/// The errors of each field. Very old services send a list for each.
fn fields(body: &Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect::<Vec<_>>().join(", "),
        other => scalar(other).unwrap_or_default(),
    };
    let errors = body.get("errors").and_then(Value::as_object);
    let mut fields = BTreeMap::new();
    // Collecting them would sort them first, by code of its own.
    for (name, value) in errors.into_iter().flatten() {
        fields.insert(name.clone(), text(value));
    }
    fields
}

/// The error for a wrong API key, with the code that a service sends.
#[cfg(feature = "engine")]
pub(crate) fn unauthorized(message: &str) -> Error {
    Error::Unauthorized { message: message.into(), code: Some(INVALID_API_KEY.into()) }
}

/// The reply that reports an error of call `C`, in this generation.
pub(crate) fn write<C: Call>(error: &Error, replies: Generation) -> Reply {
    with_success::<C>(describe::<C>(error), replies)
}

/// The reply that reports an error of a request for call `C` before its parameters are known.
pub(super) fn write_early<C: Call>(error: &Error, replies: Generation) -> Reply {
    with_success::<C>(describe::<super::AppDetails>(error), replies)
}

/// Writes `success` as call `C` does.
fn with_success<C: Call>(mut reply: Reply, replies: Generation) -> Reply {
    let older = replies == Generation::Older && C::OLDER != Shape::Same;
    if (C::SUCCESS_IS_TEXT || older)
        && let Some(success) = reply.body.get_mut("success")
    {
        *success = "false".into();
    }
    reply
}

fn describe<C: Call>(error: &Error) -> Reply {
    let plain = |status, code: &str, message: &str| {
        let fields = [("message".to_owned(), message.to_owned())].into();
        body(status, Some(code), message, &fields)
    };
    // The cause is for the operator alone: it may show what is inside.
    let failed =
        |message| Reply { failure: Some(error.to_string()), ..plain(503, UNSPECIFIC, message) };
    match error {
        Error::InvalidArgument { parameter, reason }
        | Error::TokenMalformed { parameter, reason } => {
            let code = if parameter == "phone_number" { C::INVALID_NUMBER } else { C::INVALID };
            let message = match code {
                INVALID_USER => "User was not valid".to_owned(),
                _ => format!("{parameter} {reason}"),
            };
            let field = (parameter.to_string(), reason.to_string());
            let fields = [field, ("message".to_owned(), message.clone())].into();
            body(400, Some(code), &message, &fields)
        }
        Error::Rejected(no) => {
            let reply = body(no.status, no.code.as_deref(), &no.message, &no.fields);
            // A failure behind a relay.
            let has_failed = no.status >= 500 && no.code.as_deref() == Some(UNSPECIFIC);
            Reply { failure: has_failed.then(|| no.message.clone()), ..reply }
        }
        Error::TokenWrong { message, code, .. } => plain(401, code, message),
        Error::Unauthorized { .. } | Error::InvalidCallback { .. } => {
            plain(401, INVALID_API_KEY, "Invalid API key")
        }
        Error::RateLimited { message, retry_after, code, limit } => {
            // A limit that a relay was sent without a code is no decision of the service behind it, and
            // must not become one.
            let fields = [("message".to_owned(), message.clone())].into();
            let code = code.as_deref().map(|code| match code {
                FACTOR_LOCKED => FACTOR_LOCKED,
                TOO_MANY_WRONG_KEYS => TOO_MANY_WRONG_KEYS,
                _ => TOO_MANY_REQUESTS,
            });
            let mut reply = body(503, code, message, &fields);
            if let (Some(limit), Some(body)) = (limit, reply.body.as_object_mut()) {
                body.insert("limit".into(), limit.as_str().into());
            }
            Reply { retry_after: *retry_after, ..reply }
        }
        Error::Unavailable { .. } | Error::InvalidResponse { .. } => {
            failed("The request could not be carried out. Try again later.")
        }
        Error::Cancelled { .. } | Error::Storage { .. } | Error::Internal { .. } => {
            failed("Internal error.")
        }
    }
}

fn body(
    status: u16,
    code: Option<&str>,
    message: &str,
    fields: &BTreeMap<String, String>,
) -> Reply {
    let mut body = Map::new();
    body.insert("message".into(), message.into());
    body.insert("success".into(), false.into());
    body.insert("errors".into(), json!(fields));
    // The one rejection whose fields are also at the top level of the body.
    if code == Some(INVALID_USER) {
        for (name, text) in fields.iter().filter(|(name, _)| *name != "message") {
            body.insert(name.clone(), text.as_str().into());
        }
    }
    if let Some(code) = code {
        body.insert("error_code".into(), code.into());
    }
    Reply::new(status, Value::Object(body))
}
