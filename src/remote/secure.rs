//! TLS on a connection.

use super::error_mapping::Fault;
use super::socket::Socket;
use super::stream::Stream;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io;
use std::sync::Arc;

/// Returns the configuration for one process. Each has a separate session cache: a forked child could otherwise block
/// indefinitely on a lock that another thread of the parent held at the time of the fork.
pub(super) fn of_process(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.resumption = Resumption::in_memory_sessions(8);
    Arc::new(config)
}

/// Establishes TLS with this host.
pub(super) fn handshake(
    config: &Arc<ClientConfig>,
    host: &str,
    socket: Socket,
) -> Result<Stream, Fault> {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name =
        ServerName::try_from(host).map_err(|_| Fault::Io(io::ErrorKind::InvalidInput.into()))?;
    let connection = ClientConnection::new(Arc::clone(config), name)
        .map_err(|error| Fault::Io(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(Stream::Encrypted(Box::new(stream)))
}
