//! The approver: the page at which users respond to approval requests on their phones, and its requests to the service.
//! docs/approver.md describes both.

mod api;
mod assets;
mod brand;
mod device;
mod logo;
mod reply;

pub use brand::Brand;
pub use device::{ApproverDevice, PendingRequest};

use crate::edge::bodies::Bodies;
use crate::edge::extra::{ExtraEndpoint, Handled};
use crate::edge::places::Client;
use crate::edge::pool::{Lane, Pools, Unhandled};
use crate::edge::reading::{Unread, read_body};
use crate::edge::replies;
use crate::edge::requests::{PANICKED, Record, admitted};
use crate::edge::wrong_tries::{Reserved, WrongTries};
use crate::observe::journal::Journal;
use api::Resource;
use assets::Assets;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use logo::Logos;
use reply::Reply;
use seconder::engine::Engine;
use seconder::engine::approver::{APPROVER_PATH, Refused};
use seconder::http::{BodyError, RawReply};
use seconder::remote::Dialer;
use seconder::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of invalid invitation codes that an address may send at once.
const TRIES: u32 = 5;
/// The time after which it may send another one, so that there are no more in any minute.
const EACH: Duration = Duration::from_secs(60);
/// The time after which a device may try again, if there were too many requests.
const RETRY_AFTER: Duration = Duration::from_secs(1);

const TOO_MANY: &str = "there were too many requests: try again later";

/// Responds to devices.
pub(crate) struct Approver(Arc<Inner>);

struct Inner {
    engine: Engine,
    journal: Arc<Journal>,
    pools: Pools,
    assets: Assets,
    bodies: Arc<Bodies>,
    wrong_codes: WrongTries,
    logos: Logos,
}

impl ExtraEndpoint for Approver {
    fn handle<'a>(&'a self, client: Client, request: Request, record: &'a Record) -> Handled<'a> {
        Box::pin(self.respond(client, request, record))
    }
}

impl Approver {
    /// Returns the approver of an engine; `None` if the service has no public URL, by which devices reach it.
    pub(crate) fn of(
        engine: Option<&Engine>,
        (dialer, brand): (&Dialer, &Brand),
        journal: &Arc<Journal>,
        pools: &Pools,
    ) -> Result<Option<Approver>> {
        let Some(engine) = engine else { return Ok(None) };
        if engine.public_url()?.is_none() {
            return Ok(None);
        }
        Ok(Some(Approver(Arc::new(Inner {
            engine: engine.clone(),
            journal: Arc::clone(journal),
            pools: pools.clone(),
            assets: Assets::new(brand),
            bodies: Arc::default(),
            wrong_codes: WrongTries::new(TRIES, EACH),
            logos: Logos::new(dialer.clone()),
        }))))
    }

    /// Handles a request for a path below the path of the approver. Returns the request if it is for another path.
    async fn respond(
        &self,
        client: Client,
        request: Request,
        record: &Record,
    ) -> std::result::Result<Response, Request> {
        let path = request.uri().path();
        if path == APPROVER_PATH.trim_end_matches('/') {
            return Ok(redirect());
        }
        let Some(rest) = path.strip_prefix(APPROVER_PATH).map(str::to_owned) else {
            return Err(request);
        };
        if let Some(asked) = Resource::of(&rest) {
            record.note_path(asked.path());
            return Ok(self.ask(client, asked, request, record).await);
        }
        record.note_path(assets::PATH);
        Ok(self.0.assets.response(&rest, request.method(), request.headers()))
    }

