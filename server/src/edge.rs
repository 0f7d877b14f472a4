//! The way of a request from a connection to the engine: listeners, TLS, limits for strangers, and replies.

pub(crate) mod bodies;
pub(crate) mod calls;
pub(crate) mod certificate;
pub(crate) mod clients;
pub(crate) mod endpoint;
pub(crate) mod extra;
pub(crate) mod framing;
pub(crate) mod inbound;
#[cfg(unix)]
pub(crate) mod local;
pub(crate) mod monitors;
pub(crate) mod network;
pub(crate) mod operators;
pub(crate) mod places;
pub(crate) mod pool;
pub(crate) mod protocols;
pub(crate) mod proxies;
pub(crate) mod reading;
pub(crate) mod replies;
pub(crate) mod requests;
pub(crate) mod sandbox;
pub(crate) mod source;
pub(crate) mod time_limits;
pub(crate) mod tls;
pub(crate) mod wrong_tries;
