//! Operations of operators over HTTP, and the calls of applications that operators make. A server finds the operator by the
//! token in the head of a request before it reads the body.

use super::{Caller, RawReply, RawRequest, encode, rejected};
use crate::engine::Engine;
use crate::engine::operator::{APP, Backup, Operation, Operator, Role};
use crate::model::Secret;
use crate::wire::{Format, Generation, OPERATOR_APP, OPERATOR_PATH, Reply};
use crate::{Error, Result, calls};
use serde_json::{Map, Value};
use std::num::NonZeroI64;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The field of an error of the database, whose message is then that of the database.
pub(crate) const STORAGE: &str = "storage";

impl RawReply {
    /// Returns the reply that reports an error of a request that is no call. Its status and fields are those of an error
    /// of a call.
    pub fn of_error(error: &Error) -> RawReply {
        let reply = calls::failure(error, OPERATOR_PATH, Generation::Current);
        let reply = encode(Format::Json, &reply);
        RawReply { unauthorized: reply.status == 401, ..reply }
    }
}

/// Returns the reply that reports an error to an operator.
fn failed(error: &Error) -> RawReply {
    let mut reply = calls::failure(error, OPERATOR_PATH, Generation::Current);
    if let Error::Storage { message } = error {
        // Unlike an application, an operator can do something about it.
        reply.body["message"] = message.as_str().into();
        reply.body[STORAGE] = true.into();
    }
    encode(Format::Json, &reply)
}

/// Returns the token of an operator in the headers `Authorization` of a request (RFC 6750).
///
/// # Errors
/// [`Error::Rejected`] with status 401, unless there is one header with one token.
pub fn bearer_token<'a>(mut headers: impl Iterator<Item = &'a [u8]>) -> Result<Secret> {
    let missing = || rejected(401, "Operators send their token as `Authorization: Bearer TOKEN`.");
    let (Some(header), None) = (headers.next(), headers.next()) else { return Err(missing()) };
    let header = std::str::from_utf8(header).map_err(|_| missing())?;
    let (scheme, token) = header.split_once(' ').ok_or_else(missing)?;
    let token = token.trim_matches(' ');
    match scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() {
        true => Ok(Secret::new(token)),
        false => Err(missing()),
    }
}

/// Carries out the operation that a request names, or makes a call of an application, for an operator whose token was
/// right. It blocks, as operations and calls do.
pub fn respond_to_operator(engine: &Engine, operator: &Operator, request: RawRequest) -> RawReply {
    let engine = &engine.for_request(request.id.as_deref());
    let replied = catch_unwind(AssertUnwindSafe(|| {
        let app = named_app(&request)?;
        let (path, _) = request.path_and_query();
        match path.strip_prefix(OPERATOR_PATH) {
            Some(name) => operation(engine, operator, app, name, &request),
            None => call(&engine.for_operator(operator, app)?, operator, request),
        }
    }));
    let reply = replied.unwrap_or_else(|_| Err(super::no_reply()));
    let reply = reply.unwrap_or_else(|error| failed(&error));
    RawReply { admitted: true, unauthorized: false, ..reply }
}

fn operation(
    engine: &Engine,
    operator: &Operator,
    app: Option<i64>,
    name: &str,
    request: &RawRequest,
) -> Result<RawReply> {
    if request.method != "POST" {
        return Err(rejected(405, "Operations are requested with POST."));
    }
    if !request.query().is_empty() {
        // It would be ignored, although it may name another user or application.
        return Err(Error::invalid_argument("query", "must be empty: parameters are in the body"));
    }
    if name == Backup::NAME {
        return Err(rejected(
            403,
            "A backup is a file on the machine of the service: make it there.",
        ));
    }
    let parameters = parameters(request)?;
    let named = parameters.get(APP).and_then(Value::as_i64).or(app);
    let reply = engine.operate_as(operator, app, name, parameters)?;
    let app_id = NonZeroI64::new(engine.app_of(operator, named));
    Ok(RawReply { app_id, ..encode(Format::Json, &Reply::new(200, reply)) })
}

/// Makes a call of an application in its place.
fn call(engine: &Engine, operator: &Operator, request: RawRequest) -> Result<RawReply> {
    let routed = match super::route(engine, request) {
        Ok(routed) => routed,
        Err(reply) => return Ok(reply),
    };
    let name = routed.call().route().name;
    // A call that is not listed is for the role that may do everything: `phone_info` may ask a paid provider, and
    // `recognise` decides on a factor, although both only read.
    let role = match name {
        "app_details"
        | "user_status"
        | "app_stats"
        | "phone_verification_status"
        | "check_approval"
        | "find_user"
        | "devices" => Role::Read,
        "delete_user"
        | "unlock_user"
        | "set_number"
        | "remove_device"
        | "remove_authenticator"
        | "forget" => Role::Support,
        _ => Role::Admin,
    };
    operator.require(role, name)?;
    Ok(routed.respond(engine, Caller::Operator))
}

/// Returns the application that a header names.
fn named_app(request: &RawRequest) -> Result<Option<i64>> {
    let mut values = request.values(OPERATOR_APP);
    let Some(value) = values.next() else { return Ok(None) };
    let id = std::str::from_utf8(value).ok().and_then(|id| id.parse().ok());
    // Of two, one would be ignored.
    let id = id.filter(|_| values.next().is_none());
    id.map(Some)
        .ok_or_else(|| Error::invalid_argument(OPERATOR_APP, "must be the id of an application"))
}

/// Reads the parameters; none in an empty body.
fn parameters(request: &RawRequest) -> Result<Map<String, Value>> {
    let body = request.body.as_ref().map_err(|error| Error::from(*error))?;
    if body.is_empty() {
        return Ok(Map::new());
    }
    match Format::Json.read(body) {
        Ok(Value::Object(parameters)) => Ok(parameters),
        _ => Err(Error::invalid_argument("parameters", "must be a JSON object")),
    }
}
