//! One request and its response.

use crate::params;
use axum::body::{Body, Bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use seconder::calls::{ROUTES, dispatch, failure};
use seconder::engine::Engine;
use seconder::model::Secret;
use seconder::wire::{Format, Generation, Names, Reply, Request};
use seconder::{Error, Rejection};
use serde_json::{Map, Value};
use std::time::Duration;

/// More bytes than any request of the interface has.
const LIMIT: usize = 1024 * 1024;
/// What is read and thrown away of a body that is too large, so that its client reads the reply.
const DISCARD: usize = 8 * LIMIT;
/// How long a client may take to send a body.
const BODY: Duration = Duration::from_secs(15);

/// Answers a request, whatever it is.
pub(crate) async fn answer(State(engine): State<Engine>, request: HttpRequest) -> Response {
    let names = engine.names().clone();
    let Some(path) = names.path_from_wire(request.uri().path()) else {
        return respond(Format::Json, &rejection(404, "There is no such call."));
    };
    let methods = methods(&path);
    let method = match *request.method() {
        Method::GET => "GET",
        Method::POST => "POST",
        _ => "",
    };
    if methods.is_empty() {
        return respond(format_of(&path), &rejection(404, "There is no such call."));
    }
    if !methods.contains(&method) {
        let allowed = methods.join(", ");
        let no = rejection(405, &format!("This call is made with {allowed}."));
        let mut response = respond(format_of(&path), &no);
        response.headers_mut().extend(allowed.parse().ok().map(|allow| (header::ALLOW, allow)));
        return response;
    }
    let (format, mut reply) = match read(method, path.clone(), request, &names).await {
        Ok((key, request)) => blocking(engine, key, request).await,
        Err(reply) => (format_of(&path), reply),
    };
    names.body_to_wire(&mut reply.body);
    respond(format, &reply)
}

/// The methods that a path is known with.
fn methods(path: &str) -> Vec<&'static str> {
    let known = ROUTES.iter().filter(|route| route.matches(route.method, path).is_some());
    let mut methods: Vec<_> = known.map(|route| route.method).collect();
    methods.dedup();
    methods
}

/// The format that a path asks for, for replies that no call words.
fn format_of(path: &str) -> Format {
    path.split('/').nth(2).and_then(Format::named).unwrap_or(Format::Json)
}

async fn read(
    method: &'static str,
    path: String,
    request: HttpRequest,
    names: &Names,
) -> Result<(Secret, Request), Reply> {
    let (head, body) = request.into_parts();
    let late = |_| rejection(408, "The body did not come in time.");
    let body = tokio::time::timeout(BODY, read_body(body)).await.map_err(late)??;
    let media_type = text(&head.headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let mut params = params::read(head.uri.query().unwrap_or_default(), &body, media_type)
        .map_err(|error| failure(&error))?;
    let (key, generation) =
        api_key(&head.headers, &mut params, names).map_err(|error| failure(&error))?;
    Ok((key, Request { method, path, params, generation }))
}

async fn read_body(mut body: Body) -> Result<Bytes, Reply> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| rejection(400, "The body breaks off."))?;
        let data = frame.into_data().unwrap_or_default();
        length += data.len();
        if length > DISCARD {
            break;
        }
        if length <= LIMIT {
            bytes.extend_from_slice(&data);
        }
    }
    match length <= LIMIT {
        true => Ok(bytes.into()),
        false => Err(rejection(413, "The body is larger than 1 MiB.")),
    }
}

/// The API key from its header, or where older clients send it (interface 5.2). Of two keys none
/// is taken.
fn api_key(
    headers: &HeaderMap,
    params: &mut Map<String, Value>,
    names: &Names,
) -> seconder::Result<(Secret, Generation)> {
    let older = params.shift_remove("api_key");
    let header = names.api_key();
    let (given, generation) = match headers.get_all(&header).iter().count() {
        0 => (older.as_ref().and_then(Value::as_str), Generation::Older),
        1 if older.is_none() => (text(headers, &header), Generation::Current),
        _ => (None, Generation::Current),
    };
    let missing = || Error::Unauthorized { message: "there is none".into() };
    let key = given.filter(|key| !key.is_empty()).map(Secret::new).ok_or_else(missing)?;
    Ok((key, generation))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The engine waits for its database and for what it delivers with, so it is asked where waiting
/// holds up nobody else.
async fn blocking(engine: Engine, key: Secret, request: Request) -> (Format, Reply) {
    let format = format_of(&request.path);
    let answered = tokio::task::spawn_blocking(move || match engine.authenticate(&key) {
        Ok(engine) => dispatch(&engine, &request),
        Err(error) => Some((format_of(&request.path), failure(&error))),
    });
    let no_answer = || failure(&Error::Internal { message: "a call gave no answer".into() });
    answered.await.ok().flatten().unwrap_or_else(|| (format, no_answer()))
}

fn rejection(status: u16, message: &str) -> Reply {
    let code = Some("60002".to_owned());
    let rejection = Rejection { status, code, message: message.into(), ..Rejection::default() };
    failure(&Error::Rejected(Box::new(rejection)))
}

fn respond(format: Format, reply: &Reply) -> Response {
    let mut response = Response::new(Body::from(format.write(&reply.body)));
    let failed = StatusCode::SERVICE_UNAVAILABLE;
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(failed);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(wait) = reply.retry_after {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_methods_of_a_path() {
        assert_eq!(methods("/protected/json/app/details"), ["GET"]);
        assert_eq!(methods("/protected/json/users/new"), ["POST"]);
        assert_eq!(methods("/protected/json/users/7/delete"), ["POST"]);
        for unknown in ["/", "", "/protected/yaml/app/details", "/protected/json/app/details/"] {
            assert!(methods(unknown).is_empty(), "{unknown}");
        }
    }

    #[test]
    fn no_browser_guesses_what_a_body_is() {
        let response = respond(Format::Xml, &rejection(404, "no"));
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    }

    #[test]
    fn a_wait_is_rounded_up() {
        let wait = |millis| {
            let reply = Reply {
                retry_after: Some(Duration::from_millis(millis)),
                ..rejection(503, "wait")
            };
            respond(Format::Json, &reply).headers()[header::RETRY_AFTER].clone()
        };
        assert_eq!([wait(1), wait(1000), wait(1001)], ["1", "1", "2"]);
    }
}