    async fn ask(
        &self,
        client: Client,
        asked: Resource,
        request: Request,
        record: &Record,
    ) -> Response {
        if !asked.allows(request.method()) {
            let message = "there is no such method here";
            let mut response = rejected(405, "method", message);
            let allowed = HeaderValue::from_static(asked.allowed());
            response.headers_mut().insert(header::ALLOW, allowed);
            return response;
        }
        let (head, body) = request.into_parts();
        if asked.lacks_signature(&head.headers) {
            return self.refused(Refused::Unauthorized);
        }
        let body = match read_body(body, asked.longest_body(), self.0.bodies.body(client)).await {
            Ok(body) => body,
            Err(Unread::Full) => return overloaded(),
            Err(Unread::Body(error)) => return unread(error, asked.longest_body()),
        };
        // A picture may have to be fetched.
        let pool = match asked.waits_for_others() {
            true => self.0.pools.of_waiting(),
            false => self.0.pools.of_database(),
        };
        if pool.is_full(Lane::Network) {
            return overloaded();
        }
        let trying = matches!(asked, Resource::Devices).then_some(client);
        let reserve = |client| {
            let reserved = self.0.wrong_codes.reserve(client, Instant::now());
            reserved.map(|reserved| (client, reserved))
        };
        let trying = match trying.map(reserve).transpose() {
            Ok(trying) => trying,
            Err(wait) => return too_many_tries(wait),
        };
        let (inner, engine) = (Arc::clone(&self.0), self.0.engine.for_request(Some(record.id())));
        let replied = pool.run(Lane::Network, move || {
            let replied = api::reply(&engine, &inner.logos, &asked, &head, &body);
            let is_wrong = matches!(replied, Err(Refused::InvitationUnknown));
            if let Some((client, reserved)) = trying.filter(|_| !is_wrong) {
                inner.wrong_codes.give_back(client, reserved);
            }
            (replied, head)
        });
        match replied.await {
            Ok((Ok(reply), head)) => admitted(written(reply, &head.headers)),
            Ok((Err(Refused::InvitationUnknown), _))
                if trying.is_some_and(|(_, reserved)| reserved == Reserved::NoRoom) =>
            {
                self.0.wrong_codes.add_refused();
                too_many_tries(EACH)
            }
            Ok((Err(refused), _)) => self.refused(refused),
            Err(Unhandled::Full) => {
                if let Some((client, reserved)) = trying {
                    self.0.wrong_codes.give_back(client, reserved);
                }
                overloaded()
            }
            Err(Unhandled::Panicked) => {
                wait_for(failed(&Error::Internal { message: PANICKED.to_owned() }), RETRY_AFTER)
            }
        }
    }

    /// Returns the response to a request that is refused. The reasons of a failure in the service are for its operator
    /// alone.
    fn refused(&self, refused: Refused) -> Response {
        let error = Error::from(refused);
        let response = failed(&error);
        if response.status().is_server_error() {
            self.0.journal.note(&format!("error: a request of a device failed: {error}"));
            return wait_for(response, RETRY_AFTER);
        }
        response
    }
}

fn redirect() -> Response {
    let mut response = assets::empty(StatusCode::PERMANENT_REDIRECT);
    // Relative, because a proxy may serve all of this below a path of its own.
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("approver/"));
    response
}

fn unread(error: BodyError, longest: usize) -> Response {
    match error {
        BodyError::TooLarge => {
            rejected(413, "invalid", &format!("the body is larger than {} KiB", longest / 1024))
        }
        BodyError::TooSlow => rejected(408, "invalid", "the body did not arrive in time"),
        _ => rejected(400, "invalid", "the body is incomplete"),
    }
}

/// Returns the response with a reply. Content that a device has already is not sent again.
fn written(reply: Reply, asked: &HeaderMap) -> Response {
    let Reply { status, media_type, body, tag } = reply;
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let is_known = tag.is_some() && known == tag.as_deref();
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(body) });
    *response.status_mut() = if is_known { StatusCode::NOT_MODIFIED } else { status };
    let headers = response.headers_mut();
    if let Ok(media_type) = HeaderValue::from_str(&media_type) {
        headers.insert(header::CONTENT_TYPE, media_type);
    }
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        headers.insert(header::ETAG, tag);
    }
    protect(headers);
    response
}

/// Returns the response that reports an error.
fn failed(error: &Error) -> Response {
    let mut response = replies::response(RawReply::of_error(error));
    protect(response.headers_mut());
    response
}

fn rejected(status: u16, code: &str, message: &str) -> Response {
    failed(&Error::rejected(status, Some(code), message))
}

fn overloaded() -> Response {
    wait_for(rejected(503, "overloaded", TOO_MANY), RETRY_AFTER)
}

fn too_many_tries(wait: Duration) -> Response {
    wait_for(rejected(429, "too_many_tries", TOO_MANY), wait)
}

fn wait_for(mut response: Response, wait: Duration) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

/// Sets the headers of every response of the API: it is not stored, and no browser interprets it as another type.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
