//! A service whose sockets belong to systemd is restarted under load.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "threads are the clients")]

use crate::certificate_files;
use crate::common::exchange;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

const KEY: &str = "a-key-for-tests";
const CLIENTS: usize = 4;
const RESTARTS: usize = 3;

/// Listens as systemd does, on a local socket and on TCP, whose port it prints. For each line that it reads
/// it stops the program, and starts it anew on the same sockets.
const SYSTEMD: &str = "import os, signal, socket, sys
path, program = sys.argv[1], sys.argv[2:]
local = socket.socket(socket.AF_UNIX); local.bind(path); local.listen(128)
tcp = socket.socket(); tcp.bind(('127.0.0.1', 0)); tcp.listen(128)
print(tcp.getsockname()[1], flush=True)
def start():
    child = os.fork()
    if child: return child
    for number in signal.SIGHUP, signal.SIGINT, signal.SIGTERM: signal.signal(number, signal.SIG_DFL)
    high = [os.dup2(one.fileno(), 100 + at) for at, one in enumerate((local, tcp))]
    for at, one in enumerate(high): os.dup2(one, 3 + at)
    os.environ.update(LISTEN_FDS='2', LISTEN_PID=str(os.getpid()))
    os.execv(program[0], program)
def stop(child):
    os.kill(child, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
child = start()
for line in sys.stdin:
    stop(child)
    child = start()
stop(child)";

/// What stands in for systemd. It stops the program when its standard input ends.
struct Systemd {
    child: Child,
    printed: BufReader<ChildStdout>,
}

impl Systemd {
    fn start(folder: &Path) -> (Systemd, SocketAddr) {
        std::fs::write(folder.join("api-key"), KEY).unwrap();
        let mut child = Command::new("python3")
            .args(["-c", SYSTEMD, "s.sock", env!("CARGO_BIN_EXE_seconder")])
            .args([
                "serve",
                "--log-format=human",
                "--database",
                "sqlite:seconder.db",
                "--socket-activation",
            ])
            .args(["--certificate", "certificate.pem", "--key", "key.pem"])
            .args(["--api-key-file", "api-key", "--limit", "key_rate=0"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let mut systemd = Systemd { child, printed };
        let port: u16 = systemd.line().parse().unwrap();
        (systemd, SocketAddr::from(([127, 0, 0, 1], port)))
    }

    fn restart(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"restart\n").unwrap();
        assert_eq!(self.line(), "0", "the program exited well");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.printed.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Ends the clients, also if the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn request(key: &str) -> String {
    format!(
        "GET /protected/json/app/details HTTP/1.1\r\nHost: localhost\r\n{key}Connection: close\r\n\r\n"
    )
}

fn local(socket: &Path) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request("").as_bytes()).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    got
}

#[test]
fn a_restart_loses_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let pem = certificate_files::write(folder.path());
    let (mut systemd, addr) = Systemd::start(folder.path());
    let (socket, done) = (folder.path().join("s.sock"), AtomicBool::new(false));
    let key = format!("X-Svc-API-Key: {KEY}\r\n");
    let answered: Vec<AtomicUsize> = (0..2 * CLIENTS).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|threads| {
        let _done = Done(&done);
        let clients = answered.iter().enumerate().map(|(at, answered)| {
            let (pem, socket, done, key) = (&pem, &socket, &done, &key);
            threads.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let (way, got) = match at % 2 {
                        0 => ("HTTPS", exchange(addr, pem, request(key).as_bytes())),
                        _ => ("the local socket", local(socket)),
                    };
                    let got = String::from_utf8_lossy(&got);
                    assert!(got.starts_with("HTTP/1.1 200 "), "by {way}: {got}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        for _ in 0..RESTARTS {
            // Each client has been served by the program that is stopped.
            let before: Vec<usize> =
                answered.iter().map(|count| count.load(Ordering::Relaxed)).collect();
            let has_grown = |at: usize| answered[at].load(Ordering::Relaxed) > before[at];
            while !(0..before.len()).all(has_grown) {
                assert!(!clients.iter().any(ScopedJoinHandle::is_finished), "a client has failed");
                std::thread::sleep(Duration::from_millis(10));
            }
            systemd.restart();
        }
    });
}
