//! TLS on a connection.

use super::error_mapping::Fault;
use super::socket::Socket;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, IoState, StreamOwned};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// A connection to a service: with TLS, or without it on this machine.
pub(super) enum Stream {
    Plain(Socket),
    Encrypted(Box<StreamOwned<ClientConnection, Socket>>),
}

/// The configuration of one process. Each has a separate session cache: a forked child could
/// otherwise wait for ever for a lock that another thread of the parent held at the time of the fork.
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

impl Stream {
    pub(super) fn socket(&mut self) -> &mut Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Encrypted(stream) => &mut stream.sock,
        }
    }

    /// Whether the connection can be reused. Data after a response would be taken for the response
    /// to the next call, so there must be none: neither decrypted, nor received but not decrypted.
    pub(super) fn is_idle(&mut self) -> bool {
        let idle =
            |state: IoState| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed();
        match self {
            Stream::Plain(socket) => socket.is_idle(),
            Stream::Encrypted(stream) => {
                stream.conn.process_new_packets().is_ok_and(idle) && stream.sock.is_idle()
            }
        }
    }
}

impl Read for Stream {
    /// An attacker on the network can close a connection, but cannot send TLS's own end of data. A
    /// truncated response without a length would otherwise seem complete, so that is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Encrypted(stream) => stream.flush(),
        }
    }
}
