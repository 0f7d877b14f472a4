//! The operations of a test on a sandbox.

use super::params::{Params, invalid};
use super::records::{Records, SentMessage};
use super::{World, faults::Wanted};
use crate::calls::{CheckApproval, ROUTES};
use crate::engine::{
    ApprovalResponse, Clock, DeviceRegistered, DeviceType, RespondToApproval, SignedCallback,
};
use crate::model::{ApprovalId, Secret, UserId};
use crate::otp::Totp;
use crate::{Error, Handle, Rejection, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// The time that one run of the jobs may take.
const JOBS: Duration = Duration::from_secs(20);
const STATUS: &str = "must be a status of HTTP, 200 to 599";

/// The criteria by which a test looks for a message.
pub(super) struct Search {
    user_id: Option<UserId>,
    digits: String,
    via: Option<String>,
    limit: usize,
    pub(super) wait: Duration,
    codes_only: bool,
}

impl Search {
    pub(super) fn of_messages(params: &Params) -> Result<Search> {
        let via = params.text("via")?.map(|via| via.into_owned());
        if via.as_deref().is_some_and(|via| !["sms", "call"].contains(&via)) {
            return Err(invalid("via", "must be sms or call"));
        }
        let limit = params.parsed("limit", "must be a number")?.unwrap_or(usize::MAX);
        Ok(Search { via, limit, codes_only: false, ..Search::of(params)? })
    }

    pub(super) fn of_code(params: &Params) -> Result<Search> {
        let search = Search::of(params)?;
        match search.user_id.is_some() == search.digits.is_empty() {
            true => Ok(search),
            false => Err(invalid("user_id", "or to is needed, and not both")),
        }
    }

    fn of(params: &Params) -> Result<Search> {
        let to = params.text("to")?.unwrap_or_default();
        let digits: String = to.chars().filter(char::is_ascii_digit).collect();
        if !to.is_empty() && digits.is_empty() {
            return Err(invalid("to", "must be a number, or its last digits"));
        }
        let wait = params.seconds("wait")?.unwrap_or_default();
        if wait > Duration::from_secs(600) {
            return Err(invalid("wait", "must be at most 600 seconds"));
        }
        let (user_id, via) = (params.user_id()?, None);
        Ok(Search { user_id, digits, via, limit: 1, wait, codes_only: true })
    }

    /// Returns the messages that match, the newest first.
    pub(super) fn run(&self, records: &Records) -> Vec<Value> {
        let matches = |sent: &&SentMessage| {
            let SentMessage { user_id, message } = sent;
            self.user_id.is_none_or(|wanted| *user_id == Some(wanted))
                && (self.digits.is_empty() || message.to.ends_with(&self.digits))
                && self.via.as_deref().is_none_or(|via| message.via.name() == via)
                && !(self.codes_only && message.code.is_empty())
        };
        let kept = records.kept();
        kept.messages.iter().rev().filter(matches).take(self.limit).map(shown_message).collect()
    }
}

fn shown_message(sent: &SentMessage) -> Value {
    let SentMessage { user_id, message } = sent;
    json!({
        "id": message.id,
        "user_id": user_id,
        "to": message.to,
        "via": message.via.name(),
        "text": message.text,
        "language": message.language,
        "code": message.code,
        "expires_at": message.expires_at,
    })
}

/// Carries out an operation. The names of its parameters were checked. It may block.
pub(super) fn run(
    world: &World,
    name: &str,
    search: Option<&Search>,
    params: &Params,
) -> Result<Value> {
    let found = search.map(|search| search.run(&world.records)).unwrap_or_default();
    match name {
        "messages" => Ok(json!({ "messages": found })),
        "code" => match found.first() {
            Some(found) => Ok(json!({ "code": found["code"], "message": found })),
            None => Err(missing("No code was sent there.".to_owned())),
        },
        "clock" => Ok(shown_clock(world)),
        "advance" => advance(world, params),
        "authenticator_code" => authenticator_code(world, params),
        "add_device" => add_device(world, params),
        "pending" => pending(world, params),
        "approve" => respond(world, params, ApprovalResponse::Approve),
        "deny" => respond(world, params, ApprovalResponse::Deny),
        "report" => respond(world, params, ApprovalResponse::Report),
        "callbacks" => {
            let shown: Vec<_> = world.records.kept().callbacks.iter().map(shown_callback).collect();
            Ok(json!({ "callbacks": shown }))
        }
        "run_jobs" => run_jobs(world),
        "failing" => failing(world, params),
        "end_fault" => end_fault(world, params),
        "faults" => Ok(json!({ "faults": world.records.faults.shown() })),
        "calls" => Ok(json!({ "calls": world.records.kept().calls })),
        _ => Err(Error::Internal { message: format!("{name} is not implemented") }),
    }
}

pub(super) fn shown_clock(world: &World) -> Value {
    json!({ "now": world.clock.now().as_secs_f64(), "still": world.clock.is_still() })
}

fn advance(world: &World, params: &Params) -> Result<Value> {
    let now = match (params.seconds("seconds")?, params.time("until")?) {
        (Some(seconds), None) => world.clock.advance(seconds),
        (None, Some(until)) => world.clock.advance_until(until),
        _ => return Err(invalid("seconds", "or until is needed, and not both")),
    };
    Ok(json!({ "now": now.as_secs_f64(), "still": world.clock.is_still() }))
}

fn needed<T>(value: Option<T>, name: &'static str) -> Result<T> {
    value.ok_or_else(|| invalid(name, "is missing"))
}

fn authenticator_code(world: &World, params: &Params) -> Result<Value> {
    let user_id = needed(params.user_id()?, "user_id")?;
    let uri = world.records.kept().authenticators.get(&user_id).cloned();
    let uri = uri.ok_or_else(|| {
        missing(format!(
            "user {user_id} has no authenticator app: make the call enrol_authenticator"
        ))
    })?;
    let code = Totp::from_uri(uri.expose())?.code(world.clock.now().as_secs());
    Ok(json!({ "code": code.expose() }))
}

fn add_device(world: &World, params: &Params) -> Result<Value> {
    let user_id = needed(params.user_id()?, "user_id")?;
    let kind = match params.text("device_type")? {
        Some(kind) => DeviceType::named(&kind, world.engine.names())?,
        None => DeviceType::Android,
    };
    let device = register(world, user_id, kind)?;
    Ok(json!({ "device_id": device.device_id, "secret": device.secret.expose() }))
}

fn register(world: &World, user_id: UserId, kind: DeviceType) -> Result<DeviceRegistered> {
    let device = world.engine.register_device(user_id, kind)?;
    world.records.kept().devices.insert(user_id, device.clone());
    Ok(device)
}

/// Returns the device of a user, and registers one if the user has no device.
fn device(world: &World, user_id: UserId) -> Result<DeviceRegistered> {
    let known = world.records.kept().devices.get(&user_id).cloned();
    known.map_or_else(|| register(world, user_id, DeviceType::Android), Ok)
}

fn pending(world: &World, params: &Params) -> Result<Value> {
    let user_id = needed(params.user_id()?, "user_id")?;
    let device = device(world, user_id)?;
    let open = world.engine.open_approvals(device.device_id, &device.secret)?;
    let shown = open.into_iter().map(|request| {
        json!({
            "uuid": request.uuid.as_str(),
            "message": request.message,
            "details": request.details,
            "expires_at": request.expires_at,
        })
    });
    Ok(json!({ "pending": shown.collect::<Vec<_>>() }))
}

fn respond(world: &World, params: &Params, response: ApprovalResponse) -> Result<Value> {
    let uuid = params.parsed::<ApprovalId>("uuid", "must be the id of an approval request")?;
    let (device, uuid) = match (params.user_id()?, uuid) {
        (Some(user_id), None) => {
            let device = device(world, user_id)?;
            let mut open = world.engine.open_approvals(device.device_id, &device.secret)?;
            let latest = open.pop().map(|request| request.uuid);
            let none = || missing(format!("user {user_id} has no pending approval request"));
            (device, latest.ok_or_else(none)?)
        }
        (None, Some(uuid)) => {
            let approval = world.engine.handle(&CheckApproval::new(uuid.clone()))?;
            let user_id = approval.user_id.ok_or_else(|| missing("its user is gone".to_owned()))?;
            (device(world, user_id)?, uuid)
        }
        _ => return Err(invalid("user_id", "or uuid is needed, and not both")),
    };
    let DeviceRegistered { device_id, secret: device_secret, .. } = device;
    let number = params.text("number")?.map(Secret::new);
    let response =
        RespondToApproval { uuid: uuid.clone(), device_id, device_secret, response, number };
    let approval = world.engine.respond_to_approval(&response)?;
    // The last callback may belong to another request.
    let kept = world.records.kept();
    let is_of_it = |callback: &&SignedCallback| mentions(callback, uuid.as_str());
    let callback = kept.callbacks.iter().rev().find(is_of_it).map(shown_callback);
    let uuid = uuid.as_str();
    Ok(json!({ "uuid": uuid, "status": approval.status.name(), "callback": callback }))
}

fn mentions(callback: &SignedCallback, uuid: &str) -> bool {
    callback.query.contains(uuid) || String::from_utf8_lossy(&callback.body).contains(uuid)
}

fn shown_callback(callback: &SignedCallback) -> Value {
    let headers = callback.headers.iter().cloned();
    let headers: serde_json::Map<_, Value> =
        headers.map(|(name, value)| (name, value.into())).collect();
    json!({
        "url": callback.url.to_string(),
        "method": callback.method.name(),
        "query": callback.query,
        "body": String::from_utf8_lossy(&callback.body),
        "headers": headers,
    })
}

fn run_jobs(world: &World) -> Result<Value> {
    Records::begin("run_jobs", None);
    let run = world.engine.run_jobs(JOBS)?;
    let (sent, waiting, failed, more) = (run.sent, run.waiting, run.failed, run.more);
    Ok(json!({ "sent": sent, "waiting": waiting, "failed": failed, "more": more }))
}

fn failing(world: &World, params: &Params) -> Result<Value> {
    let calls = params.list("calls")?;
    if let Some(unknown) = calls.iter().find(|name| !ROUTES.iter().any(|call| call.name == **name))
    {
        return Err(invalid(
            "calls",
            format!("has {unknown:?}, which is no call of the interface"),
        ));
    }
    let fault = needed(params.text("fault")?, "fault")?.into_owned();
    let status = params.parsed("status", STATUS)?.unwrap_or(500);
    if !(200..=599).contains(&status) {
        return Err(invalid("status", STATUS));
    }
    let id = world.records.faults.inject(Wanted {
        fault,
        calls,
        times: params.parsed("times", "must be a number")?,
        retry_after: params.seconds("retry_after")?.unwrap_or(Duration::from_secs(30)),
        seconds: params.seconds("seconds")?.unwrap_or(Duration::from_secs(1)),
        status,
    })?;
    Ok(json!({ "id": id }))
}

fn end_fault(world: &World, params: &Params) -> Result<Value> {
    let faults = &world.records.faults;
    match params.parsed("id", "must be the id of a fault")? {
        Some(id) => faults.end(id).ok_or_else(|| missing(format!("there is no fault {id}"))),
        None => {
            faults.end_all();
            Ok(json!({ "faults": faults.shown() }))
        }
    }
}

/// Returns the error that nothing fits the request.
fn missing(message: String) -> Error {
    Error::Rejected(Box::new(Rejection { status: 404, message, ..Rejection::default() }))
}
