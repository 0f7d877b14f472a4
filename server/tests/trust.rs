//! Certificates that the client must reject, and the errors that it reports.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::{KEY, World};
use crate::http_provider::{dialed_by, message, shown};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use seconder::remote::Dialer;
use seconder::{Error, Result, Settings, Stage};
use seconder_server::{Server, Tls};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn params() -> CertificateParams {
    CertificateParams::new(["127.0.0.1".to_owned()]).unwrap()
}

/// Makes a call to a server with a self-signed certificate of these parameters, which is in the
/// client's `ca_file`.
fn call(params: CertificateParams) -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let key_pair = KeyPair::generate().unwrap();
    let (certificate, key) = (folder.path().join("certificate"), folder.path().join("key"));
    std::fs::write(&certificate, params.self_signed(&key_pair).unwrap().pem()).unwrap();
    std::fs::write(&key, key_pair.serialize_pem()).unwrap();
    let engine = Settings::new("sandbox:").api_key(KEY).open().unwrap();
    let tls = Tls::Files { certificate: certificate.clone(), key };
    let server = Server::start(engine, "127.0.0.1:0".parse().unwrap(), tls).unwrap();
    details(&server.url(), Some(&certificate))
}

fn details(url: &str, ca_file: Option<&Path>) -> Result<()> {
    let settings = Settings::new(url).api_key(KEY).timeout(Duration::from_secs(5));
    let settings = match ca_file {
        Some(file) => settings.ca_file(file),
        None => settings,
    };
    settings.open()?.app_details().map(drop)
}

fn is_rejected(result: Result<()>, part: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Tls, .. }), "{error:?}");
    assert!(error.retry_safe() && error.to_string().contains(part), "{error}");
}

#[test]
fn only_certificates_in_ca_file_are_trusted() {
    call(params()).unwrap();
    let (one, other) = (World::start(), World::start());
    details(&one.server.url(), Some(&one.ca_file())).unwrap();
    details(&one.server.url().replace("127.0.0.1", "localhost"), Some(&one.ca_file())).unwrap();
    is_rejected(details(&one.server.url(), Some(&other.ca_file())), "not acceptable");
    is_rejected(details(&one.server.url(), None), "setting ca_file");
}

#[test]
fn certificate_errors_state_the_cause() {
    let mut expired = params();
    (expired.not_before, expired.not_after) =
        (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    is_rejected(call(expired), "has expired");
    let mut early = params();
    early.not_before = date_time_ymd(4000, 1, 1);
    is_rejected(call(early), "not valid yet");
    let remote = CertificateParams::new(["2fa.example.com".to_owned()]).unwrap();
    is_rejected(call(remote), "for another host");
    let mut authority = params();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    is_rejected(call(authority), "seconder serve --self-signed");
}

#[test]
fn a_server_without_tls_is_reported_within_the_deadline() {
    let world = World::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            // The header of a handshake record of 16000 bytes, which then arrive one by one.
            let _ = stream.write_all(&[22, 3, 3, 0x3e, 0x80]);
            while stream.write_all(&[2]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        is_rejected(details(&url, Some(&world.ca_file())), "does not speak TLS");
        let slow = Settings::new(&url).api_key(KEY).ca_file(world.ca_file());
        let started = Instant::now();
        let slow = slow.timeout(Duration::from_millis(300)).open().unwrap();
        is_rejected(slow.app_details().map(drop), "the deadline was exceeded");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    });
}

#[test]
fn a_name_that_cannot_be_resolved_is_reported() {
    let world = World::start();
    let error = details("https://2fa.invalid", Some(&world.ca_file())).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Dns, .. }), "{error}");
    assert!(error.to_string().contains("2fa.invalid"), "{error}");
}

#[test]
fn proxy_and_certificate_variables_are_ignored() {
    let world = World::start();
    let proxies = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trust::child_that_calls_in_that_environment"])
        .envs(proxies.map(|name| (name, "http://127.0.0.1:9")))
        .env("SSL_CERT_FILE", world.ca_file())
        .env("SSL_CERT_DIR", world.folder.path())
        .env("SECONDER_TEST_URL", world.server.url())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// The child process of the test above. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test is about the environment")]
fn child_that_calls_in_that_environment() {
    let Ok(url) = std::env::var("SECONDER_TEST_URL") else { return };
    let ca_file = std::env::var("SSL_CERT_FILE").unwrap();
    details(&url, Some(Path::new(&ca_file))).unwrap();
    is_rejected(details(&url, None), "setting ca_file");
    // A gateway reaches it, too: it has no such path.
    let sent = |ca_file: Option<&str>| {
        let settings = json!({"gateway": "http", "url": url, "ca_file": ca_file});
        shown(&dialed_by(&Dialer::default(), &settings).send(&message()))
    };
    assert_eq!(sent(Some(&ca_file)).0, "permanent");
    let (kind, reason) = sent(None);
    assert!(kind == "retry" && reason.starts_with("TLS failed: "), "{reason}");
}
