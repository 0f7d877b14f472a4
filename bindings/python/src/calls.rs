//! Makes calls by name, with parameters and replies as JSON values.

use crate::extra;
use crate::failure::{Failure, invalid};
use crate::fields::{internal, read, read_call, with_user_id, write};
use crate::generated::CALLS;
use crate::values::Params;
use crate::waiting::wait_for_approval;
use seconder::calls::*;
use seconder::engine::{ApprovalRequest, AuditFilter, DeviceType, Engine, RespondToApproval};
use seconder::model::{ApprovalId, DeviceId, Secret, UserId};
use seconder::{Call, Error, Handle, Service};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Makes a call with these parameters.
pub(crate) type Handler = fn(&Service, Params) -> Result<Value, Failure>;

/// Functions other than calls that are called by name.
const OTHERS: &[(&str, Handler)] = &[
    ("register_device", register_device),
    ("open_approvals", open_approvals),
    ("respond_to_approval", respond_to_approval),
    ("api_key", api_key),
    ("clear_sandbox", clear_sandbox),
    ("backup", backup),
    ("audit", audit),
    ("operate", operate),
    ("run_jobs", run_jobs),
    ("wait_for_approval", wait_for_approval),
];

/// The names of the calls of the interface.
pub(crate) fn names() -> Vec<&'static str> {
    ROUTES.iter().map(|route| route.name).collect()
}

/// The names of those that change nothing.
pub(crate) fn questions() -> Vec<&'static str> {
    let all = ROUTES.iter().zip(REPEATABLE);
    all.filter(|(_, changes_nothing)| *changes_nothing).map(|(route, _)| route.name).collect()
}

/// Makes the call with this name.
pub(crate) fn call(service: &Service, name: &str, params: Params) -> Result<Value, Failure> {
    match CALLS.iter().chain(OTHERS).find(|(known, _)| *known == name) {
        Some((_, handler)) => handler(service, params).map(with_user_id),
        None => Err(internal(format!("there is no call {name}"))),
    }
}

pub(crate) fn handle<C: Call>(service: &Service, params: Params) -> Result<Value, Failure>
where
    Engine: Handle<C>,
{
    let call: C = read_call(params)?;
    let (reply, body) = service.handle_with_body(&call)?;
    let mut fields = write(&reply)?;
    extra::keep::<C>(&mut fields, body);
    Ok(fields)
}

/// Returns a value for a right code only. Any other verdict is an exception, so that a caller
/// cannot let a user in by ignoring the reply.
pub(crate) fn check<C: Call<Reply = Verification>>(
    service: &Service,
    params: Params,
) -> Result<Value, Failure>
where
    Engine: Handle<C>,
{
    let call: C = read_call(params)?;
    let (verified, body) = service.handle_with_body(&call)?;
    match verified.verdict {
        Verdict::Right => {
            let mut fields = write(&verified)?;
            extra::keep::<C>(&mut fields, body);
            Ok(fields)
        }
        Verdict::Wrong => {
            let Verification { reused, message, error_code: code, .. } = verified;
            Err(Failure::TokenInvalid { reused, message, code })
        }
        Verdict::NotChecked => Err(Failure::NotChecked { message: verified.message }),
    }
}

/// Returns true for a browser that is recognised only.
pub(crate) fn recognise<C: Call<Reply = BrowserCheck>>(
    service: &Service,
    params: Params,
) -> Result<Value, Failure>
where
    Engine: Handle<C>,
{
    let call: C = read_call(params)?;
    let checked = service.handle(&call)?;
    Ok((checked.recognition == Recognition::Recognised).into())
}

/// Rejects typed text that cannot be a code. Reading the call would report it like any other
/// parameter.
pub(crate) fn typed<T: FromStr<Err = Error>>(
    params: &Params,
    name: &'static str,
) -> Result<(), Failure> {
    let typed = params.get(name).and_then(Value::as_str);
    match typed.map(T::from_str) {
        Some(Err(Error::TokenMalformed { reason, .. })) => {
            Err(Error::TokenMalformed { parameter: name.into(), reason }.into())
        }
        Some(Err(other)) => Err(other.into()),
        Some(Ok(_)) | None => Ok(()),
    }
}

