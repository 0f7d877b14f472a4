//! Certificates that the client must not believe, and what it says of them.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod common;

use common::{KEY, World};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use seconder::{Error, Result, Settings, Stage};
use seconder_server::{Server, Tls};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn params() -> CertificateParams {
    CertificateParams::new(["127.0.0.1".to_owned()]).unwrap()
}

/// Serves with a certificate that its client is told to trust, and asks.
fn ask(params: CertificateParams) -> Result<()> {
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

fn is_refused(result: Result<()>, with: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Tls, .. }), "{error:?}");
    assert!(error.retry_safe() && error.to_string().contains(with), "{error}");
}

#[test]
fn a_certificate_of_the_file_is_believed_and_no_other() {
    ask(params()).unwrap();
    let (one, other) = (World::start(), World::start());
    details(&one.server.url(), Some(&one.ca_file())).unwrap();
    details(&one.server.url().replace("127.0.0.1", "localhost"), Some(&one.ca_file())).unwrap();
    is_refused(details(&one.server.url(), Some(&other.ca_file())), "not acceptable");
    is_refused(details(&one.server.url(), None), "setting ca_file");
}

#[test]
fn what_is_wrong_with_a_certificate_is_told() {
    let mut expired = params();
    (expired.not_before, expired.not_after) =
        (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    is_refused(ask(expired), "has expired");
    let mut early = params();
    early.not_before = date_time_ymd(4000, 1, 1);
    is_refused(ask(early), "not valid yet");
    let remote = CertificateParams::new(["2fa.example.com".to_owned()]).unwrap();
    is_refused(ask(remote), "for another host");
    let mut authority = params();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    is_refused(ask(authority), "seconder serve --self-signed");
}

#[test]
fn what_does_not_speak_tls_is_told_within_the_deadline() {
    let world = World::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            // The head of a handshake record of 16000 bytes, which then come one by one.
            let _ = stream.write_all(&[22, 3, 3, 0x3e, 0x80]);
            while stream.write_all(&[2]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        is_refused(details(&url, Some(&world.ca_file())), "does not speak TLS");
        let slow = Settings::new(&url).api_key(KEY).ca_file(world.ca_file());
        let started = Instant::now();
        let slow = slow.timeout(Duration::from_millis(300)).open().unwrap();
        is_refused(slow.app_details().map(drop), "the deadline was exceeded");
        assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    });
}

#[test]
fn a_name_that_nobody_has_is_told() {
    let world = World::start();
    let error = details("https://2fa.invalid", Some(&world.ca_file())).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Dns, .. }), "{error}");
    assert!(error.to_string().contains("2fa.invalid"), "{error}");
}

#[test]
fn the_environment_decides_nothing() {
    let world = World::start();
    let proxies = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "asked_in_that_environment"])
        .envs(proxies.map(|name| (name, "http://127.0.0.1:9")))
        .env("SSL_CERT_FILE", world.ca_file())
        .env("SSL_CERT_DIR", world.folder.path())
        .env("SECONDER_TEST_URL", world.server.url())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// The other half of the test above, in a process of its own; alone it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the environment is what is tested")]
fn asked_in_that_environment() {
    let Ok(url) = std::env::var("SECONDER_TEST_URL") else { return };
    let ca_file = std::env::var("SSL_CERT_FILE").unwrap();
    details(&url, Some(Path::new(&ca_file))).unwrap();
    is_refused(details(&url, None), "setting ca_file");
}
