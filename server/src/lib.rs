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
#[cfg(test)]
mod documented;
mod edge;
mod forwarding;
mod observe;
mod public_url;
mod sending;
mod server;

pub use approver::{ApproverDevice, Brand, PendingRequest};
#[cfg(unix)]
pub use edge::local::{LocalSocket, PeerRules, SocketOptions, user_number};
#[cfg(target_os = "linux")]
pub use edge::network::protect_memory;
#[cfg(unix)]
pub use edge::network::raise_descriptor_limit;
pub use edge::tls::{CERTIFICATE_RENEWAL, Tls};
pub use forwarding::Forward;
pub use observe::log::entry::{Entry, Level};
pub use observe::log::{LogFormat, Logger};
pub use observe::metrics::Metrics;
pub use observe::pulse::Pulse;
pub use observe::signals::{Signal, Signals};
#[cfg(unix)]
pub use observe::systemd::{Notifier, Watchdog};
#[cfg(feature = "otlp")]
pub use observe::traces::Traces;
pub use public_url::PublicUrl;
pub use sending::routes;
pub use sending::workers::Workers;
pub use server::Server;
pub use server::listeners::Listeners;

use seconder::Error;

fn invalid(parameter: &'static str, reason: impl Into<String>) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into().into() }
}

fn internal(message: &str) -> Error {
    Error::Internal { message: message.into() }
}
