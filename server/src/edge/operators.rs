//! Operations and calls of operators, on a listener of their own. The token is checked before the
//! path and the body are read.

use crate::edge::bodies::Bodies;
use crate::edge::calls::Call as InProgress;
use crate::edge::places::Client;
use crate::edge::reading::{BODY_TIME, Unread, discard, read_body};
use crate::edge::replies::response;
use crate::edge::requests::Record;
use crate::edge::source::Source;
use crate::edge::wrong_tries::{EACH_KEY, KEYS, WrongTries};
use crate::invalid;
use crate::observe::journal::Journal;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Version, header};
use axum::response::Response;
use seconder::engine::Engine;
use seconder::engine::operator::{Operator, operations};
use seconder::http::{
    BODY_LIMIT, OPERATOR_PATH, RawReply, RawRequest, bearer_token, respond_to_operator,
};
use seconder::model::Secret;
use seconder::{Error, Result};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The most operations at once. They have threads of their own: a long one holds up no login.
const AT_ONCE: usize = 8;
/// The number of tokens that are remembered because they were right.
const REMEMBERED: usize = 64;

/// The endpoint for operators. Clones are the same.
#[derive(Clone)]
pub(crate) struct Operators(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// Set if calls for some users are forwarded to another service.
    forwards: bool,
    journal: Arc<Journal>,
    bodies: Arc<Bodies>,
    wrong_tokens: Arc<WrongTries>,
    /// The hashes of tokens that were right: a stranger who sends wrong ones from the same address does not keep their
    /// operators out.
    right: Mutex<VecDeque<u64>>,
    /// The key of these hashes, which no client knows.
    hashes: RandomState,
    at_once: Arc<Semaphore>,
    /// Tokens are looked up in turn, apart from operations, which may take long.
    looking_up: Semaphore,
}

