//! The records of a sandbox: messages, callbacks, calls, and the state of the users' phones.

use super::faults::Faults;
use super::signal::Signal;
#[cfg(doc)]
use crate::CallOutcome;
use crate::Error;
use crate::calls::{Call, EnrolAuthenticator, MatchedCall, Route, Verify};
use crate::engine::{Deliver, DeviceRegistered, Message, Outcome, Post, SignedCallback};
use crate::http::RawReply;
use crate::model::{Secret, UserId};
use crate::wire::{Names, Reply};
use serde::Serialize;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most messages, callbacks and calls that are remembered, the latest of each: a sandbox that is never reset may
/// run for long.
const MOST: usize = 10_000;
/// The arguments of calls that are secrets.
#[doc(hidden)]
pub const SECRETS: [&str; 4] = ["token", "code", "verification_code", "device_secret"];

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
    pub(super) calls: Vec<RecordedCall>,
    /// The users of messages that another attempt may deliver, by the id of the message.
    pub(super) receivers: HashMap<String, UserId>,
    /// The calls over HTTP whose responses are to be lost.
    lost: Vec<(&'static str, Map<String, Value>)>,
    /// The number of calls that have ended.
    ended: u64,
    pub(super) devices: HashMap<UserId, DeviceRegistered>,
    pub(super) authenticators: HashMap<UserId, Secret>,
}

