//! Passes axum's requests to the HTTP edge of the library, and its replies back.

use crate::edge::bodies::BodyBuffer;
use crate::edge::calls::{Call as InProgress, Calls, Used};
use crate::edge::clients::Connection;
use crate::edge::extra::ExtraEndpoints;
#[cfg(unix)]
use crate::edge::local::slots::Slot;
use crate::edge::places::Client;
use crate::edge::pool::{Lane, Pools, Unhandled};
use crate::edge::reading::{self, BODY_TIME, discard};
use crate::edge::replies::response;
use crate::edge::requests::{Outcome, Record, admitted};
use crate::edge::source::Source;
use crate::edge::wrong_tries::WrongTries;
use crate::edge::{framing, sandbox};
use crate::observe::journal::Journal;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::CONNECTION;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
#[cfg(unix)]
use seconder::http::Peer;
use seconder::http::{
    self, BODY_LIMIT, BodyError, Caller, RawReply, RawRequest, RoutedRequest, UNKNOWN_BODY_LIMIT,
};
use seconder::sandbox::{Fate, Sandbox};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The most bytes of a body that are read, 8 MiB. Of a body that is too large, the rest up to this
/// is discarded, so that the client can finish sending and read the reply. If it sends even more,
/// the connection is closed.
const DISCARD: usize = reading::DISCARD * BODY_LIMIT;
/// The time after which a client may try again, if there were too many calls.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Handles the requests of a connection.
#[derive(Clone)]
pub(crate) struct Edge(Arc<Inner>);

struct Inner {
    source: Arc<dyn Source>,
    caller: Caller,
    journal: Arc<Journal>,
    calls: Calls,
    used: OnceLock<Used>,
    pools: Pools,
    /// The endpoints besides the calls, by network.
    extra: ExtraEndpoints,
    /// The place of the connection, given back when the connection is closed and its last call has ended.
    held: Held,
}

/// The place of a connection among the ones that the server accepts.
enum Held {
    Network(Connection),
    #[cfg(unix)]
    Local(#[expect(dead_code, reason = "held until it is dropped")] Slot),
}

impl Edge {
    /// Handles the requests of clients by network.
    pub(crate) fn network(
        (source, extra): (Arc<dyn Source>, ExtraEndpoints),
        journal: Arc<Journal>,
        (calls, pools): (Calls, Pools),
        connection: Connection,
    ) -> Edge {
        let (caller, held) = (Caller::Network, Held::Network(connection));
        let used = OnceLock::new();
        Edge(Arc::new(Inner { source, caller, journal, calls, pools, used, extra, held }))
    }

    /// Handles the requests of a peer of a local socket.
    #[cfg(unix)]
    pub(crate) fn peer(
        source: Arc<dyn Source>,
        caller: Peer,
        journal: Arc<Journal>,
        (calls, pools): (Calls, Pools),
        slot: Slot,
    ) -> Edge {
        let (caller, held) = (Caller::Peer(caller), Held::Local(slot));
        let (used, extra) = (OnceLock::new(), ExtraEndpoints::default());
        Edge(Arc::new(Inner { source, caller, journal, calls, pools, used, extra, held }))
    }

    /// Returns the client of this request, if it comes by network.
    fn client(&self, headers: &HeaderMap) -> Option<Client> {
        match &self.0.held {
            Held::Network(connection) => Some(connection.client(headers)),
            #[cfg(unix)]
            Held::Local(_) => None,
        }
    }

    /// Returns a body of this client, which takes room until its client is known. Connections of a local socket need no
    /// room: they are few, and their peers are known.
    fn buffer(&self, client: Option<Client>) -> BodyBuffer {
        match (&self.0.held, client) {
            (Held::Network(connection), Some(client)) => connection.clients.bodies.body(client),
            _ => BodyBuffer::default(),
        }
    }

    /// Returns the sender of a request, for the log: a program, whose address is needed to investigate an attack. The
    /// addresses of users are parameters, and are not logged.
    fn name(&self, client: Option<Client>) -> String {
        match (&self.0.caller, client) {
            #[cfg(unix)]
            (Caller::Peer(peer), _) => format!("uid:{}", peer.uid()),
            (_, client) => client.map(|client| client.to_string()).unwrap_or_default(),
        }
    }

    /// Returns a router that passes everything on: the library matches the path and the method itself.
    pub(crate) fn router(self) -> Router {
        Router::new().fallback(logged).with_state(self)
    }

