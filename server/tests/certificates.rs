//! The certificate of a running `seconder serve`: its end, and what becomes of new files.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::connect;
use rcgen::{CertificateParams, IsCa, KeyPair, date_time_ymd};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A running service with the files `certificate.pem` and `key.pem`.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Running {
    fn start(folder: &Path) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
            .args([
                "serve",
                "--log-format=human",
                "--listen",
                "127.0.0.1:0",
                "--metrics",
                "127.0.0.1:0",
            ])
            .args(["--certificate", "certificate.pem", "--key", "key.pem"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        Running { child, log }
    }

    /// What follows this text in the next line of the log that has it.
    fn logged(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "the log has no {text}");
            if let Some((_, rest)) = line.split_once(text) {
                return rest.trim().to_owned();
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate that expires on the first day of this year, and its key.
fn generated(year: i32) -> (String, String) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::ExplicitNoCa;
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// Replaces a file at once, as programs that renew certificates do.
fn replace(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join("new"), text).unwrap();
    std::fs::rename(folder.join("new"), folder.join(name)).unwrap();
}

#[test]
fn an_expired_certificate_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = generated(2002);
    replace(folder.path(), "certificate.pem", &certificate);
    replace(folder.path(), "key.pem", &key);
    let mut running = Running::start(folder.path());
    let warning = running.logged("warning: the certificate expired ");
    assert!(warning.ends_with(" days ago, so clients reject it"), "{warning}");
    let metrics = running.logged("metrics: http://");
    let mut stream = TcpStream::connect(metrics.trim_end_matches("/metrics")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = "\nseconder_certificate_expiry_timestamp_seconds 1009843200\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn new_files_are_presented_without_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = generated(2100);
    replace(folder.path(), "certificate.pem", &certificate);
    replace(folder.path(), "key.pem", &key);
    let mut running = Running::start(folder.path());
    let addr: SocketAddr = running.logged("listening on https://").parse().unwrap();
    let ask = |pem: &str| {
        let mut stream = connect(addr, pem);
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new())
    };
    ask(&certificate).unwrap();
    let (second, its_key) = generated(2101);
    // Nothing works with one of them alone, so the first stays.
    replace(folder.path(), "certificate.pem", &second);
    let kept = running
        .logged("seconder: warning: the certificate or its key has changed; it stays as it was: ");
    assert!(kept.contains("cannot be used with the key"), "{kept}");
    ask(&certificate).unwrap();
    replace(folder.path(), "key.pem", &its_key);
    running.logged("the certificate and its key have changed, and were read again");
    ask(&second).unwrap();
    ask(&certificate).unwrap_err();
}
