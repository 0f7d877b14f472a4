//! A name server of another implementation, for the tests of the library and of the program.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Debian's `dnsmasq` on a free port, which has these records and forwards no query.
pub(crate) struct NameServer {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl NameServer {
    /// Another process may take the port between its choice and the start, hence the attempts.
    pub(crate) fn start(records: &[String]) -> NameServer {
        let starts = (0..5).find_map(|_| NameServer::at(free_port(), records));
        starts.expect("dnsmasq does not start")
    }

    fn at(port: u16, records: &[String]) -> Option<NameServer> {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let process = Command::new("/usr/sbin/dnsmasq")
            .args(["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"])
            .args(["--listen-address=127.0.0.1", "--bind-interfaces", "--local=/test/"])
            .args(["--pid-file", "--user=root", "--log-queries"])
            .args([format!("--log-facility={}", log.display()), format!("--port={port}")])
            .args(records)
            .stdin(Stdio::null())
            .spawn()
            .expect("dnsmasq must be installed: `make test` does it (Debian's dnsmasq-base)");
        let mut server = NameServer { process, port, folder };
        server.is_ready().then_some(server)
    }

    /// It logs its start once it has its port, and exits if it does not get the port.
    fn is_ready(&mut self) -> bool {
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until && self.process.try_wait().unwrap().is_none() {
            if self.log().contains("started, version") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How many queries for IPv4 addresses of a name it received.
    pub(crate) fn queries(&self, name: &str) -> usize {
        self.log().matches(&format!("query[A] {name} ")).count()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that is free for UDP and TCP.
fn free_port() -> u16 {
    loop {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        if TcpListener::bind(address).is_ok() {
            return address.port();
        }
    }
}
