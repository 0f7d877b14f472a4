//! The records of a sandbox: messages, callbacks, calls, and the state of the users' phones.

use super::faults::Faults;
use super::signal::Signal;
use crate::Error;
use crate::calls::{Call, EnrolAuthenticator, MatchedCall, Route, Verify};
use crate::engine::{Deliver, DeviceRegistered, Message, Outcome, Post, SignedCallback};
use crate::http::RawReply;
use crate::model::{Secret, UserId};
use crate::wire::{Names, Reply};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most messages, callbacks and calls that are remembered, the latest of each: a sandbox that is never reset may
/// run for long.
const MOST: usize = 10_000;
/// The arguments of calls that are secrets.
const SECRETS: [&str; 4] = ["token", "code", "verification_code", "device_secret"];

/// The records of a sandbox.
#[derive(Default)]
pub(super) struct Records {
    pub(super) faults: Faults,
    kept: Mutex<Kept>,
    /// Raised by each message.
    pub(super) sent: Signal,
}

#[derive(Default)]
pub(super) struct Kept {
    pub(super) messages: Vec<SentMessage>,
    pub(super) callbacks: Vec<SignedCallback>,
    pub(super) calls: Vec<Value>,
    pub(super) devices: HashMap<UserId, DeviceRegistered>,
    pub(super) authenticators: HashMap<UserId, Secret>,
}

pub(super) struct SentMessage {
    pub(super) user_id: Option<UserId>,
    pub(super) message: Message,
}

thread_local! {
    /// The call that this thread makes: the engine delivers its messages in the same thread.
    static CURRENT: RefCell<(&'static str, Option<UserId>)> = const { RefCell::new(("", None)) };
}

impl Records {
    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes which call this thread makes.
    pub(super) fn begin(call: &'static str, user_id: Option<UserId>) {
        CURRENT.set((call, user_id));
    }

    /// Notes how a call ended.
    pub(super) fn end(&self, route: &Route, arguments: Value, reply: &Result<Reply, Error>) {
        let outcome = match reply {
            Ok(reply) => {
                let success = reply.text("success").unwrap_or_default();
                let checked = *route != Verify::ROUTE || success.eq_ignore_ascii_case("true");
                outcome(reply.status, reply.text("error_code").as_deref(), checked)
            }
            Err(_) => "unauthorized",
        };
        let mut kept = self.kept();
        if let Ok(reply) = reply
            && *route == EnrolAuthenticator::ROUTE
            && let Ok(enrolled) = EnrolAuthenticator::read(reply.clone())
            && let Some(user_id) = user_of(&arguments)
        {
            kept.authenticators.insert(user_id, enrolled.uri);
        }
        let name = route.name;
        let noted = json!({ "name": name, "arguments": arguments, "outcome": outcome });
        remember(&mut kept.calls, noted);
    }

    /// Notes a call that a fault kept from being handled.
    pub(super) fn failed(&self, route: &Route, arguments: &Value, reply: Option<&RawReply>) {
        let is_page = |reply: &RawReply| reply.header("content-type") == Some("text/html");
        let outcome = match reply {
            Some(reply) if is_page(reply) => "invalid_response",
            Some(reply) => outcome(reply.status, reply.code.as_deref(), true),
            None => "unavailable",
        };
        let name = route.name;
        let noted = json!({ "name": name, "arguments": arguments, "outcome": outcome });
        remember(&mut self.kept().calls, noted);
    }
}

fn remember<T>(all: &mut Vec<T>, one: T) {
    if all.len() == MOST {
        all.remove(0);
    }
    all.push(one);
}

/// Returns the outcome of a call, in the words of the log.
fn outcome(status: u16, code: Option<&str>, checked: bool) -> &'static str {
    match (status, code) {
        (200, _) if checked => "ok",
        (200, _) => "token_not_checked",
        (401, Some("60019")) => "token_reused",
        (401, Some("60020" | "60022")) => "token_wrong",
        (401, Some("60001")) => "unauthorized",
        (500.., None | Some("60000")) => "unavailable",
        (429 | 503, _) => "rate_limited",
        _ => "rejected",
    }
}

/// Returns the arguments of a call by their names, without secrets.
pub(super) fn arguments(call: &MatchedCall, params: &Map<String, Value>, names: &Names) -> Value {
    let mut shown = Map::new();
    for (name, value) in call.fields().iter().chain(params) {
        match value {
            // The interface nests the fields of a new user.
            Value::Object(fields) if name == "user" => shown.extend(fields.clone()),
            Value::Null => {}
            _ => drop(shown.insert(name.clone(), value.clone())),
        }
    }
    let mut shown = Value::Object(shown);
    // A field that is given twice is rejected by the call.
    let _ = names.body_from_wire(&mut shown);
    let Value::Object(mut shown) = shown else { return Value::Null };
    if let Some(id) = shown.remove("svc_id") {
        shown.insert("user_id".to_owned(), id);
    }
    if let Some(id) = shown.get("user_id").and_then(Value::as_str).and_then(|id| id.parse().ok()) {
        let id: u64 = id;
        shown.insert("user_id".to_owned(), id.into());
    }
    for name in SECRETS {
        if let Some(value) = shown.get_mut(name) {
            *value = "***".into();
        }
    }
    shown.into()
}

/// Returns the user whom a call concerns.
pub(super) fn user_of(arguments: &Value) -> Option<UserId> {
    arguments.get("user_id")?.as_u64()?.to_string().parse().ok()
}

/// Delivers messages to the records.
pub(super) struct Phones(pub(super) Arc<Records>);

impl Deliver for Phones {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        let (call, user_id) = CURRENT.with_borrow(Clone::clone);
        if self.0.faults.take(call, true).is_some() {
            return Err("the gateway did not accept the message".to_owned());
        }
        let mut kept = self.0.kept();
        remember(&mut kept.messages, SentMessage { user_id, message: message.clone() });
        drop(kept);
        self.0.sent.raise();
        Ok(())
    }
}

/// Posts callbacks to the records, and to the application if it is to receive them.
pub(super) struct Receiver {
    pub(super) records: Arc<Records>,
    pub(super) application: Option<Box<dyn Post>>,
}

impl Post for Receiver {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        let outcome = self.attempt(callback);
        outcome.reason().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        remember(&mut self.records.kept().callbacks, callback.clone());
        match &self.application {
            Some(application) => application.attempt(callback),
            None => Outcome::Sent(None),
        }
    }

    fn housekeep(&self) {
        if let Some(application) = &self.application {
            application.housekeep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let mut all = Vec::new();
        (0..MOST + 5).for_each(|number| remember(&mut all, number));
        assert_eq!((all.len(), all[0], all.last()), (MOST, 5, Some(&(MOST + 4))));
    }
}