impl Operators {
    /// Returns the endpoint of a server with this source.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the source has no operators.
    pub(crate) fn of(source: &dyn Source, journal: &Arc<Journal>) -> Result<Operators> {
        let Some(engine) = source.engine().filter(|_| source.sandbox().is_none()) else {
            return Err(invalid(
                "operator-listen",
                "is for a database: a relay and a sandbox have no operators",
            ));
        };
        Ok(Operators(Arc::new(Inner {
            engine,
            forwards: source.forwards(),
            journal: Arc::clone(journal),
            bodies: Arc::default(),
            wrong_tokens: Arc::new(WrongTries::new(KEYS, EACH_KEY)),
            right: Mutex::default(),
            hashes: RandomState::new(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            looking_up: Semaphore::new(AT_ONCE),
        })))
    }

    /// Returns the wrong tokens, by address.
    pub(crate) fn wrong_tokens(&self) -> &Arc<WrongTries> {
        &self.0.wrong_tokens
    }

    /// Handles any request.
    pub(crate) async fn handle(
        &self,
        client: Client,
        request: Request,
        record: &Record,
        call: InProgress,
    ) -> Response {
        record.note_path(OPERATOR_PATH);
        let (head, mut body) = request.into_parts();
        match self.admit(client, &head.headers).await {
            Ok(operator) => {
                record.note_admitted();
                match self.reply(client, operator, (head, body), record, call).await {
                    Ok(reply) => response(reply),
                    Err(error) => failed(&error),
                }
            }
            Err(error) => {
                // Some clients do not read the response to a request that is cut off.
                if head.version == Version::HTTP_2 {
                    drop(tokio::time::timeout(BODY_TIME, discard(&mut body, BODY_LIMIT)).await);
                }
                failed(&error)
            }
        }
    }

    async fn reply(
        &self,
        client: Client,
        operator: Operator,
        (head, body): (Parts, Body),
        record: &Record,
        mut call: InProgress,
    ) -> Result<RawReply> {
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let operation = head.uri.path().strip_prefix(OPERATOR_PATH);
        if let Some(known) =
            operation.and_then(|name| operations().find(|known| known.name == name))
        {
            record.note_path(known.name);
        }
        if operation.is_none() && self.0.forwards {
            let message = "Calls are forwarded to another service, which knows no operators: make them with the API key.";
            return Err(Error::rejected(403, None, message));
        }
        let mut raw = RawRequest::new(head.method.as_str(), target).id(record.id());
        for (name, value) in &head.headers {
            raw = raw.header(name.as_str(), value.as_bytes());
        }
        let mut buffer = self.0.bodies.body(client);
        buffer.lift_limit();
        let raw = match read_body(body, BODY_LIMIT, buffer).await {
            Ok(body) => raw.body(body.take()),
            Err(Unread::Body(error)) => raw.body_error(error),
            Err(Unread::Full) => return Err(busy()),
        };
        call.arrived();
        let Ok(permit) = Arc::clone(&self.0.at_once).try_acquire_owned() else {
            return Err(busy());
        };
        let engine = self.0.engine.clone();
        on_thread(move || {
            let reply = respond_to_operator(&engine, &operator, raw);
            // It is in progress until now, even if the client has gone.
            drop((permit, call));
            reply
        })
        .await
    }

    /// Returns the operator who has the token of a request.
    async fn admit(&self, client: Client, headers: &HeaderMap) -> Result<Operator> {
        let values = headers.get_all(header::AUTHORIZATION).iter().map(HeaderValue::as_bytes);
        let token = bearer_token(values);
        let wait = self.0.wrong_tokens.wait(client, Instant::now());
        if let Some(wait) =
            wait.filter(|_| !token.as_ref().is_ok_and(|token| self.was_right(token)))
        {
            self.0.wrong_tokens.add_refused();
            return Err(limited(
                "Too many wrong tokens were sent from this address. Try again later.",
                wait,
            ));
        }
        let found = match &token {
            Ok(token) => self.look_up(token).await,
            Err(error) => Err(error.clone()),
        };
        if let Ok(token) = &token {
            self.remember(token, found.is_ok());
        }
        match found {
            Ok(operator) => Ok(operator),
            Err(error) => {
                let is_wrong = matches!(&error, Error::Rejected(no) if no.status == 401);
                if is_wrong && self.0.wrong_tokens.add(client, Instant::now()) {
                    self.0.journal.note(&format!(
                        "warning: {client} has sent too many tokens that no operator has: further ones are refused for a while. If it \
                         is a proxy, name it with trusted_proxies"
                    ));
                }
                Err(error)
            }
        }
    }

    async fn look_up(&self, token: &Secret) -> Result<Operator> {
        // It is never closed.
        let _turn = self.0.looking_up.acquire().await;
        let (engine, token) = (self.0.engine.clone(), token.clone());
        on_thread(move || engine.operator(&token)).await?
    }

    fn was_right(&self, token: &Secret) -> bool {
        let right = self.0.right.lock().unwrap_or_else(PoisonError::into_inner);
        right.contains(&self.0.hashes.hash_one(token.expose()))
    }

    fn remember(&self, token: &Secret, is_right: bool) {
        let hash = self.0.hashes.hash_one(token.expose());
        let mut right = self.0.right.lock().unwrap_or_else(PoisonError::into_inner);
        right.retain(|known| *known != hash);
        if is_right {
            right.truncate(REMEMBERED - 1);
            right.push_front(hash);
        }
    }
}

/// Runs work that blocks, on a thread of its own.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let ran = tokio::task::spawn_blocking(work);
    ran.await.map_err(|_| crate::internal("a thread ended"))
}

fn busy() -> Error {
    limited("The service has too many operations at once. Try again later.", Duration::from_secs(1))
}

fn limited(message: &str, wait: Duration) -> Error {
    let (message, retry_after) = (message.to_owned(), Some(wait));
    Error::RateLimited { message, retry_after, code: None, limit: None }
}

fn failed(error: &Error) -> Response {
    let reply = RawReply::of_error(error);
    let is_unauthorized = reply.unauthorized;
    let mut response = response(reply);
    if is_unauthorized {
        let scheme = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}
