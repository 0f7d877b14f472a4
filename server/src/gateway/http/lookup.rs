//! Look-ups of numbers over HTTP: the request is one of the gateway, and pointers lead to what is known.

use super::pointer::{Pointer, text};
use super::statuses::Statuses;
use super::{FIELDS, Http};
use crate::gateway::{Field, Fields, Outgoing, Problem, fields::shown, reason};
use seconder::calls::Channel;
use seconder::engine::{LineType, Outcome, PhoneLine};
use seconder::model::Secret;
use serde_json::{Map, Value};
use std::fmt;

/// The settings of the gateway that look-ups have too.
const OF_REQUEST: [&str; 19] = [
    "url",
    "method",
    "headers",
    "format",
    "content_type",
    "body",
    "auth",
    "username",
    "password",
    "token",
    "timeout",
    "ca_file",
    "allow_http",
    "success_status",
    "success_pointer",
    "success_value",
    "success_text",
    "code_pointer",
    "reason_pointer",
];
/// What a request of a look-up has, in place of a message.
const PLACEHOLDERS: [&str; 5] = ["to", "to_digits", "username", "password", "token"];
/// A look-up holds up a call.
const TIMEOUT: Field = Field::new("timeout", "seconds, 1 to 10", "3");
const LONGEST_TIMEOUT: u64 = 10;
const SHORT_TIMEOUT: u64 = 3;

/// The settings that lead to what is known.
const OF_ANSWER: &[Field] = &[
    Field::new("unknown_status", "statuses", "404"),
    Field::new("carrier_pointer", "a JSON pointer", "none"),
    Field::new("type_pointer", "a JSON pointer", "none"),
    Field::new("types", "an object of mobile, landline, voip or disposable, by text", "none"),
    Field::new("disposable_pointer", "a JSON pointer", "none"),
    Field::new("ported_pointer", "a JSON pointer", "none"),
];

/// What providers write for the types of lines, in lower case and without anything but letters.
const TYPES: [(&str, LineType); 17] = [
    ("mobile", LineType::Mobile),
    ("cell", LineType::Mobile),
    ("cellphone", LineType::Mobile),
    ("cellular", LineType::Mobile),
    ("wireless", LineType::Mobile),
    ("landline", LineType::Landline),
    ("fixed", LineType::Landline),
    ("fixedline", LineType::Landline),
    ("landlineprivate", LineType::Landline),
    ("voip", LineType::Voip),
    ("fixedvoip", LineType::Voip),
    ("nonfixedvoip", LineType::Voip),
    ("virtual", LineType::Voip),
    ("disposable", LineType::Disposable),
    ("temporary", LineType::Disposable),
    ("burner", LineType::Disposable),
    ("throwaway", LineType::Disposable),
];

/// The settings of look-ups by a provider of one's own choice.
pub(in crate::gateway) fn fields() -> Vec<Field> {
    let of_http = FIELDS.iter().filter(|field| OF_REQUEST.contains(&field.name));
    let of_http = of_http.map(|field| match field.name {
        "method" => Field::new("method", field.accepted, "GET"),
        "timeout" => TIMEOUT,
        _ => *field,
    });
    of_http.chain(OF_ANSWER.iter().copied()).collect()
}

/// Settings with the timeout of look-ups. One that is too long is a problem.
pub(in crate::gateway) fn timed(
    settings: &Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> Map<String, Value> {
    let mut fields = Fields::new(settings, &[TIMEOUT]);
    let timeout = fields.number("timeout", 1..=LONGEST_TIMEOUT, SHORT_TIMEOUT);
    let wrong = fields.finish().err().unwrap_or_default();
    problems.extend(wrong.into_iter().filter(|problem| problem.field == TIMEOUT.name));
    let mut timed = settings.clone();
    timed.insert(TIMEOUT.name.to_owned(), timeout.into());
    timed
}

/// A provider of look-ups. `Debug` shows only the host.
pub struct HttpLookup {
    http: Http,
    answer: Facts,
}

/// Where the facts are in a response.
pub(in crate::gateway) struct Facts {
    unknown: Statuses,
    carrier: Option<Pointer>,
    kind: Option<Pointer>,
    types: Vec<(String, LineType)>,
    disposable: Option<Pointer>,
    ported: Option<Pointer>,
}

impl HttpLookup {
    pub(in crate::gateway) fn new(http: Http, answer: Facts) -> HttpLookup {
        HttpLookup { http, answer }
    }

    /// # Errors
    /// All that is wrong with the settings.
    pub(in crate::gateway) fn from_settings(
        settings: &Map<String, Value>,
    ) -> Result<HttpLookup, Vec<Problem>> {
        let mut problems = Vec::new();
        let settings = timed(settings, &mut problems);
        let known = fields();
        let mut fields = Fields::new(&settings, &known);
        let answer = Facts::read(&mut fields);
        for name in ["url", "headers", "body"] {
            let foreign = fields.value(name).and_then(foreign);
            if let Some(foreign) = foreign {
                fields.problem(name, format!("has {foreign}, which look-ups do not have"));
            }
        }
        problems.extend(fields.finish().err().unwrap_or_default());
        let of_request = settings.iter().filter(|(name, _)| OF_REQUEST.contains(&name.as_str()));
        let of_request = of_request.map(|(name, value)| (name.clone(), value.clone()));
        let mut request: Map<String, Value> = of_request.collect();
        request.entry("method").or_insert_with(|| "GET".into());
        let http = Http::from_settings(&request);
        match (http, answer) {
            (Ok(http), Some(answer)) if problems.is_empty() => Ok(HttpLookup { http, answer }),
            (http, _) => {
                let of_http = http.err().unwrap_or_default();
                let is_known = |field: &str, all: &[Problem]| all.iter().any(|p| p.field == field);
                let more =
                    of_http.into_iter().filter(|problem| !is_known(&problem.field, &problems));
                let more: Vec<Problem> = more.collect();
                problems.extend(more);
                Err(problems)
            }
        }
    }

    /// Looks up a number, in E.164 with its `+`.
    ///
    /// # Errors
    /// What went wrong, for operators: without the number and the credentials.
    pub fn look_up(&self, number: &str) -> Result<PhoneLine, String> {
        let message = Outgoing {
            id: "",
            to: number,
            text: "",
            code: "",
            from: "",
            channel: Channel::Sms,
            urls: crate::gateway::Urls::default(),
        };
        let body = self.http.ask(&message, &self.answer.unknown).map_err(|wrong| {
            let secrets: Vec<&str> = self.http.secrets.iter().map(Secret::expose).collect();
            reason(&wrong, &message, &secrets)
        })?;
        Ok(body.map_or_else(PhoneLine::default, |body| self.answer.line(&body)))
    }

    /// Ends the connections that it keeps.
    pub fn stop(&self) {
        self.http.client.stop();
    }
}

impl fmt::Debug for HttpLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.http.fmt(f)
    }
}

