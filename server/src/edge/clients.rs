//! The clients by network, and their connections.

use crate::edge::bodies::Bodies;
use crate::edge::places::{Client, Full, Place, Places};
use crate::edge::proxies::Proxies;
use crate::edge::time_limits::Activity;
use crate::edge::wrong_tries::{self, WrongTries};
use axum::http::HeaderMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The state of the clients by network, shared by all listeners of a server.
#[derive(Clone)]
pub(crate) struct Clients {
    places: Arc<Places>,
    pub(crate) proxies: Arc<Proxies>,
    /// The bodies of calls.
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) wrong_keys: Arc<WrongTries>,
}

/// A connection by network, until it is dropped.
pub(crate) struct Connection {
    pub(crate) _place: Place,
    pub(crate) activity: Activity,
    pub(crate) clients: Clients,
    /// The address of the peer, or of the client that its proxy names.
    pub(crate) from: IpAddr,
}

impl Clients {
    pub(crate) fn new(places: Arc<Places>, proxies: Proxies) -> Clients {
        let wrong_keys = Arc::new(WrongTries::new(wrong_tries::KEYS, wrong_tries::EACH_KEY));
        Clients { places, proxies: Arc::new(proxies), bodies: Arc::default(), wrong_keys }
    }

    /// Takes a place for a connection. A proxy may have all of them.
    pub(crate) fn place(&self, peer: IpAddr) -> Result<Place, Full> {
        if self.proxies.has(peer) { self.places.take_any() } else { self.places.take(peer) }
    }
}

impl Connection {
    /// Returns the client of this request.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Client {
        Client::of(self.clients.proxies.client(self.from, headers))
    }
}
