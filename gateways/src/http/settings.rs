//! The settings of the gateway.

use super::auth::{self, Credentials};
use super::pointer::{Pointer, text};
use super::receipts::{Receipts, has, without_url};
use super::response::Rules;
use super::statuses::Statuses;
use super::template::{Place, Template};
use super::{Body, Constants, Http, Unreported, placement, url};
use crate::client::Client;
use crate::{Field, Fields, Problem, tls};
use seconder::remote::Dialer;
use serde_json::{Map, Value};
use std::time::Duration;
use ureq::http::{HeaderName, Method};

/// The settings, as the documents list them.
pub(crate) const FIELDS: &[Field] = &[
    Field::required("url", "an https: URL without user and fragment"),
    Field::new("method", "GET, POST, PUT or PATCH", "POST"),
    Field::new("headers", "an object of texts", "none"),
    Field::new("format", "form, json, xml or text", "form"),
    Field::new("content_type", "a media type", "that of the format"),
    Field::new("body", "a text, or for form and json an object", "none"),
    Field::new("auth", "basic, bearer or none", "basic with a password, bearer with a token"),
    Field::new("username", "a text", "none"),
    Field::new("password", "a text", "none").secret(),
    Field::new("token", "a text", "none").secret(),
    Field::new("signing_key", "a text, with a POST of a JSON object", "none").secret(),
    Field::new("timeout", "seconds, 1 to 60", "10"),
    Field::new("ca_file", "a file with certificates in PEM", "the authorities of the system"),
    Field::new("allow_http", "true or false", "false"),
    Field::new("success_status", "statuses such as 200-299, 304", "200-299"),
    Field::new("permanent_status", "statuses", "400-407, 410-424, 426-428, 430-499"),
    Field::new("retry_status", "statuses", "408-409, 425, 429, 500-501, 503, 505-599"),
    Field::new("success_pointer", "a JSON pointer", "none"),
    Field::new("success_value", "a text, with success_pointer", "any value that is not empty"),
    Field::new("success_text", "a text", "none"),
    Field::new("code_pointer", "a JSON pointer", "success_pointer"),
    Field::new("permanent_codes", "a list of texts, with a pointer", "none"),
    Field::new("retry_codes", "a list of texts, with a pointer", "none"),
    Field::new("number_status", "statuses", "none"),
    Field::new("number_pointer", "a JSON pointer, with number_codes", "code_pointer"),
    Field::new("number_codes", "a list of texts, with a pointer", "none"),
    Field::new("id_pointer", "a JSON pointer", "none"),
    Field::new("id_header", "the name of a header", "none"),
    Field::new("reason_pointer", "a JSON pointer", "none"),
    Field::new("document", "a text in XML, if url or body has {{document_url}}", "none"),
    Field::new("receipt_id", "the name of a parameter, or a JSON pointer", "none"),
    Field::new("receipt_own_id", "true or false", "false"),
    Field::new("receipt_state", "the name of a parameter, or a JSON pointer", "none"),
    Field::new("receipt_delivered", "a list of texts, with receipt_state", "none"),
    Field::new("receipt_failed", "a list of texts, with receipt_state", "none"),
    Field::new("receipt_reason", "the name of a parameter, or a JSON pointer", "none"),
];

const IDEMPOTENCY: &str = "idempotency-key";
/// Headers that the connection or other settings decide.
const RESERVED: [&str; 12] = [
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-svc-signature",
    "x-svc-signature-nonce",
];

/// Reads the settings of a gateway.
pub(super) fn read(
    settings: &Map<String, Value>,
    mut constants: Constants,
    dialer: &Dialer,
) -> Result<Http, Vec<Problem>> {
    let mut fields = Fields::new(settings, FIELDS);
    let credentials = Credentials::read(&mut fields);
    credentials.add_to(&mut constants);
    let url = url::url(&mut fields, &constants);
    let method = fields.one_of("method", &["GET", "POST", "PUT", "PATCH"]).unwrap_or("POST");
    let body = body(&mut fields, &constants, method);
    let mut headers = headers(&mut fields, &constants);
    content_type(&mut fields, body.as_ref().map(|(place, _)| *place), &mut headers);
    let authorization = credentials.authorization(&mut fields, &headers);
    let signing_key = auth::signing_key(&mut fields, method, body.as_ref());
    let timeout = Duration::from_secs(fields.number("timeout", 1..=60, 10));
    let is_plain = url.as_ref().is_some_and(|url| url.is_plain);
    let client = client(&mut fields, timeout, is_plain, dialer);
    let rules = rules(&mut fields);
    let receipts = Receipts::of(&mut fields);
    let document = document(&mut fields, &constants);
    let id_header = fields.text("id_header").map(str::to_owned);
    if id_header.as_ref().is_some_and(|name| HeaderName::from_bytes(name.as_bytes()).is_err()) {
        fields.problem("id_header", "is not the name of a header");
    }
    let secrets = auth::secrets(
        &constants,
        &headers,
        url.as_ref(),
        authorization.as_ref(),
        signing_key.as_ref(),
    );
    fields.finish()?;
    let unreported = match without_url(settings) {
        Some(without) => Some(unreported(&without, &constants, method)?),
        None => None,
    };
    // All of them are set if there was no problem.
    let (Some(url), Some(client), Some(rules)) = (url, client, rules) else {
        return Err(Vec::new());
    };
    Ok(Http {
        method: method.parse().unwrap_or(Method::POST),
        origin: url.origin,
        target: url.target,
        headers,
        body,
        unreported,
        authorization,
        signing_key,
        id_header,
        rules,
        receipts,
        document,
        client,
        settings: constants.values,
        secrets,
    })
}