#[derive(Deserialize)]
struct RegisterDevice {
    user_id: UserId,
    device_type: String,
}

fn register_device(service: &Service, params: Params) -> Result<Value, Failure> {
    service.require_engine()?;
    let call: RegisterDevice = read(params)?;
    let (user_id, device_type) = (call.user_id, call.device_type);
    let register = |engine: &Engine| {
        engine.register_device(user_id, DeviceType::named(&device_type, engine.names())?)
    };
    let device = service.with_engine("register_device", Some(user_id), register)?;
    Ok(json!({ "device_id": device.device_id, "secret": device.secret }))
}

#[derive(Deserialize)]
struct OpenApprovals {
    device_id: DeviceId,
    device_secret: Secret,
}

fn open_approvals(service: &Service, params: Params) -> Result<Value, Failure> {
    service.require_engine()?;
    let call: OpenApprovals = read(params)?;
    let list = |engine: &Engine| engine.open_approvals(call.device_id, &call.device_secret);
    let open = service.with_engine("open_approvals", None, list)?;
    let fields = |request: ApprovalRequest| {
        json!({
            "uuid": request.uuid,
            "message": request.message,
            "details": request.details,
            "expires_at": request.expires_at,
            "number_digits": request.number_digits,
        })
    };
    Ok(open.into_iter().map(fields).collect())
}

#[derive(Deserialize)]
struct ResponseParams {
    uuid: ApprovalId,
    device_id: DeviceId,
    device_secret: Secret,
    response: String,
    number: Option<Secret>,
}

fn respond_to_approval(service: &Service, params: Params) -> Result<Value, Failure> {
    service.require_engine()?;
    let ResponseParams { uuid, device_id, device_secret, response, number } = read(params)?;
    let response =
        RespondToApproval { uuid, device_id, device_secret, response: response.parse()?, number };
    let respond = |engine: &Engine| engine.respond_to_approval(&response);
    write(&service.with_engine("respond_to_approval", None, respond)?)
}

fn api_key(service: &Service, _params: Params) -> Result<Value, Failure> {
    Ok(json!({ "api_key": service.require_engine()?.api_key().expose() }))
}

#[derive(Deserialize)]
struct Backup {
    path: PathBuf,
}

fn backup(service: &Service, params: Params) -> Result<Value, Failure> {
    service.require_engine()?;
    let Backup { path } = read(params)?;
    service.with_engine("backup", None, |engine: &Engine| engine.backup(&path, |_, _| {}))?;
    Ok(Value::Null)
}

#[derive(Deserialize)]
struct AuditPage {
    after: Option<String>,
    most: u32,
}

fn audit(service: &Service, params: Params) -> Result<Value, Failure> {
    service.require_engine()?;
    // Each reads its own parameters, so that an error names the one that is invalid.
    let filter: AuditFilter = read(params.clone())?;
    let AuditPage { after, most } = read(params)?;
    let look = |engine: &Engine| engine.audit(&filter, after.as_deref(), most);
    let page = service.with_engine("audit", filter.user_id, look)?;
    Ok(json!({ "entries": page.entries, "next": page.next }))
}

#[derive(Deserialize)]
struct Operate {
    operation: String,
}

fn operate(service: &Service, mut params: Params) -> Result<Value, Failure> {
    let parameters = match params.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    let Operate { operation } = read(params)?;
    Ok(service.operate_json(&operation, parameters)?)
}

#[derive(Deserialize)]
struct RunJobs {
    budget: f64,
}

fn run_jobs(service: &Service, params: Params) -> Result<Value, Failure> {
    service.require_engine()?;
    let RunJobs { budget } = read(params)?;
    let budget = Duration::try_from_secs_f64(budget);
    let budget = budget.map_err(|_| invalid("budget", "be a number of seconds, 0 or more"))?;
    let run = service.with_engine("run_jobs", None, |engine: &Engine| engine.run_jobs(budget))?;
    Ok(json!({
        "sent": run.sent,
        "waiting": run.waiting,
        "failed": run.failed,
        "more": run.more,
    }))
}

fn clear_sandbox(service: &Service, _params: Params) -> Result<Value, Failure> {
    service.with_engine("clear_sandbox", None, Engine::clear_sandbox)?;
    Ok(Value::Null)
}
