//! Look-ups of numbers over HTTP: the request is one of the gateway, and pointers lead to the facts.

use super::pointer::{Pointer, text};
use super::response::Accepted;
use super::statuses::Statuses;
use super::{FIELDS, Http};
use crate::client::Response;
use crate::fields::shown;
use crate::{Field, Fields, Outgoing, Problem, reason};
use seconder::calls::Channel;
use seconder::engine::{LineType, PhoneLine};
use seconder::model::Secret;
use seconder::remote::Dialer;
use seconder::wire::json;
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
/// The placeholders of a look-up request, in place of the ones of a message.
const PLACEHOLDERS: [&str; 5] = ["to", "to_digits", "username", "password", "token"];
/// The time limit of a look-up. It holds up a call, and clients wait for a call for 10 s by default, including the time
/// for the message itself.
const TIMEOUT: Field = Field::new("timeout", "seconds, 1 to 4", "3");
const LONGEST_TIMEOUT: u64 = 4;
const SHORT_TIMEOUT: u64 = 3;

/// The settings that lead to the facts.
const OF_ANSWER: &[Field] = &[
    Field::new("unknown_status", "statuses", "404"),
    Field::new("rejected_status", "statuses", "400, 422"),
    Field::new("rejected_codes", "a list of texts, with a pointer", "none"),
    Field::new("carrier_pointer", "a JSON pointer", "none"),
    Field::new("type_pointer", "a JSON pointer", "none"),
    Field::new("types", "an object of mobile, landline, voip or disposable, by text", "none"),
    Field::new("disposable_pointer", "a JSON pointer", "none"),
    Field::new("ported_pointer", "a JSON pointer", "none"),
];

/// The providers' words for the types of lines, in lower case and with letters only.
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

/// Returns the settings of look-ups by a provider of one's own choice.
pub(crate) fn fields() -> Vec<Field> {
    let of_http = FIELDS.iter().filter(|field| OF_REQUEST.contains(&field.name));
    let of_http = of_http.map(|field| match field.name {
        "method" => Field::new("method", field.accepted, "GET"),
        "timeout" => TIMEOUT,
        _ => *field,
    });
    of_http.chain(OF_ANSWER.iter().copied()).collect()
}

/// Settings with the timeout of look-ups. One that is too long is a problem.
pub(crate) fn timed(
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

/// The places of the facts in a response.
pub(crate) struct Facts {
    unknown: Statuses,
    rejected: Statuses,
    rejected_codes: Vec<String>,
    carrier: Option<Pointer>,
    kind: Option<Pointer>,
    types: Vec<(String, LineType)>,
    disposable: Option<Pointer>,
    ported: Option<Pointer>,
}

/// The reason why a number was not looked up, for operators: without the number and the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// The provider works, and rejects this number.
    Rejected(String),
    /// The provider could not be asked, or did not answer as it should.
    Failed(String),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (LookupError::Rejected(reason) | LookupError::Failed(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for LookupError {}

impl LookupError {
    fn map(self, redacted: impl Fn(&str) -> String) -> LookupError {
        match self {
            LookupError::Rejected(reason) => LookupError::Rejected(redacted(&reason)),
            LookupError::Failed(reason) => LookupError::Failed(redacted(&reason)),
        }
    }
}

impl HttpLookup {
    pub(crate) fn new(http: Http, answer: Facts) -> HttpLookup {
        HttpLookup { http, answer }
    }

    /// # Errors
    /// All errors in the settings.
    pub(crate) fn from_settings(
        settings: &Map<String, Value>,
        dialer: &Dialer,
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
        let mut is_given = |name| fields.value(name).is_some();
        if is_given("rejected_codes") && !is_given("code_pointer") && !is_given("success_pointer") {
            fields.problem("rejected_codes", "is given without code_pointer");
        }
        problems.extend(fields.finish().err().unwrap_or_default());
        let of_request = settings.iter().filter(|(name, _)| OF_REQUEST.contains(&name.as_str()));
        let of_request = of_request.map(|(name, value)| (name.clone(), value.clone()));
        let mut request: Map<String, Value> = of_request.collect();
        request.entry("method").or_insert_with(|| "GET".into());
        let http = Http::from_settings(&request, dialer);
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
    /// The reason of the failure, and whether it is this number.
    pub fn look_up(&self, number: &str) -> Result<PhoneLine, LookupError> {
        let message = Outgoing {
            id: "",
            to: number,
            text: "",
            language: "",
            code: "",
            from: "",
            channel: Channel::Sms,
            urls: crate::Urls::default(),
        };
        let body = self.http.ask(&message, &self.answer).map_err(|wrong| {
            let secrets: Vec<&str> = self.http.secrets.iter().map(Secret::expose).collect();
            wrong.map(|reason_given| reason(reason_given, &message, &secrets))
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
    /// Makes a request, and returns the body of the response, or `None` if the provider knows nothing.
    fn ask(&self, message: &Outgoing<'_>, answer: &Facts) -> Result<Option<Value>, LookupError> {
        let request = self.request(message).map_err(LookupError::Failed)?;
        let response = self.client.run(request, None);
        let response = response.map_err(|failure| LookupError::Failed(failure.reason()))?;
        if answer.unknown.contains(response.status) {
            return Ok(None);
        }
        let json = response.body.as_ref().ok().and_then(|body| json::read(body).ok());
        let failed = |what: &str| self.rules.wrong(&response, json.as_ref(), what);
        let is_success = self.rules.success.contains(response.status);
        if is_success {
            match (self.rules.accepted(&response, json.as_ref()), response.body.as_ref()) {
                (Accepted::Unclear(what), _) | (Accepted::Yes, Err(&what)) => {
                    return Err(LookupError::Failed(failed(what)));
                }
                (Accepted::Yes, Ok(_)) if json.is_none() => {
                    return Err(LookupError::Failed(failed(", but the body is not JSON")));
                }
                (Accepted::Yes, Ok(_)) => return Ok(json),
                (Accepted::No, _) => {}
            }
        }
        let code = self.rules.code(json.as_ref());
        let is_rejected = code.is_some_and(|code| answer.rejected_codes.contains(&code));
        if is_rejected || answer.rejected.contains(response.status) {
            return Err(LookupError::Rejected(failed("")));
        }
        let why = if is_success { ", but without an answer".into() } else { why(&response) };
        Err(LookupError::Failed(failed(&why)))
    }
}

/// Returns the meaning of a status that says nothing of a number.
fn why(response: &Response) -> String {
    match response.status {
        300..=399 => {
            let to = response.redirect.as_deref().map(|host| format!(" to {host}"));
            format!(", a redirect{}, which is not followed", to.unwrap_or_default())
        }
        401 | 403 => ": THE PROVIDER DOES NOT ACCEPT THE CREDENTIALS of the look-up".to_owned(),
        _ => String::new(),
    }
}

impl Facts {
    /// Reads where the facts are. None if something is wrong.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Option<Facts> {
        let unknown = super::settings::statuses(fields, OF_ANSWER, "unknown_status");
        let rejected = super::settings::statuses(fields, OF_ANSWER, "rejected_status");
        let rejected_codes = super::settings::codes(fields, "rejected_codes");
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
        let (unknown, rejected) = (unknown?, rejected?);
        Some(Facts { unknown, rejected, rejected_codes, carrier, kind, types, disposable, ported })
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

/// Returns a placeholder in a value that only messages have.
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
