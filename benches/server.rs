//! The server for the programs that are compared. It returns the same response to every GET, that a
//! code is right, over TLS, with a thread for each connection. It does nothing else, so that it
//! adds as little as possible to the measured time.
//!
//! `server CERTIFICATE` writes its certificate to that file, prints its URL, and exits when its
//! standard input is closed.

#![allow(
    clippy::disallowed_methods,
    reason = "a server needs threads, and a login process does not load it"
)]

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A response of the service to a right code (interface 4.4).
const BODY: &str = r#"{"message":"Token is valid.","token":"is valid","success":"true","device":{"id":83372911,"ip":"198.51.100.7","city":"Vienna","region":"Vienna","country":"Austria","os_type":"android","registration_device_id":83372911,"registration_ip":"198.51.100.7","registration_city":"Vienna","registration_region":"Vienna","registration_country":"Austria","registration_method":"sms","registration_date":1490996931,"last_account_recovery_at":null}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: server CERTIFICATE")?;
    let config = config(&path)?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    writeln!(io::stdout(), "https://127.0.0.1:{}", listener.local_addr()?.port())?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || serve(stream, config));
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Makes a self-signed certificate, as `seconder serve --self-signed` does.
fn config(path: &str) -> Result<Arc<ServerConfig>, Box<dyn Error>> {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()])?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    std::fs::write(path, certificate.pem())?;
    let private = PrivateKeyDer::try_from(key.serialize_der())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)?;
    Ok(Arc::new(config))
}

/// Responds to the requests of one connection until the client closes it.
fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Without this, a response could wait for the acknowledgement of the one before.
    stream.set_nodelay(true)?;
    let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         date: Mon, 06 Jan 2025 10:00:00 GMT\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut request = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&part[..read]);
        // The requests have no bodies, so an empty line ends each of them.
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            stream.write_all(reply.as_bytes())?;
            stream.flush()?;
        }
    }
}