/// A call that the application made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecordedCall {
    /// The name of the call, such as `verify`.
    pub name: String,
    /// The arguments that were given, by their names. Codes and secrets are `***`.
    pub arguments: Map<String, Value>,
    /// The outcome, in the words of the log: see [`CallOutcome::name`].
    pub outcome: String,
    /// True if it was made over HTTP.
    #[serde(skip)]
    pub remote: bool,
    /// The number of calls before it.
    #[serde(skip)]
    #[doc(hidden)]
    pub number: u64,
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

    /// Notes which call this thread makes; none has the name "".
    pub(super) fn begin(call: &'static str, user_id: Option<UserId>) {
        CURRENT.set((call, user_id));
    }

    /// Notes how a call over HTTP ended.
    pub(super) fn end(
        &self,
        route: &Route,
        arguments: Map<String, Value>,
        reply: &Result<Reply, Error>,
    ) {
        let outcome = match reply {
            Ok(reply) => self.read(route, &arguments, reply),
            Err(_) => "unauthorized",
        };
        let call = (route.name, arguments);
        let outcome = if self.take_lost(&call) { "unavailable" } else { outcome };
        self.note(call.0, call.1, outcome, true);
    }

    /// Keeps what the phone of a user has from a reply, and returns the outcome of the call.
    pub(super) fn read(
        &self,
        route: &Route,
        arguments: &Map<String, Value>,
        reply: &Reply,
    ) -> &'static str {
        if *route == EnrolAuthenticator::ROUTE
            && let Ok(enrolled) = EnrolAuthenticator::read(reply.clone())
            && let Some(user_id) = user_of(arguments)
        {
            self.kept().authenticators.insert(user_id, enrolled.uri);
        }
        let success = reply.text("success").unwrap_or_default();
        let checked = *route != Verify::ROUTE || success.eq_ignore_ascii_case("true");
        outcome(reply.status, reply.text("error_code").as_deref(), checked)
    }

    /// Notes a call over HTTP that a fault kept from being handled.
    pub(super) fn failed(
        &self,
        route: &Route,
        arguments: Map<String, Value>,
        reply: Option<&RawReply>,
    ) {
        let is_page = |reply: &RawReply| reply.header("content-type") == Some("text/html");
        let outcome = match reply {
            Some(reply) if is_page(reply) => "invalid_response",
            Some(reply) => outcome(reply.status, reply.code.as_deref(), true),
            None => "unavailable",
        };
        self.note(route.name, arguments, outcome, true);
    }

    /// Notes that the response to a call over HTTP, which is about to be handled, is lost.
    pub(super) fn lose(&self, route: &Route, arguments: Map<String, Value>) {
        self.kept().lost.push((route.name, arguments));
    }

    fn take_lost(&self, call: &(&'static str, Map<String, Value>)) -> bool {
        let lost = &mut self.kept().lost;
        lost.iter().position(|other| other == call).map(|place| lost.swap_remove(place)).is_some()
    }

    /// Notes a call, and how it ended. Returns the number of calls before it.
    pub(super) fn note(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        outcome: &str,
        remote: bool,
    ) -> u64 {
        let mut kept = self.kept();
        let number = kept.ended;
        kept.ended += 1;
        let (name, outcome) = (name.to_owned(), outcome.to_owned());
        remember(&mut kept.calls, RecordedCall { name, arguments, outcome, remote, number });
        number
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

/// Returns the arguments of a call over HTTP by their names, without secrets.
pub(super) fn arguments(
    call: &MatchedCall,
    params: &Map<String, Value>,
    names: &Names,
) -> Map<String, Value> {
    let fields = call.fields().iter().chain(params);
    let mut shown =
        Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect());
    // A field that is given twice is rejected by the call.
    let _ = names.body_from_wire(&mut shown);
    let Value::Object(shown) = shown else { return Map::new() };
    without_secrets(shown)
}

/// Returns the arguments that were given, without secrets.
pub(super) fn without_secrets(given: Map<String, Value>) -> Map<String, Value> {
    let mut shown = Map::new();
    for (name, value) in given {
        match value {
            // The interface nests the fields of a new user.
            Value::Object(fields) if name == "user" => shown.extend(without_secrets(fields)),
            Value::Null => {}
            _ if SECRETS.contains(&name.as_str()) => drop(shown.insert(name, "***".into())),
            _ => drop(shown.insert(name, value)),
        }
    }
    if let Some(id) = shown.remove("svc_id") {
        shown.insert("user_id".to_owned(), id);
    }
    if let Some(id) = user_of(&shown) {
        shown.insert("user_id".to_owned(), u64::from(id).into());
    }
    shown
}

/// Returns the user whom a call concerns.
pub(super) fn user_of(arguments: &Map<String, Value>) -> Option<UserId> {
    match arguments.get("user_id")? {
        Value::String(id) => id.parse().ok(),
        id => id.as_u64()?.to_string().parse().ok(),
    }
}

/// Delivers messages to the records, after the application's own function if it is to run.
pub(super) struct Phones {
    pub(super) records: Arc<Records>,
    pub(super) application: Option<Arc<dyn Deliver>>,
}

impl Deliver for Phones {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        let outcome = self.attempt(message, "");
        outcome.reason().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    fn attempt(&self, message: &Message, route: &str) -> Outcome {
        let (call, user_id) = CURRENT.with_borrow(Clone::clone);
        if self.records.faults.take(call, true).is_some() {
            return Outcome::Permanent("the gateway did not accept the message".to_owned());
        }
        let outcome = match &self.application {
            Some(application) => application.attempt(message, route),
            None => Outcome::Sent(None),
        };
        let mut kept = self.records.kept();
        let user_id = user_id.or_else(|| kept.receivers.remove(&message.id));
        if matches!(outcome, Outcome::Sent(_)) {
            remember(&mut kept.messages, SentMessage { user_id, message: message.clone() });
            drop(kept);
            self.records.sent.raise();
        } else if let Some(user_id) = user_id {
            kept.receivers.insert(message.id.clone(), user_id);
        }
        outcome
    }

    fn longest_attempt(&self, route: &str) -> Duration {
        self.application.as_ref().map_or(Duration::from_secs(30), |own| own.longest_attempt(route))
    }
}

/// Posts callbacks to the records, and to the application if it is to receive them.
pub(super) struct Receiver {
    pub(super) records: Arc<Records>,
    pub(super) application: Option<Arc<dyn Post>>,
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
