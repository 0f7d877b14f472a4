//! A connection to a service: with TLS, or without it on this machine.

#[cfg(feature = "https")]
use super::deadline::Deadline;
use super::socket::Socket;
#[cfg(feature = "https")]
use rustls::{ClientConnection, IoState, StreamOwned};
use std::io::{self, Read, Write};
#[cfg(feature = "https")]
use std::time::Duration;

/// The maximum number of times that the tickets of a service are read before its connection is
/// used. Servers send two to four.
#[cfg(feature = "https")]
const TICKETS: usize = 8;

/// A connection to a service.
pub(super) enum Stream {
    Plain(Socket),
    #[cfg(feature = "https")]
    Encrypted(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    pub(super) fn socket(&mut self) -> &mut Socket {
        match self {
            Stream::Plain(socket) => socket,
            #[cfg(feature = "https")]
            Stream::Encrypted(stream) => &mut stream.sock,
        }
    }

    /// Returns whether the connection can be reused. Data after a response would be taken for the response
    /// to the next call, so there must be none: neither decrypted, nor received but not decrypted.
    pub(super) fn is_idle(&mut self) -> bool {
        if !self.socket().is_own() {
            return false;
        }
        match self {
            Stream::Plain(socket) => socket.is_idle(),
            #[cfg(feature = "https")]
            Stream::Encrypted(stream) => encrypted_is_idle(stream),
        }
    }
}

/// Reads the bytes that the service has sent since, because tickets for later sessions are no data:
/// some arrive after the handshake.
#[cfg(feature = "https")]
fn encrypted_is_idle(stream: &mut StreamOwned<ClientConnection, Socket>) -> bool {
    let idle = |state: IoState| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed();
    for _ in 0..TICKETS {
        if !stream.conn.process_new_packets().is_ok_and(idle) {
            return false;
        }
        if !stream.sock.has_data() {
            return stream.sock.is_idle();
        }
        // Reads the bytes that have already arrived, without waiting.
        stream.sock.set_deadline(Deadline::within(Duration::from_secs(1)));
        if stream.conn.read_tls(&mut stream.sock).is_err() {
            return false;
        }
    }
    false
}

impl Read for Stream {
    /// An attacker on the network can close a connection, but cannot send TLS's own end of data. A
    /// truncated response without a length would otherwise seem complete, so that is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            #[cfg(feature = "https")]
            Stream::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "https")]
            Stream::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            #[cfg(feature = "https")]
            Stream::Encrypted(stream) => stream.flush(),
        }
    }
}
