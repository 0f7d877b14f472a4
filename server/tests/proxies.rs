//! `seconder serve` behind a proxy, HAProxy, that says whose requests it passes on.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the log is awaited")]

use crate::common::connect_from;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CLIENT: &str = "127.0.0.3";

/// A running program, which is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A service of which each request is logged.
struct Service {
    folder: TempDir,
    addr: SocketAddr,
    _running: Running,
}

impl Service {
    fn start(options: &[&str]) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.current_dir(&folder).args(["serve", "--database", "sandbox:", "--self-signed"]);
        command.args(["--listen", "127.0.0.1:0", "--log-format", "json"]).args(options);
        let running = Running(command.stdin(Stdio::null()).stderr(log).spawn().unwrap());
        let log = awaited(folder.path(), "listening on https://");
        let (_, addr) = log.split_once("listening on https://").unwrap();
        let addr = addr.split('"').next().unwrap().parse().unwrap();
        Service { folder, addr, _running: running }
    }

    fn pem(&self) -> String {
        fs::read_to_string(self.folder.path().join("seconder-certificate.pem")).unwrap()
    }

    /// Whose request the log says that this was.
    fn client(&self, id: &str) -> String {
        let log = awaited(self.folder.path(), id);
        let line = log.lines().find(|line| line.contains(id)).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        line["client"].as_str().unwrap().to_owned()
    }
}

/// The log once it has this text and its line is complete.
fn awaited(folder: &Path, text: &str) -> String {
    let started = Instant::now();
    loop {
        let log = fs::read_to_string(folder.join("log")).unwrap();
        if log.contains(text) && log.ends_with('\n') {
            return log;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "no {text}: {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// HAProxy in front of this address, which it announces connections to with the PROXY protocol.
fn proxy(folder: &Path, to: SocketAddr) -> (Running, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    // A copy that the program inherits.
    let passed = rustix::io::dup(&listener).unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&passed);
    let config = format!(
        "defaults\n mode tcp\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n\
         frontend front\n bind fd@{fd}\n default_backend back\n\
         backend back\n server one {to} send-proxy-v2\n"
    );
    fs::write(folder.join("haproxy.cfg"), config).unwrap();
    let program = ["/usr/sbin/haproxy", "haproxy"];
    let program = program.into_iter().find(|path| Path::new(path).exists()).unwrap_or("haproxy");
    let mut command = Command::new(program);
    command.args(["-db", "-q", "-f"]).arg(folder.join("haproxy.cfg")).stdin(Stdio::null());
    let running = command.spawn().unwrap();
    (Running(running), addr)
}

/// Sends a request with this id and these headers, and returns the status; empty if the connection was closed.
fn status(service: &Service, (from, to): (&str, SocketAddr), id: &str, headers: &str) -> String {
    let Ok(mut stream) = connect_from(from, to, &service.pem()) else { return String::new() };
    let head = format!("Host: localhost\r\nConnection: close\r\nSeconder-Request-Id: {id}\r\n");
    let request = format!("GET /protected/json/app/details HTTP/1.1\r\n{head}{headers}\r\n");
    let mut response = String::new();
    if stream.write_all(request.as_bytes()).is_ok() {
        let _ = stream.read_to_string(&mut response);
    }
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_proxy_announces_whose_connection_it_passes_on() {
    let options = ["--trusted-proxies", "127.0.0.1", "--proxy-protocol"];
    let service = Service::start(&options);
    let folder = tempfile::tempdir().unwrap();
    let (_proxy, addr) = proxy(folder.path(), service.addr);
    assert_eq!(status(&service, (CLIENT, addr), "by-proxy", ""), "401");
    assert_eq!(service.client("by-proxy"), CLIENT);
    // The client is no proxy, so nobody believes what it says.
    let forged = "X-Forwarded-For: 192.0.2.9\r\n";
    assert_eq!(status(&service, (CLIENT, addr), "forged", forged), "401");
    assert_eq!(service.client("forged"), CLIENT);
    // Neither a proxy that announces nothing nor anybody else.
    for from in ["127.0.0.1", CLIENT] {
        assert_eq!(status(&service, (from, service.addr), "direct", ""), "", "{from}");
    }
    let log = awaited(service.folder.path(), "is not a trusted proxy");
    assert!(log.contains("there is no header of the PROXY protocol"), "{log}");
    let closed = log.lines().filter(|line| line.contains("was closed: "));
    assert!(closed.into_iter().all(|line| line.contains(r#""level":"warning""#)), "{log}");
}

#[test]
fn only_a_trusted_proxy_says_in_a_header_whose_request_it_is() {
    let service = Service::start(&["--trusted-proxies", "127.0.0.1/32"]);
    let forwarded = "X-Forwarded-For: 198.51.100.1, 192.0.2.9\r\n";
    for (from, id, client) in [("127.0.0.1", "trusted", "192.0.2.9"), (CLIENT, "stranger", CLIENT)]
    {
        assert_eq!(status(&service, (from, service.addr), id, forwarded), "401");
        assert_eq!(service.client(id), client);
    }
}

#[test]
fn wrong_keys_are_counted_by_client_and_not_by_proxy() {
    let service = Service::start(&["--trusted-proxies", "127.0.0.1"]);
    let of = |client: &str, number: usize| {
        let headers = format!("X-Forwarded-For: {client}\r\nX-Svc-API-Key: wrong-{number}\r\n");
        status(&service, ("127.0.0.1", service.addr), "wrong", &headers)
    };
    let statuses: Vec<_> = (0..64).map(|number| of("192.0.2.1", number)).collect();
    assert_eq!(statuses[0], "401");
    assert!(statuses.contains(&"503".to_owned()), "{statuses:?}");
    assert_eq!(of("192.0.2.2", 64), "401");
}
