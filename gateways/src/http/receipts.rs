//! Receipts of providers that report the outcome of a message over HTTP.

use super::pointer::Pointer;
use crate::{Delivery, Fields, Outgoing, Posted, Receipt, Urls, reason};
use seconder::calls::Channel;
use seconder::wire::{form, json};
use serde_json::{Map, Value};

/// Ids of messages are shorter.
const LONGEST_ID: usize = 128;
const RECEIPT_URL: &str = "receipt_url";

/// The rules by which the receipts of a provider are read.
pub(super) struct Receipts {
    id: (String, Pointer),
    state: (String, Pointer),
    reason: Option<Pointer>,
    delivered: Vec<String>,
    failed: Vec<String>,
    /// Set if receipts have the id of Seconder's own.
    pub(super) own_id: bool,
}

impl Receipts {
    /// Reads the settings. None if the provider reports nothing.
    pub(super) fn of(fields: &mut Fields<'_>) -> Option<Receipts> {
        let id = pointer(fields, "receipt_id");
        let state = pointer(fields, "receipt_state");
        let reason = pointer(fields, "receipt_reason").map(|(_, pointer)| pointer);
        let delivered = super::settings::codes(fields, "receipt_delivered");
        let failed = super::settings::codes(fields, "receipt_failed");
        let own_id = fields.flag("receipt_own_id", false);
        let others = reason.is_some() || !delivered.is_empty() || !failed.is_empty() || own_id;
        match (id, state) {
            (None, None) if !others => None,
            (Some(id), Some(state)) => {
                if delivered.is_empty() {
                    fields.problem("receipt_delivered", "is missing, with receipt_state");
                }
                Some(Receipts { id, state, reason, delivered, failed, own_id })
            }
            (id, state) => {
                for (name, is_there) in
                    [("receipt_id", id.is_some()), ("receipt_state", state.is_some())]
                {
                    if !is_there && fields.value(name).is_none() {
                        fields.problem(name, "is missing, beside other settings for receipts");
                    }
                }
                None
            }
        }
    }

    /// Reads a receipt.
    ///
    /// # Errors
    /// The error, without anything that it holds.
    pub(super) fn read(&self, posted: &Posted<'_>) -> Result<Receipt, String> {
        let body = body(posted)?;
        let query = form::read(posted.query).map_err(|_| "its query cannot be read".to_owned())?;
        let query = Value::Object(query);
        let found = |pointer: &Pointer| {
            let found = pointer.text(&body).or_else(|| pointer.text(&query));
            found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let required = |(name, pointer): &(String, Pointer)| {
            found(pointer).ok_or_else(|| format!("it has no {name}"))
        };
        let id = required(&self.id)?;
        if id.len() > LONGEST_ID || id.chars().any(char::is_control) {
            return Err(format!("its {} is not the id of a message", self.id.0));
        }
        let state = required(&self.state)?;
        let is_in = |states: &[String]| states.iter().any(|one| one.eq_ignore_ascii_case(&state));
        let state = match (is_in(&self.delivered), is_in(&self.failed)) {
            (true, _) => Delivery::Delivered,
            (false, true) => Delivery::Failed(self.why(&state, found)),
            (false, false) => Delivery::Pending,
        };
        Ok(Receipt { id, state })
    }

    /// Returns the reason why a message did not arrive, without numbers that may belong to a phone, or the code of the
    /// message, which is not known here.
    fn why(&self, state: &str, found: impl Fn(&Pointer) -> Option<String>) -> String {
        let message = Outgoing {
            id: "",
            to: "",
            text: "",
            language: "",
            code: "",
            from: "",
            channel: Channel::Sms,
            urls: Urls::default(),
        };
        let plain = |text: &str| reason(text, &message, &[]);
        let said = self.reason.as_ref().and_then(found);
        match said.filter(|said| said.bytes().any(|byte| byte != b'0')) {
            Some(said) if is_code(&said) => plain(&format!("{state}, {said}")),
            Some(said) => format!("{}, {}", plain(state), without_digits(&plain(&said))),
            None => plain(state),
        }
    }
}

/// Returns whether all that a provider has said is the code of an error.
fn is_code(said: &str) -> bool {
    said.len() <= 5 && said.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a text with no more than two digits in a row.
fn without_digits(text: &str) -> String {
    let mut left = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        match digits {
            0..3 => left.push_str(part),
            _ => {
                left.push_str("[redacted]");
                left.push_str(&part[digits..]);
            }
        }
    }
    left
}

/// Reads a setting that names a parameter, or is a JSON pointer.
fn pointer(fields: &mut Fields<'_>, name: &str) -> Option<(String, Pointer)> {
    let text = fields.text(name)?;
    Some((text.to_owned(), Pointer::or_name(text)?))
}

fn body(posted: &Posted<'_>) -> Result<Value, String> {
    if posted.body.is_empty() {
        return Ok(Value::Null);
    }
    if posted.content_type.to_ascii_lowercase().contains("json") {
        let wrong = |_| "its body is not JSON, or has a name twice".to_owned();
        return json::read(posted.body).map_err(wrong);
    }
    let text = std::str::from_utf8(posted.body).map_err(|_| "its body is not a form".to_owned())?;
    let form = form::read(text).map_err(|_| "its body is not a form".to_owned())?;
    Ok(Value::Object(form))
}

/// Returns the settings without the parameters that have `{{receipt_url}}`, in the query, in a form and in an object;
/// `None` if there is no such parameter.
pub(super) fn without_url(settings: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut without = settings.clone();
    if let Some(Value::String(url)) = without.get_mut("url") {
        *url = match url.split_once('?') {
            Some((path, query)) => format!("{path}?{}", without_pairs(query)),
            None => url.clone(),
        };
    }
    let is_form = settings.get("format").is_none_or(|format| format == "form");
    match without.get_mut("body") {
        Some(Value::String(body)) if is_form => *body = without_pairs(body),
        Some(body) => strip(body),
        None => {}
    }
    (without != *settings).then_some(without)
}

fn without_pairs(form: &str) -> String {
    let pairs: Vec<_> = form.split('&').filter(|pair| !has_url(pair)).collect();
    pairs.join("&")
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.as_str().is_some_and(has_url));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => {
            items.retain(|item| !item.as_str().is_some_and(has_url));
            items.iter_mut().for_each(strip);
        }
        _ => {}
    }
}

fn has_url(text: &str) -> bool {
    has(text, RECEIPT_URL)
}

/// Returns whether a text has a placeholder.
pub(super) fn has(text: &str, placeholder: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((inside, after)) = after.split_once("}}") else { return false };
        if inside.split('|').next().is_some_and(|name| name.trim() == placeholder) {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_the_code_of_an_error_and_no_other_digits() {
        assert!(is_code("30003") && !is_code("304764") && !is_code("error 1"));
        for (said, shown) in [
            ("spam: your code is 3047, 304764", "spam: your code is [redacted], [redacted]"),
            ("code 304-764.", "code [redacted]-[redacted]."),
            ("error 12", "error 12"),
            ("", ""),
        ] {
            assert_eq!(without_digits(said), shown);
        }
    }
}
