//! Identifies the peer of each connection.

use super::rules::PeerRules;
use super::slots::Slots;
use crate::edge::calls::Calls;
use crate::edge::endpoint::Edge;
use crate::edge::pool::Pools;
use crate::edge::source::Source;
use crate::edge::time_limits::TimeLimits;
use crate::observe::journal::Journal;
use axum::Router;
use axum_server::accept::Accept;
use seconder::http::Peer;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

/// The time that the user database may take for the name and the groups of a peer.
const LOOK_UP: Duration = Duration::from_secs(5);
/// The most look-ups that may be under way. Each has a thread until the database responds, and calls need threads too.
const LOOK_UPS: usize = 32;

/// Finds the rights of each connection's peer, and closes those beyond the limits.
#[derive(Clone)]
pub(crate) struct PeerAcceptor {
    source: Arc<dyn Source>,
    rules: Arc<PeerRules>,
    slots: Arc<Slots>,
    journal: Arc<Journal>,
    calls: (Calls, Pools),
    look_ups: Arc<Semaphore>,
    write_limit: Duration,
}

impl<S> Accept<UnixStream, S> for PeerAcceptor {
    type Stream = TimeLimits<UnixStream>;
    type Service = Router;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Router)>> + Send>>;

    fn accept(&self, stream: UnixStream, _: S) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let peer = stream.peer_cred()?;
            let Some(slot) = this.slots.take(peer.uid()) else {
                let reason = format!("user {} has too many connections to this socket", peer.uid());
                // The socket's buffer is empty, so this does not wait.
                let _ = stream.try_write(&too_many(&reason));
                this.journal.requests().refuse_connection("places_of_user");
                this.journal.note(&format!("warning: {reason}, and another one was closed"));
                return Err(io::Error::other(reason));
            };
            let peer = this.peer(peer.uid(), peer.gid()).await;
            let edge = Edge::peer(this.source, peer, this.journal, this.calls, slot);
            Ok((TimeLimits::new(stream, this.write_limit), edge.router()))
        })
    }
}

impl PeerAcceptor {
    pub(crate) fn new(
        source: Arc<dyn Source>,
        rules: PeerRules,
        slots: Arc<Slots>,
        journal: Arc<Journal>,
        calls: (Calls, Pools),
        write_limit: Duration,
    ) -> PeerAcceptor {
        let (rules, look_ups) = (Arc::new(rules), Arc::new(Semaphore::new(LOOK_UPS)));
        PeerAcceptor { source, rules, slots, journal, calls, look_ups, write_limit }
    }

    async fn peer(&self, uid: u32, gid: u32) -> Peer {
        if !self.rules.need_names(uid) {
            return self.rules.peer(uid, gid);
        }
        let look_up = async {
            let place = Arc::clone(&self.look_ups).acquire_owned().await.ok()?;
            let rules = Arc::clone(&self.rules);
            let found = tokio::task::spawn_blocking(move || {
                let peer = rules.peer(uid, gid);
                drop(place);
                peer
            });
            found.await.ok()
        };
        if let Ok(Some(peer)) = tokio::time::timeout(LOOK_UP, look_up).await {
            return peer;
        }
        self.journal.note(&format!(
            "warning: the user database gave no name and groups for user {uid} in time, so rules for own \
             accounts, and for groups other than {gid}, do not apply"
        ));
        self.rules.peer_without_names(uid, gid)
    }
}

/// Returns the reply on a connection beyond the limits. It has no code, because the code of a wait is for decisions
/// about a user, such as too many wrong codes.
fn too_many(reason: &str) -> Vec<u8> {
    let body = serde_json::json!({
        "message": reason, "success": false, "errors": {"message": reason},
    });
    let body = body.to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\n\
         retry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
