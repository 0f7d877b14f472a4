//! The line of the log for each request, and the id by which it is found in the logs of client and service.

use crate::observe::journal::Journal;
use crate::observe::log::REQUEST;
use crate::observe::log::entry::{Entry, Level};
use crate::observe::metrics::requests::Counted;
#[cfg(feature = "otlp")]
use crate::observe::traces::{Ended, Traces};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use seconder::calls::{Route, Verdict};
use seconder::http::RawReply;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroI64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

const ID: HeaderName = HeaderName::from_static("seconder-request-id");
/// The longest id that a client may give.
const LONGEST: usize = 64;
/// The status of a request whose client went away before the response, as other servers log it. No client
/// ever receives it.
const CLIENT_GONE: u16 = 499;
/// The most characters of an error's text that are logged: the text of another service may be of any length.
const LONGEST_ERROR: usize = 500;

/// The reason for the failure of a request whose thread panicked.
pub(crate) const PANICKED: &str = "a thread panicked, please report it";

/// A request that is being handled. Clones are the same. A request whose last clone is dropped without a response is
/// counted and logged too: its client went away, or the server stops. A call that goes on meanwhile holds one, so the
/// line has its outcome.
#[derive(Clone)]
pub(crate) struct Record(Arc<Inner>);

struct Inner {
    journal: Arc<Journal>,
    client: String,
    begun: Instant,
    method: Method,
    id: String,
    call: OnceLock<&'static Route>,
    /// The path, if it does not belong to a call.
    path: OnceLock<&'static str>,
    outcome: OnceLock<Outcome>,
    is_ended: AtomicBool,
    /// Set if only some clients can make such a request, as far as this is known before its outcome.
    admitted: AtomicBool,
    /// The span of the client.
    #[cfg(feature = "otlp")]
    parent: Option<opentelemetry::Context>,
}

/// The facts about a call in its response, for the log. They hold no secrets.
#[derive(Clone, Default)]
pub(crate) struct Outcome {
    call: Option<&'static Route>,
    app_id: Option<i64>,
    verdict: Option<Verdict>,
    code: Option<String>,
    failure: Option<Box<str>>,
    /// Set if only some clients can make such a request.
    admitted: bool,
}

impl Outcome {
    pub(crate) fn of(reply: &RawReply) -> Outcome {
        let (code, failure) = (reply.code.clone().map(String::from), reply.failure.clone());
        let (call, app_id, verdict) =
            (reply.call, reply.app_id.map(NonZeroI64::get), reply.verdict);
        Outcome { call, app_id, verdict, code, failure, admitted: reply.admitted }
    }
}

/// Marks the response to a request which is no call, of a phone or a provider that the service knows.
pub(crate) fn admitted(mut response: Response) -> Response {
    response.extensions_mut().insert(Outcome { admitted: true, ..Outcome::default() });
    response
}

/// Marks the response to a request which is no call, and which failed in the service.
pub(crate) fn failed(mut response: Response, why: &str) -> Response {
    let failure = Some(why.into());
    response.extensions_mut().insert(Outcome { failure, ..Outcome::default() });
    response
}

impl Record {
    /// Begins the record of a client's request with this method and head.
    pub(crate) fn begin(
        journal: &Arc<Journal>,
        client: String,
        method: &Method,
        headers: &HeaderMap,
    ) -> Record {
        let mut given = headers.get_all(ID).iter();
        let id = match (given.next().and_then(|id| id.to_str().ok()), given.next()) {
            (Some(id), None) if is_well_formed(id) => id.to_owned(),
            _ => generated(),
        };
        Record(Arc::new(Inner {
            journal: Arc::clone(journal),
            client,
            begun: Instant::now(),
            method: method.clone(),
            id,
            call: OnceLock::new(),
            path: OnceLock::new(),
            outcome: OnceLock::new(),
            is_ended: AtomicBool::new(false),
            admitted: AtomicBool::new(false),
            #[cfg(feature = "otlp")]
            parent: journal.traces().map(|_| Traces::parent(headers)),
        }))
    }

    /// Notes the call, which is logged even if there will be no response.
    pub(crate) fn note_call(&self, call: &'static Route) {
        // A request is of one call.
        let _ = self.0.call.set(call);
    }

    /// Returns the id, which the audit has too.
    pub(crate) fn id(&self) -> &str {
        &self.0.id
    }

