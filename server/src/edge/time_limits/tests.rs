//! Clients that send requests and read no response, or send none.

use super::*;
use crate::{Listeners, Server, Tls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;
use tokio::io::AsyncReadExt;

/// The limit of the servers in these tests.
const LIMIT: Duration = Duration::from_millis(300);
/// More than a server with that limit needs.
const PATIENCE: Duration = Duration::from_secs(60);
const REQUEST: &[u8] = b"GET /protected/json/app/details HTTP/1.1\r\nHost: x\r\n\r\n";

fn listeners() -> Listeners {
    Listeners::new().write_limit(LIMIT)
}

fn service() -> seconder::Service {
    seconder::open("sandbox:").unwrap()
}

/// Sends requests until the connection breaks, and returns why it did.
fn pipeline(stream: &mut impl Write) -> io::ErrorKind {
    let requests = REQUEST.repeat(200);
    let started = Instant::now();
    loop {
        if let Err(error) = stream.write_all(&requests) {
            return error.kind();
        }
        assert!(started.elapsed() < PATIENCE, "the server kept reading");
    }
}

fn is_closed(kind: io::ErrorKind) -> bool {
    [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset].contains(&kind)
}

#[test]
fn a_client_by_https_that_reads_nothing_is_disconnected() {
    let listeners = listeners().tls(Tls::SelfSigned).https(([127, 0, 0, 1], 0).into()).unwrap();
    let server = Server::serve(service(), listeners).unwrap();
    let mut roots = RootCertStore::empty();
    let pem = server.certificate_pem().as_bytes();
    roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(config.into(), "localhost".try_into().unwrap()).unwrap();
    let socket = TcpStream::connect(server.addr()).unwrap();
    // So that the test needs fewer responses.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 4096).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    let kind = pipeline(&mut stream);
    assert!(is_closed(kind), "{kind}");
}

#[cfg(unix)]
#[test]
fn a_local_client_that_reads_nothing_is_disconnected() {
    use crate::{LocalSocket, PeerRules, SocketOptions};
    use std::os::unix::net::UnixStream;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let socket = LocalSocket::bind(&path, SocketOptions::default(), PeerRules::default()).unwrap();
    let server = Server::serve(service(), listeners().local(socket)).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let kind = pipeline(&mut stream);
    assert!(is_closed(kind), "{kind}");
    // A client that reads may pause between its requests for longer than the limit.
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for _ in 0..2 {
        stream.write_all(REQUEST).unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        std::thread::sleep(2 * LIMIT);
    }
    drop(server);
}

/// A stream that takes one byte of each second write.
struct Trickle {
    wait: bool,
}

impl AsyncWrite for Trickle {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.wait = !self.wait;
        if self.wait {
            let waker = cx.waker().clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(5)).await;
                waker.wake();
            });
            return Poll::Pending;
        }
        Poll::Ready(Ok(1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_client_that_takes_a_byte_now_and_then_is_disconnected() {
    let mut stream = TimeLimits::new(Trickle { wait: false }, LIMIT);
    let mut written = 0;
    let error = loop {
        match poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"response")).await {
            Ok(count) => written += count,
            Err(error) => break error,
        }
        assert!(written < 100, "the server kept writing");
    };
    assert!(error.kind() == io::ErrorKind::TimedOut && written > 1, "{error} {written}");
    // The time begins again with each response.
    let mut stream = TimeLimits::new(Trickle { wait: false }, LIMIT);
    let started = Instant::now();
    while started.elapsed() < 3 * LIMIT {
        poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"r")).await.unwrap();
        poll_fn(|cx| Pin::new(&mut stream).poll_flush(cx)).await.unwrap();
    }
}

#[test]
fn a_connection_ends_once_there_was_no_call_for_a_while() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (activity, limit) = (Activity::new(), Duration::from_millis(50));
        let (_client, stream) = tokio::io::duplex(16);
        let mut stream = TimeLimits::new(stream, LIMIT).idle(activity.clone(), limit);
        let call = activity.begin();
        let during = tokio::time::timeout(4 * limit, stream.read_u8()).await;
        assert!(during.is_err(), "a call may take longer: {during:?}");
        drop(call);
        let after = stream.read_u8().await.unwrap_err();
        assert_eq!(after.kind(), io::ErrorKind::TimedOut);
    });
}