impl Http {
    /// Makes a request, and returns the body of the response, or none if it says that nothing is known.
    fn ask(&self, message: &Outgoing<'_>, unknown: &Statuses) -> Result<Option<Value>, String> {
        let request = self.request(message)?;
        let response = self.client.run(request, None).map_err(super::client::Failure::reason)?;
        if unknown.contains(response.status) {
            return Ok(None);
        }
        match self.rules.outcome(&response) {
            Outcome::Sent(_) => {}
            Outcome::Retry { reason, .. }
            | Outcome::Permanent(reason)
            | Outcome::Ambiguous(reason) => return Err(reason),
            _ => return Err("the response is not understood".to_owned()),
        }
        let body = response.body.map_err(|wrong| format!("status {}{wrong}", response.status))?;
        let read = serde_json::from_slice(&body);
        read.map(Some).map_err(|_| format!("status {}, but the body is not JSON", response.status))
    }
}

impl Facts {
    /// Reads where the facts are. None if something is wrong.
    pub(in crate::gateway) fn read(fields: &mut Fields<'_>) -> Option<Facts> {
        let unknown = super::settings::statuses(fields, OF_ANSWER, "unknown_status");
        let mut pointer = |name| super::settings::pointer(fields, name);
        let carrier = pointer("carrier_pointer");
        let kind = pointer("type_pointer");
        let disposable = pointer("disposable_pointer");
        let ported = pointer("ported_pointer");
        let types = types(fields);
        let pointers = ["carrier_pointer", "type_pointer", "disposable_pointer", "ported_pointer"];
        if pointers.iter().all(|name| fields.value(name).is_none()) {
            fields.problem("type_pointer", "is missing, and so are all others to what is known");
        }
        if !types.is_empty() && fields.value("type_pointer").is_none() {
            fields.problem("types", "is given without type_pointer");
        }
        Some(Facts { unknown: unknown?, carrier, kind, types, disposable, ported })
    }

    fn line(&self, body: &Value) -> PhoneLine {
        let found = |pointer: &Option<Pointer>| pointer.as_ref()?.text(body);
        let said = found(&self.kind).and_then(|word| self.kind(&word));
        let is_disposable = found(&self.disposable).and_then(|word| yes_or_no(&word)) == Some(true);
        PhoneLine {
            carrier: found(&self.carrier),
            kind: if is_disposable { Some(LineType::Disposable) } else { said },
            ported: found(&self.ported).and_then(|word| yes_or_no(&word)),
        }
    }

    fn kind(&self, word: &str) -> Option<LineType> {
        let own = self.types.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
        own.map(|(_, kind)| *kind).or_else(|| {
            let letters = letters(word);
            TYPES.iter().find(|(known, _)| *known == letters).map(|(_, kind)| *kind)
        })
    }
}

fn letters(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "ported" | "disposable" => Some(true),
        "false" | "no" | "0" | "not_ported" => Some(false),
        _ => None,
    }
}

fn types(fields: &mut Fields<'_>) -> Vec<(String, LineType)> {
    let Some(value) = fields.value("types") else { return Vec::new() };
    let pairs = value.as_object().map(|pairs| {
        let pair =
            |(word, kind): (&String, &Value)| Some((word.clone(), text(kind)?.parse().ok()?));
        pairs.iter().map(pair).collect::<Option<Vec<_>>>()
    });
    pairs.flatten().unwrap_or_else(|| {
        fields.problem("types", "has another type, or is not an object");
        Vec::new()
    })
}

/// A placeholder of messages alone in some text of a value.
fn foreign(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.split("{{").skip(1).find_map(|rest| {
            let name = rest.split(['}', '|']).next().unwrap_or_default().trim();
            let known = PLACEHOLDERS.contains(&name);
            let of_message = super::values::NAMES.iter().any(|(of_message, _)| *of_message == name);
            (of_message && !known).then(|| shown(&format!("{{{{{name}}}}}")))
        }),
        Value::Array(items) => items.iter().find_map(foreign),
        Value::Object(pairs) => pairs.values().find_map(foreign),
        _ => None,
    }
}