/// Reads the template of the document that a provider fetches.
fn document(fields: &mut Fields<'_>, constants: &Constants) -> Option<Template> {
    let used = ["url", "body"].into_iter().filter_map(|name| fields.value(name));
    let is_used = used.map(Value::to_string).any(|text| has(&text, "document_url"));
    let text = fields.text("document");
    match (text, is_used) {
        (None, false) => return None,
        (None, true) => fields.problem("document", "is missing, beside {{document_url}}"),
        (Some(_), false) => {
            fields.problem("document", "is given, but neither url nor body has {{document_url}}");
        }
        (Some(_), true) => {}
    }
    let read = Template::read(text?, &constants.names).and_then(|template| {
        placement::check(&template, Place::Xml)?;
        Ok(template)
    });
    read.map_err(|wrong| fields.problem("document", wrong)).ok()
}

/// Returns the target and the body for a message without a report.
fn unreported(
    without: &Map<String, Value>,
    constants: &Constants,
    method: &str,
) -> Result<Unreported, Vec<Problem>> {
    let mut fields = Fields::new(without, FIELDS);
    let url = url::url(&mut fields, constants);
    let body = body(&mut fields, constants, method);
    fields.finish()?;
    url.map(|url| Unreported { target: url.target, body }).ok_or_else(Vec::new)
}

fn body(fields: &mut Fields<'_>, constants: &Constants, method: &str) -> Option<(Place, Body)> {
    let format = fields.one_of("format", &["form", "json", "xml", "text"]).unwrap_or("form");
    let place = match format {
        "json" => Place::Json,
        "xml" => Place::Xml,
        "text" => Place::Text,
        _ => Place::Form,
    };
    let value = fields.value("body")?;
    if method == "GET" {
        fields.problem("body", "is given with the method GET");
    }
    let read = match value {
        Value::String(text) => whole(text, place, constants),
        Value::Object(pairs) if place == Place::Form => pairs_of_form(pairs, constants),
        Value::Object(_) | Value::Array(_) if place == Place::Json => {
            whole(&value.to_string(), place, constants)
        }
        _ => Err(format!("cannot be written in the format {format}")),
    };
    let body = read.map_err(|wrong| fields.problem("body", wrong)).ok()?;
    Some((place, body))
}

fn whole(text: &str, place: Place, constants: &Constants) -> Result<Body, String> {
    let template = Template::read(text, &constants.names)?;
    placement::check(&template, place)?;
    Ok(Body::Template(template))
}

fn pairs_of_form(pairs: &Map<String, Value>, constants: &Constants) -> Result<Body, String> {
    let encoded = |text: &str| Ok::<_, String>(Template::read(text, &constants.names)?.encoded());
    let pair = |(name, value): (&String, &Value)| {
        let value = text(value).ok_or("has a value that is neither a text nor a number")?;
        Ok((encoded(name)?, encoded(&value)?))
    };
    pairs.iter().map(pair).collect::<Result<_, String>>().map(Body::Form)
}

fn headers(fields: &mut Fields<'_>, constants: &Constants) -> Vec<(String, Template)> {
    let mut headers: Vec<(String, Template)> = Vec::new();
    match fields.value("headers") {
        None => {}
        Some(Value::Object(pairs)) => {
            for (name, value) in pairs {
                let read = header(name, value, constants);
                match read {
                    Ok(value) => headers.push((name.to_ascii_lowercase(), value)),
                    Err(wrong) => fields.problem("headers", wrong),
                }
            }
        }
        Some(_) => fields.problem("headers", "is not an object"),
    }
    if !headers.iter().any(|(name, _)| name == IDEMPOTENCY)
        && let Ok(id) = Template::read("{{id}}", &[])
    {
        headers.push((IDEMPOTENCY.to_owned(), id));
    }
    headers
}

fn header(name: &str, value: &Value, constants: &Constants) -> Result<Template, String> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err("has a name that no header can have".to_owned());
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(format!("has {name}, which cannot be set there"));
    }
    let value = value.as_str().ok_or(format!("has {name}, which is not a text"))?;
    let template = Template::read(value, &constants.names);
    let template = template.map_err(|wrong| format!("has {name}, which {wrong}"))?;
    match template.sample().chars().any(char::is_control) {
        true => Err(format!("has {name}, which has control characters")),
        false => Ok(template),
    }
}