    /// Reads a body to its end, or until it is certain to be too large. More than a little of it is kept only for
    /// clients that have a key, and nothing more of all others while there is no room for their bodies: strangers could
    /// fill the memory otherwise.
    async fn read_body(
        &self,
        routed: &Arc<RoutedRequest>,
        client: Option<Client>,
        mut body: Body,
    ) -> Result<Result<BodyBuffer, BodyError>, RawReply> {
        let mut kept = self.buffer(client);
        let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if expected > DISCARD {
            // The announced length suffices: no byte of the body has to arrive.
            return Ok(Err(BodyError::TooLarge));
        }
        if kept.is_limited() && expected > UNKNOWN_BODY_LIMIT {
            self.admit(routed, client, &mut body, expected).await?;
            kept.lift_limit();
        }
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return Ok(Err(BodyError::Incomplete)) };
            let data: Bytes = frame.into_data().unwrap_or_default();
            length += data.len();
            if length > DISCARD {
                break;
            }
            if length > BODY_LIMIT {
                kept.clear();
            } else if kept.is_limited() && length > UNKNOWN_BODY_LIMIT || !kept.extend(&data) {
                self.admit(routed, client, &mut body, length).await?;
                kept.lift_limit();
                let _ = kept.extend(&data);
            }
        }
        Ok(if length <= BODY_LIMIT { Ok(kept) } else { Err(BodyError::TooLarge) })
    }

    /// Checks the key of the client that sends a body of at least this length.
    async fn admit(
        &self,
        routed: &Arc<RoutedRequest>,
        client: Option<Client>,
        body: &mut Body,
        length: usize,
    ) -> Result<(), RawReply> {
        let mut checked = self.check_key(routed, client).await;
        if length <= UNKNOWN_BODY_LIMIT && checked.as_ref().is_err_and(|reply| !reply.unauthorized)
        {
            // The key may be in the body, for which there is no room.
            checked = Err(routed.overloaded(&*self.0.source, RETRY_AFTER));
        }
        if checked.is_err() {
            // The client can finish sending, and read the reply.
            let discarded = discard(body, BODY_LIMIT);
            drop(tokio::time::timeout(BODY_TIME, discarded).await);
        }
        checked
    }

    async fn check_key(
        &self,
        routed: &Arc<RoutedRequest>,
        client: Option<Client>,
    ) -> Result<(), RawReply> {
        let (pool, lane) = (self.0.pools.of_database(), Lane::of(&self.0.caller));
        if pool.is_full(lane) {
            return Err(routed.overloaded(&*self.0.source, RETRY_AFTER));
        }
        let (edge, own) = (self.clone(), Arc::clone(routed));
        let check = move || {
            edge.refuse(&own, client)?;
            own.check_key(&*edge.0.source).inspect_err(|reply| {
                if reply.unauthorized {
                    edge.count(client);
                }
            })
        };
        match pool.run(lane, check).await {
            Ok(checked) => checked,
            Err(Unhandled::Full) => Err(routed.overloaded(&*self.0.source, RETRY_AFTER)),
            Err(Unhandled::Panicked) => Err(RawReply::internal_error()),
        }
    }

    /// Handles a call that has arrived completely.
    async fn reply(
        &self,
        routed: RoutedRequest,
        client: Option<Client>,
        mut call: InProgress,
        record: Record,
    ) -> Response {
        let fate = match self.0.source.sandbox() {
            Some(sandbox) => sandbox::fate(sandbox, &routed).await,
            None => Fate::Handled,
        };
        match fate {
            Fate::Handled | Fate::Lost => {}
            Fate::Replied(reply) => return response(*reply),
            Fate::Dropped => return self.cut(),
        }
        let lane = Lane::of(&self.0.caller);
        // The key may be in the body.
        self.note_key(&routed, &record);
        let pool = self.0.pools.of(routed.call()).clone();
        if pool.is_full(lane) {
            return response(routed.overloaded(&*self.0.source, RETRY_AFTER));
        }
        call.arrived();
        // The engine blocks while it waits for its database and for the delivery of messages, and a
        // relay for its service. On a thread of the runtime, they would hold up other connections.
        let edge = self.clone();
        let reply = pool.run(lane, move || {
            let reply = edge.respond(routed, client);
            record.note_outcome(Outcome::of(&reply));
            // The call is in progress until now, even if the client has gone.
            drop(call);
            reply
        });
        let reply = reply.await.unwrap_or_else(|unhandled| match unhandled {
            Unhandled::Full => RawReply::overloaded(RETRY_AFTER),
            Unhandled::Panicked => RawReply::internal_error(),
        });
        match fate {
            Fate::Lost => self.cut(),
            _ => response(reply),
        }
    }

    /// Handles a request that a test makes of its sandbox.
    async fn operate(
        &self,
        sandbox: &Sandbox,
        client: Option<Client>,
        request: Request,
    ) -> Response {
        let wait =
            self.wait_of(client).filter(|_| !sandbox::is_authorized(sandbox, request.headers()));
        if let Some(wait) = wait {
            return sandbox::refused(wait);
        }
        let response = sandbox::respond(sandbox, request).await;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.count(client);
            return response;
        }
        admitted(response)
    }

    /// Ends the connection. The response is not written.
    fn cut(&self) -> Response {
        if let Held::Network(connection) = &self.0.held {
            connection.activity.cut();
        }
        Response::new(Body::empty())
    }

    fn respond(&self, routed: RoutedRequest, client: Option<Client>) -> RawReply {
        if let Err(reply) = self.refuse(&routed, client) {
            return reply;
        }
        let reply = routed.respond(&*self.0.source, self.0.caller.clone());
        if reply.unauthorized {
            self.count(client);
        }
        if let Some(refused) = &reply.refused {
            self.0.journal.note(&format!("warning: {refused}"));
        }
        reply
    }
}