    /// Notes that an application has the API key of the request, so that it is logged in any case.
    pub(crate) fn note_admitted(&self) {
        self.0.admitted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_admitted(&self) -> bool {
        self.0.admitted.load(Ordering::Relaxed)
    }

    /// Notes the path of a request that is not a call.
    pub(crate) fn note_path(&self, path: &'static str) {
        let _ = self.0.path.set(path);
    }

    /// Notes the outcome of the call, in case there is no response.
    pub(crate) fn note_outcome(&self, outcome: Outcome) {
        // A call is made once.
        let _ = self.0.outcome.set(outcome);
    }

    /// Counts and logs it, and adds its id to the response.
    pub(crate) fn end(self, response: &mut Response) {
        if let Ok(id) = HeaderValue::from_str(&self.0.id) {
            response.headers_mut().insert(ID, id);
        }
        let outcome = response.extensions_mut().remove::<Outcome>().unwrap_or_default();
        self.0.is_ended.store(true, Ordering::Relaxed);
        self.0.log(response.status().as_u16(), &outcome);
    }
}

impl Inner {
    /// Returns the path without ids and codes, as far as it is known.
    fn path(&self, call: Option<&'static Route>) -> Option<&'static str> {
        call.map(|call| call.path).or(self.path.get().copied())
    }

    fn log(&self, status: u16, outcome: &Outcome) {
        let admitted = outcome.admitted || self.admitted.load(Ordering::Relaxed);
        #[cfg(feature = "otlp")]
        self.trace(status, outcome, admitted);
        let Outcome { app_id, verdict, code, failure, .. } = outcome;
        let call = outcome.call.or(self.call.get().copied());
        let (took, verdict) = (self.begun.elapsed(), verdict.map(name));
        let call_name = call.map(|call| call.name);
        let request = Counted { call: call_name, app_id: *app_id, status, verdict };
        self.journal.requests().count(&request, took, failure.is_some());
        let level = if failure.is_some() { Level::Error } else { Level::Info };
        let Some(logger) = self.journal.logger().filter(|logger| logger.has(level)) else { return };
        let may_log = admitted
            || match failure {
                Some(_) => self.journal.may_log_failure(),
                None => self.journal.may_log_stranger(&self.client),
            };
        if !may_log {
            return;
        }
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let method = call.map_or_else(|| known(&self.method), |call| call.method);
        let entry = Entry::new(level, REQUEST)
            .with("method", method.to_owned())
            .with_any("path", self.path(call))
            .with_any("call", call_name)
            .with("status", u64::from(status))
            .with_any("verdict", verdict)
            .with_any("error_code", code.clone())
            .with_any("error", failure.as_deref().map(shortened))
            .with("duration_us", took)
            .with("client", self.client.clone())
            .with("request_id", self.id.clone())
            .with_any("app_id", app_id.and_then(|id| u64::try_from(id).ok()));
        logger.log(entry);
    }
}

/// Its span, which has the facts of its line.
#[cfg(feature = "otlp")]
impl Inner {
    fn trace(&self, status: u16, outcome: &Outcome, admitted: bool) {
        let Some((traces, parent)) = self.journal.traces().zip(self.parent.as_ref()) else {
            return;
        };
        let call = outcome.call.or(self.call.get().copied());
        let nobody = opentelemetry::Context::new();
        let more = [
            ("seconder.call", call.map(|call| call.name.to_owned())),
            ("seconder.app_id", outcome.app_id.map(|id| id.to_string())),
            ("seconder.verdict", outcome.verdict.map(|verdict| name(verdict).to_owned())),
            ("seconder.error_code", outcome.code.clone()),
            ("seconder.request_id", Some(self.id.clone())),
            ("client.address", Some(self.client.clone())),
        ];
        traces.record(Ended {
            // Strangers do not decide which requests have a span.
            parent: if admitted { parent } else { &nobody },
            took: self.begun.elapsed(),
            method: call.map_or_else(|| known(&self.method), |call| call.method),
            route: self.path(call),
            status,
            more: more.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
            failure: outcome.failure.as_deref().map(shortened),
        });
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_ERROR).collect()
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.is_ended.load(Ordering::Relaxed) {
            return;
        }
        let outcome = self.outcome.take().unwrap_or_default();
        if std::thread::panicking() {
            let failure = Some(PANICKED.into());
            return self.log(500, &Outcome { failure, ..outcome });
        }
        self.log(CLIENT_GONE, &outcome);
    }
}

/// Returns the name of a method that HTTP has. Any other is a text of the client's, of any length.
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

/// Returns an id that no other request has, of this process or, as far as chance goes, of any.
fn generated() -> String {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let keys = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    keys.iter().map(|key| format!("{:016x}", key.hash_one(number))).collect()
}
