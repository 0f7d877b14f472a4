//! The calls by their names, from values to values.

use crate::extra;
use crate::failure::Failure;
use crate::fields::{internal, read, read_call, with_user_id, write};
use crate::values::Params;
use crate::waiting::wait_for_approval;
use seconder::calls::*;
use seconder::engine::{ApprovalRequest, Engine, RespondToApproval};
use seconder::model::{ApprovalId, DeviceId, Secret, UserId};
use seconder::{Call, Handle, Service};
use serde::Deserialize;
use serde_json::{Value, json};

type Ask = fn(&Service, Params) -> Result<Value, Failure>;

const CALLS: &[(&str, Ask)] = &[
    (CreateUser::ROUTE.name, ask::<CreateUser>),
    (RequestSms::ROUTE.name, ask::<RequestSms>),
    (RequestCall::ROUTE.name, ask::<RequestCall>),
    (Verify::ROUTE.name, verify),
    (DeleteUser::ROUTE.name, ask::<DeleteUser>),
    (RegisterActivity::ROUTE.name, ask::<RegisterActivity>),
    (AppDetails::ROUTE.name, ask::<AppDetails>),
    (UserStatus::ROUTE.name, ask::<UserStatus>),
    (AppStats::ROUTE.name, ask::<AppStats>),
    (StartPhoneVerification::ROUTE.name, ask::<StartPhoneVerification>),
    (PhoneInfo::ROUTE.name, ask::<PhoneInfo>),
    (CreateApproval::ROUTE.name, ask::<CreateApproval>),
    (CheckApproval::ROUTE.name, ask::<CheckApproval>),
    (CheckPhoneVerification::ROUTE.name, ask::<CheckPhoneVerification>),
    (EnrolAuthenticator::ROUTE.name, ask::<EnrolAuthenticator>),
    ("register_device", register_device),
    ("open_approvals", open_approvals),
    ("respond_to_approval", respond_to_approval),
    ("api_key", api_key),
    ("wait_for_approval", wait_for_approval),
];

/// The calls of the interface, by name.
pub(crate) fn names() -> Vec<&'static str> {
    ROUTES.iter().map(|route| route.name).collect()
}

/// Makes the call of that name.
pub(crate) fn call(service: &Service, name: &str, params: Params) -> Result<Value, Failure> {
    match CALLS.iter().find(|(known, _)| *known == name) {
        Some((_, ask)) => ask(service, params).map(with_user_id),
        None => Err(internal(format!("there is no call {name}"))),
    }
}

fn ask<C: Call>(service: &Service, params: Params) -> Result<Value, Failure>
where
    Engine: Handle<C>,
{
    let call: C = read_call(params)?;
    let (reply, body) = service.handle_with_body(&call)?;
    let mut told = write(&reply)?;
    extra::keep::<C>(&mut told, body);
    Ok(told)
}

/// Only a right code has a value; all else is a failure, so no caller can forget to look.
fn verify(service: &Service, params: Params) -> Result<Value, Failure> {
    let call: Verify = read_call(params)?;
    let (found, body) = service.handle_with_body(&call)?;
    match found.verdict {
        Verdict::Right => {
            let mut told = write(&found)?;
            extra::keep::<Verify>(&mut told, body);
            Ok(told)
        }
        Verdict::Wrong => {
            Err(Failure::TokenInvalid { reused: found.reused, message: found.message })
        }
        Verdict::NotChecked => Err(Failure::NotChecked { message: found.message }),
    }
}

#[derive(Deserialize)]
struct RegisterDevice {
    user_id: UserId,
    device_type: String,
}

fn register_device(service: &Service, params: Params) -> Result<Value, Failure> {
    let engine = service.require_engine()?;
    let call: RegisterDevice = read(params)?;
    let device = engine.register_device(call.user_id, call.device_type.parse()?)?;
    Ok(json!({ "device_id": device.device_id, "secret": device.secret }))
}

#[derive(Deserialize)]
struct OpenApprovals {
    device_id: DeviceId,
    device_secret: Secret,
}

fn open_approvals(service: &Service, params: Params) -> Result<Value, Failure> {
    let engine = service.require_engine()?;
    let call: OpenApprovals = read(params)?;
    let open = engine.open_approvals(call.device_id, &call.device_secret)?;
    let shown = |request: ApprovalRequest| {
        json!({
            "uuid": request.uuid,
            "message": request.message,
            "details": request.details,
            "expires_at": request.expires_at,
        })
    };
    Ok(open.into_iter().map(shown).collect())
}

#[derive(Deserialize)]
struct ResponseParams {
    uuid: ApprovalId,
    device_id: DeviceId,
    device_secret: Secret,
    response: String,
}

fn respond_to_approval(service: &Service, params: Params) -> Result<Value, Failure> {
    let engine = service.require_engine()?;
    let ResponseParams { uuid, device_id, device_secret, response } = read(params)?;
    let response =
        RespondToApproval { uuid, device_id, device_secret, response: response.parse()? };
    write(&engine.respond_to_approval(&response)?)
}

fn api_key(service: &Service, _params: Params) -> Result<Value, Failure> {
    Ok(json!({ "api_key": service.require_engine()?.api_key().expose() }))
}
