//! A process that serves, and can be killed and started again.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a thread reads what the process logs")]

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use seconder::{Service, Settings};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where a node is found by clients.
#[derive(Clone)]
pub(crate) struct Address {
    folder: PathBuf,
    port: u16,
    key: String,
}

impl Address {
    /// A client of the node, whose certificate is another one after each start.
    pub(crate) fn client(&self) -> seconder::Result<Service> {
        let url = format!("https://127.0.0.1:{}", self.port);
        let ca_file = self.folder.join("seconder-certificate.pem");
        let settings = Settings::new(&url).api_key(&*self.key).ca_file(ca_file);
        settings.timeout(Duration::from_secs(5)).open()
    }
}

/// A running `seconder serve`, which ends with the test, however that ends.
pub(crate) struct Node {
    pub(crate) address: Address,
    arguments: Vec<String>,
    child: Child,
    _port: TcpListener,
}

/// A port that nobody is given by chance while the second value is kept, which does not listen. Programs that set
/// SO_REUSEADDR can listen on the port.
pub(crate) fn reserved_port() -> (u16, TcpListener) {
    let socket =
        socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let held = TcpListener::from(socket);
    (held.local_addr().unwrap().port(), held)
}

impl Node {
    /// Starts one with a folder of its own, and these arguments.
    pub(crate) fn start(folder: &Path, key: &str, arguments: &[String]) -> Node {
        let (port, held) = reserved_port();
        let address = Address { folder: folder.to_owned(), port, key: key.to_owned() };
        let child = serve(&address, arguments);
        Node { address, arguments: arguments.to_vec(), child, _port: held }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        self.child = serve(&self.address, &self.arguments);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(address: &Address, arguments: &[String]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
        .current_dir(&address.folder)
        .args([
            "serve",
            "--log-format=human",
            "--self-signed",
            "--listen",
            &format!("127.0.0.1:{}", address.port),
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let (mut line, mut all) = (String::new(), String::new());
    while !line.contains("listening on ") {
        line.clear();
        if log.read_line(&mut line).unwrap() == 0 {
            child.wait().unwrap();
            panic!("the service did not start: {all}");
        }
        all.push_str(&line);
    }
    // Nobody reads what it logs, so that must not block it.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    child
}
