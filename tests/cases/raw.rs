//! Calls as other programs make them: HTTP requests whose parameters nothing has checked.

use seconder::calls::Route;
use seconder::engine::Engine;
use seconder::http::{self, Caller, RawRequest};
use seconder::wire::{Format, Generation, Reply, form, xml};
use serde_json::{Map, Value};
use std::time::Duration;

/// How a program writes its requests, and which format it asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    pub(crate) format: Format,
    pub(crate) params: ParamsAs,
    /// As the parameter `api_key`, instead of in the header.
    pub(crate) key_is_parameter: bool,
    /// The paths of the older generation, where it has any.
    pub(crate) paths: Generation,
}

/// Where the parameters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamsAs {
    Query,
    Form,
    Multipart,
    Json,
    Xml,
}

/// A request, for whatever sends it.
pub(crate) struct Raw {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A response: the status, the seconds to wait, and the body.
pub(crate) type Response = (u16, Option<u64>, Vec<u8>);

/// Dialects that together have every format, every place of the parameters and of the key, and both
/// generations of the paths.
pub(crate) const DIALECTS: [Dialect; 6] = [
    dialect(Format::Json, ParamsAs::Query, false, Generation::Current),
    dialect(Format::Json, ParamsAs::Form, true, Generation::Older),
    dialect(Format::Xml, ParamsAs::Json, true, Generation::Current),
    dialect(Format::Xml, ParamsAs::Query, true, Generation::Older),
    dialect(Format::Json, ParamsAs::Xml, false, Generation::Current),
    dialect(Format::Xml, ParamsAs::Multipart, false, Generation::Current),
];

const fn dialect(
    format: Format,
    params: ParamsAs,
    key_is_parameter: bool,
    paths: Generation,
) -> Dialect {
    Dialect { format, params, key_is_parameter, paths }
}

impl Dialect {
    /// The request for a call.
    pub(crate) fn request(self, route: &Route, params: Map<String, Value>, engine: &Engine) -> Raw {
        let request = route.request(self.format, self.paths, params);
        let mut target = engine.names().path_to_wire(&request.path);
        let mut headers = Vec::new();
        let mut query = Vec::new();
        let key = engine.api_key();
        let key = key.expose();
        match self.key_is_parameter {
            true => query.push(format!("api_key={}", form::escape(key))),
            false => headers.push((engine.names().api_key(), key.to_owned())),
        }
        let (media_type, body) = match self.params {
            _ if request.params.is_empty() => ("", String::new()),
            ParamsAs::Query => {
                query.push(form::write(&request.params));
                ("", String::new())
            }
            ParamsAs::Form => ("application/x-www-form-urlencoded", form::write(&request.params)),
            ParamsAs::Multipart => {
                ("multipart/form-data; boundary=-limit-", multipart(&request.params))
            }
            ParamsAs::Json => ("application/json", Value::Object(request.params).to_string()),
            ParamsAs::Xml => {
                let body = xml::write(&Value::Object(request.params));
                ("application/xml; charset=utf-8", String::from_utf8(body).unwrap())
            }
        };
        if !media_type.is_empty() {
            headers.push(("Content-Type".into(), media_type.into()));
        }
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        Raw { method: request.method, target, headers, body: body.into_bytes() }
    }

    /// What a response says.
    pub(crate) fn read(self, engine: &Engine, (status, wait, body): Response) -> Reply {
        let mut body = self.format.read(&body).unwrap();
        engine.names().body_from_wire(&mut body).unwrap();
        Reply { retry_after: wait.map(Duration::from_secs), ..Reply::new(status, body) }
    }
}

/// Sends a request to the HTTP edge in this process.
pub(crate) fn in_process(engine: &Engine, raw: Raw) -> Response {
    let mut request = RawRequest::new(raw.method, raw.target).body(raw.body);
    for (name, value) in raw.headers {
        request = request.header(name, value);
    }
    let reply = http::respond(engine, Caller::Network, request);
    let wait = reply.header("retry-after").map(|seconds| seconds.parse().unwrap());
    (reply.status, wait, reply.body)
}

fn multipart(params: &Map<String, Value>) -> String {
    let part = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap();
        let (name, value) = (form::unescape(name).unwrap(), form::unescape(value).unwrap());
        format!("---limit-\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    form::write(params).split('&').map(part).collect::<String>() + "---limit---\r\n"
}