/// Adds the header of the body's type.
fn content_type(
    fields: &mut Fields<'_>,
    place: Option<Place>,
    headers: &mut Vec<(String, Template)>,
) {
    let given = fields.text("content_type");
    let of_format = match place {
        None => None,
        Some(Place::Json) => Some("application/json"),
        Some(Place::Xml) => Some("application/xml; charset=utf-8"),
        Some(Place::Text) => Some("text/plain; charset=utf-8"),
        Some(_) => Some("application/x-www-form-urlencoded"),
    };
    let is_media_type = |text: &str| {
        let plain = |byte| (b' '..=b'~').contains(&byte) && byte != b'{';
        text.contains('/') && text.bytes().all(plain)
    };
    match given {
        Some(_) if place.is_none() => fields.problem("content_type", "is given without a body"),
        Some(text) if !is_media_type(text) => fields.problem("content_type", "is no media type"),
        _ => {}
    }
    if let Some(text) = given.or(of_format)
        && let Ok(value) = Template::read(text, &[])
    {
        headers.push(("content-type".to_owned(), value));
    }
}

fn client(
    fields: &mut Fields<'_>,
    timeout: Duration,
    is_plain: bool,
    dialer: &Dialer,
) -> Option<Client> {
    if !is_plain {
        return tls::trusted(fields).map(|tls| Client::new(timeout, Some(tls), dialer));
    }
    if fields.text("ca_file").is_some() {
        fields.problem("ca_file", "is given for http:, which has no certificates");
        return None;
    }
    Some(Client::new(timeout, None, dialer))
}

fn rules(fields: &mut Fields<'_>) -> Option<Rules> {
    let (pointer, code) = (pointer(fields, "success_pointer"), pointer(fields, "code_pointer"));
    let value = fields.value("success_value").map(text);
    if value.as_ref().is_some_and(Option::is_none) || (value.is_some() && pointer.is_none()) {
        fields.problem("success_value", "is not a text, or is given without success_pointer");
    }
    let permanent_codes = codes(fields, "permanent_codes");
    let retry_codes = codes(fields, "retry_codes");
    for (name, codes) in [("permanent_codes", &permanent_codes), ("retry_codes", &retry_codes)] {
        if !codes.is_empty() && pointer.is_none() && code.is_none() {
            fields.problem(name, "is given without code_pointer");
        }
    }
    let number = self::pointer(fields, "number_pointer");
    let number_codes = codes(fields, "number_codes");
    match (number_codes.is_empty(), number.as_ref().or(code.as_ref()).or(pointer.as_ref())) {
        (false, None) => fields.problem("number_codes", "is given without code_pointer"),
        (true, _) if number.is_some() => {
            fields.problem("number_pointer", "is given without number_codes");
        }
        _ => {}
    }
    let is_set = fields.value("number_status").is_some();
    let number_status = is_set.then(|| statuses(fields, FIELDS, "number_status")).flatten();
    let success = statuses(fields, FIELDS, "success_status");
    let permanent = statuses(fields, FIELDS, "permanent_status");
    let retry = statuses(fields, FIELDS, "retry_status");
    let text = fields.text("success_text").map(str::to_owned);
    let id = self::pointer(fields, "id_pointer");
    let reason = self::pointer(fields, "reason_pointer");
    Some(Rules {
        success: success?,
        permanent: permanent?,
        retry: retry?,
        pointer,
        value: value.flatten(),
        text,
        code,
        permanent_codes,
        retry_codes,
        number,
        number_codes,
        number_status,
        id,
        reason,
    })
}

pub(super) fn pointer(fields: &mut Fields<'_>, name: &str) -> Option<Pointer> {
    let found = Pointer::read(fields.text(name)?);
    if found.is_none() {
        fields.problem(name, "does not begin with /");
    }
    found
}

pub(super) fn codes(fields: &mut Fields<'_>, name: &str) -> Vec<String> {
    let items = match fields.value(name) {
        None => return Vec::new(),
        Some(Value::Array(items)) => items.iter().map(text).collect::<Option<Vec<_>>>(),
        Some(_) => None,
    };
    items.unwrap_or_else(|| {
        fields.problem(name, "is not a list of texts or numbers");
        Vec::new()
    })
}

/// Reads statuses, which are by default the ones of the table.
pub(super) fn statuses(fields: &mut Fields<'_>, known: &[Field], name: &str) -> Option<Statuses> {
    let default = known.iter().find(|field| field.name == name)?.default;
    let given = fields.value(name).map(|value| text(value).unwrap_or_default());
    let found = Statuses::read(given.as_deref().unwrap_or(default));
    if found.is_none() {
        fields.problem(name, "is not a list of statuses from 100 to 599");
    }
    found
}
