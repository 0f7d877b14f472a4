//! A service on this machine, and a client that can send it any request.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use seconder::engine::{Engine, Message};
use seconder::{Service, Settings};
use seconder_server::{Server, Tls};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const KEY: &str = "a-key-for-tests";

/// A server with an engine whose messages the test receives.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) folder: TempDir,
    sent: Arc<Mutex<Vec<Message>>>,
}

impl World {
    pub(crate) fn start() -> World {
        World::with(|settings| settings)
    }

    /// A server whose engine has these settings besides those of the test.
    pub(crate) fn with(configure: impl FnOnce(Settings) -> Settings) -> World {
        let folder = tempfile::tempdir().unwrap();
        let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
        let keep = Arc::clone(&sent);
        let database = format!("sqlite:{}", folder.path().join("test.db").display());
        let deliver = move |message: &Message| {
            keep.lock().unwrap().push(message.clone());
            Ok(())
        };
        let settings = configure(Settings::new(&database)).api_key(KEY).deliver(deliver);
        let service = settings.open().unwrap();
        let engine = service.engine().unwrap().clone();
        let server =
            Server::start(service, "127.0.0.1:0".parse().unwrap(), Tls::SelfSigned).unwrap();
        std::fs::write(folder.path().join("ca.pem"), server.certificate_pem()).unwrap();
        World { server, engine, folder, sent }
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(&self.server.url()).api_key(KEY).ca_file(self.ca_file())
    }

    pub(crate) fn client(&self) -> Service {
        self.settings().open().unwrap()
    }

    /// The code that was sent last.
    pub(crate) fn code(&self) -> String {
        self.sent.lock().unwrap().last().unwrap().code.clone()
    }

    /// The code that was sent last to this number, in E.164, if one was.
    pub(crate) fn code_for(&self, number: &str) -> Option<String> {
        let sent = self.sent.lock().unwrap();
        sent.iter().rev().find(|message| message.to == number).map(|message| message.code.clone())
    }

    /// Sends a request with the right API key.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> HttpReply {
        self.request_as(Some(KEY), method, path, body)
    }

    /// Sends a request with this API key, if any, and this body with its media type, if any.
    pub(crate) fn request_as(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> HttpReply {
        let key = key.map(|key| format!("X-Svc-API-Key: {key}\r\n")).unwrap_or_default();
        let (media_type, body) = body.unwrap_or_default();
        let headers = match media_type {
            "" => String::new(),
            _ => format!("Content-Type: {media_type}\r\nContent-Length: {}\r\n", body.len()),
        };
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{key}{headers}\r\n{body}"
        ))
    }

    /// Sends exactly these bytes. They must include `Connection: close`, as the reply is read to
    /// its end.
    pub(crate) fn send(&self, request: &str) -> HttpReply {
        let (addr, pem) = (self.server.addr(), self.server.certificate_pem());
        HttpReply::read(&String::from_utf8(exchange(addr, pem, request.as_bytes())).unwrap())
    }
}

/// Sends a request over TLS, and returns everything that the server sends before it closes the
/// connection.
pub(crate) fn exchange(addr: SocketAddr, pem: &str, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(addr, pem);
    stream.write_all(request).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    got
}

pub(crate) fn connect(addr: SocketAddr, pem: &str) -> StreamOwned<ClientConnection, TcpStream> {
    over_tls(TcpStream::connect(addr).unwrap(), pem)
}

/// As [`connect`], from this address of this machine.
#[cfg(unix)]
pub(crate) fn connect_from(
    from: &str,
    addr: SocketAddr,
    pem: &str,
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::new(from.parse().unwrap(), 0))?;
    connect(&socket, &addr)?;
    Ok(over_tls(TcpStream::from(socket), pem))
}

fn over_tls(socket: TcpStream, pem: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    StreamOwned::new(connection, socket)
}

/// An HTTP response with a JSON body.
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    head: String,
}

impl HttpReply {
    pub(crate) fn read(text: &str) -> HttpReply {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        HttpReply { status, body, head: head.to_owned() }
    }

    /// The value of a header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }
}
