//! TLS on a connection.

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, IoState, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use ureq::Error;
use ureq::unversioned::transport::time::{Duration, Instant};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
    TransportAdapter,
};

/// Adds TLS to the connections that need it.
pub(super) struct Secure(Option<Arc<ClientConfig>>);

impl Secure {
    /// Each process has a separate session cache: a forked child could otherwise wait for ever for
    /// a lock that another thread of the parent held at the time of the fork.
    pub(super) fn new(config: Option<&ClientConfig>) -> Secure {
        Secure(config.cloned().map(|mut config| {
            config.resumption = Resumption::in_memory_sessions(8);
            Arc::new(config)
        }))
    }
}

impl<In: Transport> Connector<In> for Secure {
    type Out = Either<In, Encrypted<In>>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let transport = chained.ok_or(Error::ConnectionFailed)?;
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let config = self.0.as_ref().ok_or(Error::TlsRequired)?;
        let host = details.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|_| Error::HostNotFound)?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(broken)?;
        let mut stream = StreamOwned::new(connection, adapter(transport, details));
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Either::B(Encrypted { buffers, stream })))
    }
}

/// Wraps a connection for reading and writing while it is being established, with the time that is
/// left for that.
pub(super) fn adapter<T: Transport>(
    transport: T,
    details: &ConnectionDetails<'_>,
) -> TransportAdapter<T> {
    let mut adapter = TransportAdapter::new(transport, Arc::clone(&details.current_time));
    adapter.set_timeout(left(details));
    adapter
}

/// The time that is left for establishing a connection.
pub(super) fn left(details: &ConnectionDetails<'_>) -> NextTimeout {
    let mut timeout = details.timeout;
    if let (Instant::Exact(from), Instant::Exact(now), Duration::Exact(after)) =
        (details.now, (details.current_time)(), timeout.after)
    {
        timeout.after = Duration::Exact(after.saturating_sub(now.saturating_duration_since(from)));
    }
    timeout
}

fn broken(error: rustls::Error) -> Error {
    Error::Io(io::Error::new(io::ErrorKind::InvalidData, error))
}

pub(super) struct Encrypted<T: Transport> {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter<T>>,
}

impl<T: Transport> Transport for Encrypted<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.sock.set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream.write_all(output)?;
        self.stream.flush()?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.sock.set_timeout(timeout);
        let read = self.stream.read(self.buffers.input_append_buf());
        let amount = read.map_err(|error| match error.kind() {
            // An attacker on the network can close a connection, but cannot send TLS's own end of
            // data. A truncated response without a length would otherwise seem complete.
            io::ErrorKind::UnexpectedEof => io::Error::from(io::ErrorKind::BrokenPipe),
            _ => error,
        })?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Whether the connection can be reused. Data after a response would be taken for the response
    /// to the next call, so there must be none: neither decrypted, nor received but not decrypted.
    fn is_open(&mut self) -> bool {
        let state = self.stream.conn.process_new_packets();
        let idle =
            |state: IoState| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed();
        let below = self.stream.sock.get_mut();
        state.is_ok_and(idle) && below.buffers().input().is_empty() && below.is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl<T: Transport> fmt::Debug for Encrypted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encrypted")
    }
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secure")
    }
}
