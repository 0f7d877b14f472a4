//! The meaning of a provider's response.

use super::pointer::{Pointer, text};
use super::statuses::Statuses;
use crate::client::Response;
use seconder::engine::Outcome;
use seconder::wire::json;
use serde_json::Value;
use std::time::Duration;

/// Ids of messages are shorter. What is longer is not one, and would fill the database.
const LONGEST_ID: usize = 128;
/// The most parts of a text that Seconder sends.
const MOST_PARTS: usize = 20;
/// The longest wait that a provider may ask for. One that asks for more does not know when it can send: the route
/// decides then.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// The rules by which the responses of a provider are read.
pub(super) struct Rules {
    pub(super) success: Statuses,
    pub(super) permanent: Statuses,
    pub(super) retry: Statuses,
    pub(super) pointer: Option<Pointer>,
    pub(super) value: Option<String>,
    pub(super) text: Option<String>,
    pub(super) code: Option<Pointer>,
    pub(super) permanent_codes: Vec<String>,
    pub(super) retry_codes: Vec<String>,
    pub(super) number: Option<Pointer>,
    pub(super) number_codes: Vec<String>,
    pub(super) number_status: Option<Statuses>,
    pub(super) id: Option<Pointer>,
    pub(super) reason: Option<Pointer>,
}

/// The result of checking the body of a response with a status of success for the acceptance of the message.
pub(super) enum Accepted {
    Yes,
    No,
    Unclear(&'static str),
}

impl Rules {
    /// Returns the outcome of the message. The reason may repeat what the provider wrote.
    pub(super) fn outcome(&self, response: &Response) -> Outcome {
        let body = response.body.as_ref().ok();
        let json = body.and_then(|body| json::read(body).ok());
        let wrong = |what: &str| self.wrong(response, json.as_ref(), what);
        if self.success.contains(response.status) {
            match self.accepted(response, json.as_ref()) {
                Accepted::Yes => return Outcome::Sent(self.id(response, json.as_ref())),
                Accepted::Unclear(what) => return Outcome::Ambiguous(wrong(what)),
                Accepted::No => {}
            }
        }
        let code = self.code(json.as_ref());
        let is_in = |codes: &[String]| code.as_ref().is_some_and(|code| codes.contains(code));
        let retry = |what: &str| {
            let after = response.retry_after.map(|after| after.min(LONGEST_WAIT));
            Outcome::Retry { after, reason: wrong(what) }
        };
        match response.status {
            _ if self.refuses_number(response, json.as_ref()) => Outcome::NumberRefused(wrong("")),
            _ if is_in(&self.permanent_codes) => Outcome::Permanent(wrong("")),
            _ if is_in(&self.retry_codes) => retry(""),
            status if self.success.contains(status) => retry(", but the message was not accepted"),
            300..=399 => {
                let to = response.redirect.as_deref().map(|host| format!(" to {host}"));
                let to = to.unwrap_or_default();
                Outcome::Permanent(wrong(&format!(", a redirect{to}, which is not followed")))
            }
            status @ (401 | 403) if self.permanent.contains(status) => Outcome::Permanent(wrong(
                ": THE PROVIDER DOES NOT ACCEPT THE CREDENTIALS of this route",
            )),
            status if self.permanent.contains(status) => Outcome::Permanent(wrong("")),
            status if self.retry.contains(status) => retry(""),
            _ => Outcome::Ambiguous(wrong(", which leaves open whether the message was sent")),
        }
    }

    pub(super) fn accepted(&self, response: &Response, json: Option<&Value>) -> Accepted {
        if self.pointer.is_none() && self.text.is_none() {
            return Accepted::Yes;
        }
        let body = match &response.body {
            Ok(body) => body,
            Err(why) => return Accepted::Unclear(why),
        };
        if let Some(text) = &self.text
            && !String::from_utf8_lossy(body).contains(text.as_str())
        {
            return Accepted::No;
        }
        let Some(pointer) = &self.pointer else { return Accepted::Yes };
        let Some(json) = json else { return Accepted::Unclear(", but the body is not JSON") };
        let found = pointer.all(json);
        let fine = found.iter().filter(|value| self.is_fine(value)).count();
        match fine {
            _ if found.is_empty() => Accepted::Unclear(", but the body has no result"),
            0 => Accepted::No,
            some if some < found.len() => Accepted::Unclear(", but only a part was accepted"),
            _ => Accepted::Yes,
        }
    }

    /// Returns whether a value means success: the one that is set, or any that is not empty.
    fn is_fine(&self, found: &Value) -> bool {
        match &self.value {
            Some(value) => text(found).as_ref() == Some(value),
            None => match found {
                Value::Null | Value::Bool(false) => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                Value::Bool(true) | Value::Number(_) => true,
            },
        }
    }

    /// Returns the provider's code of the failure. Where several parts of a message have one, it is the first that does
    /// not mean success.
    pub(super) fn code(&self, json: Option<&Value>) -> Option<String> {
        let pointer = self.code.as_ref().or(self.pointer.as_ref())?;
        let codes = pointer.all(json?).into_iter().filter_map(text);
        codes.into_iter().find(|code| self.value.as_ref() != Some(code))
    }

    /// Returns whether it is the number that the provider refuses.
    fn refuses_number(&self, response: &Response, json: Option<&Value>) -> bool {
        if self.number_status.as_ref().is_some_and(|statuses| statuses.contains(response.status)) {
            return true;
        }
        let found = match &self.number {
            Some(pointer) => json.and_then(|json| pointer.all(json).into_iter().find_map(text)),
            None => self.code(json),
        };
        found.is_some_and(|code| self.number_codes.contains(&code))
    }

    fn id(&self, response: &Response, json: Option<&Value>) -> Option<String> {
        let plain = |id: &String| {
            (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if let Some(id) = &response.id {
            return Some(id.clone()).filter(plain);
        }
        let ids = self.id.as_ref()?.all(json?).into_iter().filter_map(text).filter(plain);
        let ids: Vec<String> = ids.take(MOST_PARTS).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    /// Returns the reason: the status, its meaning, the provider's code, and its text. It is shortened once the secrets
    /// are removed, because a part of one would not be recognised.
    pub(super) fn wrong(&self, response: &Response, json: Option<&Value>, what: &str) -> String {
        let code = self.code(json).map(|code| format!(", code {code}")).unwrap_or_default();
        let body = || {
            let body = String::from_utf8_lossy(response.body.as_ref().ok()?);
            let line = body.trim_start().lines().next().unwrap_or_default().trim();
            let is_for_people = !line.is_empty() && !line.starts_with(['<', '{', '[']);
            is_for_people.then(|| line.to_owned())
        };
        let said = match &self.reason {
            Some(reason) => json.and_then(|json| reason.text(json)),
            None => body(),
        };
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        format!("status {}{what}{code}{said}", response.status)
    }
}
