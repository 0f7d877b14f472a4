//! The operations of a test on a sandbox.

use super::World;
use super::faults::{Injection, STATUS};
use super::params::{Params, invalid};
use super::phones::missing;
use super::records::{Records, SentMessage};
use crate::engine::{ApprovalResponse, Clock, DeviceType, SignedCallback};
use crate::http::SandboxFault;
use crate::model::{ApprovalId, Secret, UserId};
use crate::{Error, Result};
use serde_json::{Value, json};
use std::time::Duration;

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
    let end = match (params.seconds("seconds")?, params.time("until")?) {
        (Some(seconds), None) => world.clock.now() + seconds,
        (None, Some(until)) => until,
        _ => return Err(invalid("seconds", "or until is needed, and not both")),
    };
    world.clock.pass_until(end)?;
    Ok(shown_clock(world))
}

fn needed<T>(value: Option<T>, name: &'static str) -> Result<T> {
    value.ok_or_else(|| invalid(name, "is missing"))
}

fn authenticator_code(world: &World, params: &Params) -> Result<Value> {
    let code = world.authenticator_code(needed(params.user_id()?, "user_id")?)?;
    Ok(json!({ "code": code.expose() }))
}

fn add_device(world: &World, params: &Params) -> Result<Value> {
    let user_id = needed(params.user_id()?, "user_id")?;
    let kind = match params.text("device_type")? {
        Some(kind) => DeviceType::named(&kind, world.engine.names())?,
        None => DeviceType::Android,
    };
    let device = world.add_device(user_id, kind)?;
    Ok(json!({ "device_id": device.device_id, "secret": device.secret.expose() }))
}

fn pending(world: &World, params: &Params) -> Result<Value> {
    let open = world.pending(needed(params.user_id()?, "user_id")?)?;
    let shown = open.into_iter().map(|request| {
        json!({
            "uuid": request.uuid.as_str(),
            "message": request.message,
            "details": request.details,
            "expires_at": request.expires_at,
            "number_digits": request.number_digits,
        })
    });
    Ok(json!({ "pending": shown.collect::<Vec<_>>() }))
}

fn respond(world: &World, params: &Params, response: ApprovalResponse) -> Result<Value> {
    let uuid = params.parsed::<ApprovalId>("uuid", "must be the id of an approval request")?;
    let (user_id, uuid) = match (params.user_id()?, uuid) {
        (Some(user_id), None) => (user_id, world.latest(user_id)?),
        (None, Some(uuid)) => (world.user_of(&uuid)?, uuid),
        _ => return Err(invalid("user_id", "or uuid is needed, and not both")),
    };
    let number = params.text("number")?.map(Secret::new);
    let (approval, callback) = world.respond(user_id, &uuid, response, number)?;
    let callback = callback.as_ref().map(shown_callback);
    Ok(json!({ "uuid": uuid.as_str(), "status": approval.status.name(), "callback": callback }))
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
    let run = world.run_jobs()?;
    let (sent, waiting, failed, more) = (run.sent, run.waiting, run.failed, run.more);
    Ok(json!({ "sent": sent, "waiting": waiting, "failed": failed, "more": more }))
}

fn failing(world: &World, params: &Params) -> Result<Value> {
    let kind: SandboxFault = needed(params.text("fault")?, "fault")?.parse()?;
    let mut injection = Injection::new(kind);
    injection.calls = params.list("calls")?;
    injection.times = params.parsed("times", "must be a number")?;
    if let Some(wait) = params.seconds("retry_after")? {
        injection.retry_after = wait;
    }
    if let Some(latency) = params.seconds("seconds")? {
        injection.latency = latency;
    }
    if let Some(status) = params.parsed("status", STATUS)? {
        injection.status = status;
    }
    Ok(json!({ "id": world.records.faults.inject(injection)?.id }))
}

fn end_fault(world: &World, params: &Params) -> Result<Value> {
    let faults = &world.records.faults;
    let Some(id) = params.parsed("id", "must be the id of a fault")? else {
        faults.end_all();
        return Ok(json!({ "faults": faults.shown() }));
    };
    let fault = faults.find(id).ok_or_else(|| missing(format!("there is no fault {id}")))?;
    fault.end();
    Ok(fault.shown())
}
