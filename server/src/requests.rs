//! The line of the log for each request, and the id by which it is found in the logs of client and service.

use crate::journal::Journal;
use crate::log::{Entry, Level};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use seconder::calls::{Route, Verdict};
use seconder::http::RawReply;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ID: HeaderName = HeaderName::from_static("seconder-request-id");
/// The error code of what failed in the service itself.
const UNSPECIFIC: &str = "60000";
/// The longest id that a client may give.
const LONGEST: usize = 64;

/// A request that is being handled.
pub(crate) struct Record {
    begun: Instant,
    method: Method,
    id: String,
}

/// What a response says of its call, for the log: nothing of it is secret.
#[derive(Clone)]
pub(crate) struct Outcome {
    call: Option<&'static Route>,
    verdict: Option<Verdict>,
    code: Option<String>,
}

impl Outcome {
    pub(crate) fn of(reply: &RawReply) -> Outcome {
        Outcome { call: reply.call, verdict: reply.verdict, code: reply.code.clone() }
    }
}

impl Record {
    /// Begins the record of a request with this method and head.
    pub(crate) fn begin(method: &Method, headers: &HeaderMap) -> Record {
        let mut given = headers.get_all(ID).iter();
        let id = match (given.next().and_then(|id| id.to_str().ok()), given.next()) {
            (Some(id), None) if is_well_formed(id) => id.to_owned(),
            _ => generated(),
        };
        Record { begun: Instant::now(), method: method.clone(), id }
    }

    /// Counts and logs it, and adds its id to the response.
    pub(crate) fn end(self, journal: &Journal, client: &str, response: &mut Response) {
        if let Ok(id) = HeaderValue::from_str(&self.id) {
            response.headers_mut().insert(ID, id);
        }
        let status = response.status().as_u16();
        let outcome = response.extensions_mut().remove::<Outcome>();
        let (call, verdict, code) = match outcome {
            Some(Outcome { call, verdict, code }) => (call, verdict, code),
            None => (None, None, None),
        };
        let (took, verdict) = (self.begun.elapsed(), verdict.map(name));
        journal.requests().count(call.map(|call| call.name), status, verdict, took);
        // Other replies with these statuses are limits, which do their work.
        let has_failed = status >= 500 && code.as_deref() == Some(UNSPECIFIC);
        let level = if has_failed { Level::Error } else { Level::Info };
        let Some(logger) = journal.logger().filter(|logger| logger.has(level)) else { return };
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let method = call.map_or_else(|| known(&self.method), |call| call.method);
        let entry = Entry::new(level, "request")
            .with("method", method.to_owned())
            .with_any("path", call.map(|call| call.path))
            .with_any("call", call.map(|call| call.name))
            .with("status", u64::from(status))
            .with_any("verdict", verdict)
            .with_any("error_code", code)
            .with("duration_us", took)
            .with("client", client.to_owned())
            .with("request_id", self.id);
        logger.log(entry);
    }
}

/// The name of a method that HTTP has. Any other is a text of the client's, of any length.
fn known(method: &Method) -> &'static str {
    let all = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    all.into_iter().find(|known| method == known).unwrap_or("other")
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Right => "right",
        Verdict::Wrong => "wrong",
        Verdict::NotChecked => "not_checked",
    }
}

fn is_well_formed(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(is_allowed)
}

/// An id that no other request has, of this process or, as far as chance goes, of any.
fn generated() -> String {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let keys = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    keys.iter().map(|key| format!("{:016x}", key.hash_one(number))).collect()
}