/// The keys that no application has.
impl Edge {
    /// Refuses a client that has sent too many of them, unless this request has one of an application.
    fn refuse(&self, routed: &RoutedRequest, client: Option<Client>) -> Result<(), RawReply> {
        let wait = self.wait_of(client);
        let refused = wait.and_then(|wait| routed.refuse_stranger(&*self.0.source, wait));
        refused.map_or(Ok(()), |reply| {
            self.wrong_keys().inspect(|keys| keys.add_refused());
            Err(reply)
        })
    }

    /// Notes if an application has the key of a request.
    fn note_key(&self, routed: &RoutedRequest, record: &Record) {
        if !record.is_admitted() && routed.has_kept_key(&*self.0.source) {
            record.note_admitted();
        }
    }

    /// Returns the time that a client has to wait after too many wrong keys; `None` if it need not.
    fn wait_of(&self, client: Option<Client>) -> Option<Duration> {
        self.wrong_keys()?.wait(client?, Instant::now())
    }

    /// Counts one.
    fn count(&self, client: Option<Client>) {
        let Some((keys, client)) = self.wrong_keys().zip(client) else { return };
        if keys.add(client, Instant::now()) {
            self.0.journal.note(&format!(
                "warning: {client} has sent too many API keys that no application has: further ones are \
                 refused for a while. If it is a proxy, name it with trusted_proxies"
            ));
        }
    }

    fn wrong_keys(&self) -> Option<&WrongTries> {
        match &self.0.held {
            Held::Network(connection) => Some(&connection.clients.wrong_keys),
            #[cfg(unix)]
            Held::Local(_) => None,
        }
    }
}

/// Handles every request, and logs it.
async fn logged(State(edge): State<Edge>, request: Request) -> Response {
    let client = edge.client(request.headers());
    let (method, headers) = (request.method(), request.headers());
    let record = Record::begin(&edge.0.journal, edge.name(client), method, headers);
    let is_last = framing::is_last(headers);
    let mut response = handle(&edge, client, request, &record).await;
    if is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    record.end(&mut response);
    response
}

/// Handles a request.
async fn handle(
    edge: &Edge,
    client: Option<Client>,
    request: Request,
    record: &Record,
) -> Response {
    let call = edge.0.calls.begin();
    let _active = match &edge.0.held {
        Held::Network(connection) => Some(connection.activity.begin()),
        #[cfg(unix)]
        Held::Local(_) => None,
    };
    edge.0.used.get_or_init(|| edge.0.calls.first());
    let (head, body) = request.into_parts();
    if let Some(wrong) = framing::ambiguity(&head) {
        return (StatusCode::BAD_REQUEST, [(CONNECTION, "close")], wrong).into_response();
    }
    if let Some(sandbox) = edge.0.source.sandbox()
        && sandbox::owns(head.uri.path())
    {
        return edge.operate(sandbox, client, Request::from_parts(head, body)).await;
    }
    let mut request = Request::from_parts(head, body);
    if let Some(client) = client {
        if let Some(operators) = &edge.0.extra.operators {
            return operators.handle(client, request, record, call).await;
        }
        match edge.0.extra.handle(client, request, record).await {
            Ok(response) => return response,
            Err(others) => request = others,
        }
    }
    let (head, mut body) = request.into_parts();
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut raw = RawRequest::new(head.method.as_str(), target).id(record.id());
    for (name, value) in &head.headers {
        raw = raw.header(name.as_str(), value.as_bytes());
    }
    // The body of a request that no call can use is not waited for, except by HTTP/2: some clients do not read the
    // response to a request that is cut off, although they should (RFC 9113, 8.1).
    let routed = match http::route(&*edge.0.source, raw) {
        Ok(routed) => routed,
        Err(reply) => {
            if head.version == Version::HTTP_2 {
                drop(tokio::time::timeout(BODY_TIME, discard(&mut body, BODY_LIMIT)).await);
            }
            return response(reply);
        }
    };
    record.note_call(routed.call().route());
    edge.note_key(&routed, record);
    let routed = Arc::new(routed);
    let body = tokio::time::timeout(BODY_TIME, edge.read_body(&routed, client, body)).await;
    let body = match body.unwrap_or(Ok(Err(BodyError::TooSlow))) {
        Ok(body) => body,
        Err(reply) => return response(reply),
    };
    // The key of the request may still be being checked, by a database that hangs.
    let Some(routed) = Arc::into_inner(routed) else {
        return response(RawReply::internal_error());
    };
    let routed = match body {
        Ok(body) => routed.body(body.take()),
        Err(error) => routed.body_error(error),
    };
    edge.reply(routed, client, call, record.clone()).await
}
