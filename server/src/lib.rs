//! Serves the engine of the crate [`seconder`] over HTTPS and on local sockets, and relays from local
//! sockets to a remote service.
//!
//! The program `seconder` is built on this crate. Tests of clients can use it too:
//!
//! ```no_run
//! use seconder_server::{Server, Tls};
//! let engine = seconder::Settings::new("sandbox:").api_key("key").open()?;
//! let server = Server::start(engine, "127.0.0.1:0".parse().unwrap(), Tls::SelfSigned)?;
//! std::fs::write("certificate.pem", server.certificate_pem()).unwrap();
//! let client = seconder::Settings::new(&server.url()).api_key("key").ca_file("certificate.pem");
//! println!("{:?}", client.open()?.app_details()?);
//! # Ok::<(), seconder::Error>(())
//! ```

mod approver;
mod bodies;
mod calls;
mod certificate;
#[cfg(test)]
mod documented;
mod edge;
mod forwarding;
mod framing;
pub mod gateway;
mod idle_timeout;
mod inbound;
mod journal;
mod listeners;
#[cfg(unix)]
mod local;
mod log;
mod metrics;
mod network;
mod operators;
mod places;
mod pool;
mod protocols;
mod proxies;
mod public_url;
mod pulse;
mod requests;
pub mod routes;
mod sandbox;
mod server;
mod signals;
mod source;
#[cfg(unix)]
mod systemd;
mod tls;
#[cfg(feature = "otlp")]
mod traces;
mod workers;
mod write_timeout;
mod wrong_tries;

pub use approver::{ApproverDevice, Brand, PendingRequest};
pub use forwarding::Forward;
pub use listeners::Listeners;
#[cfg(unix)]
pub use local::{LocalSocket, PeerRules, SocketOptions, user_number};
pub use log::{Entry, Level, LogFormat, Logger};
pub use metrics::Metrics;
#[cfg(target_os = "linux")]
pub use network::protect_memory;
#[cfg(unix)]
pub use network::raise_descriptor_limit;
pub use public_url::PublicUrl;
pub use pulse::Pulse;
pub use server::Server;
pub use signals::{Signal, Signals};
#[cfg(unix)]
pub use systemd::{Notifier, Watchdog};
pub use tls::{CERTIFICATE_RENEWAL, Tls};
#[cfg(feature = "otlp")]
pub use traces::Traces;
pub use workers::Workers;

use seconder::Error;

fn invalid(parameter: &'static str, reason: impl Into<String>) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into().into() }
}

fn internal(message: &str) -> Error {
    Error::Internal { message: message.into() }
}
