//! The real program on a local socket, and peers of other users.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempDir};

/// Users and groups that no machine has.
pub(crate) const ADA: u32 = 471_101;
pub(crate) const BOB: u32 = 471_102;

/// A running program, which is killed when the test ends.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) socket: PathBuf,
    log: NamedTempFile,
}

/// A folder that others can enter, and only this user can write to.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The program, for which no signal is ignored: under nohup, it would ignore SIGHUP.
pub(crate) fn program() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_seconder")]).stdin(Stdio::null());
    command
}

/// Copies the program to this folder, for users who cannot enter the folder of the build. Another process
/// does it: a program cannot be run while a child that another test has just forked has it open for
/// writing.
pub(crate) fn copy_of_program(folder: &Path) -> PathBuf {
    let copy = folder.join("seconder");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_seconder")).arg(&copy).status();
    assert!(copied.unwrap().success());
    copy
}

/// Whether this process can start others as any user.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Running {
    /// `seconder serve` on a socket in this folder, with these options.
    pub(crate) fn serve(folder: &Path, options: &[&str]) -> Running {
        Running::serve_database("sandbox:?accept=right", folder, options)
    }

    /// The same, of this database.
    pub(crate) fn serve_database(url: &str, folder: &Path, options: &[&str]) -> Running {
        let socket = folder.join("s.sock");
        let mut command = program();
        command.args(["serve", "--log-format=human", "--database", url, "--unix"]).arg(&socket);
        Running::start(command.args(options).current_dir(folder), socket)
    }

    /// Runs a command until it listens on this socket.
    pub(crate) fn start(command: &mut Command, socket: PathBuf) -> Running {
        let log = NamedTempFile::new().unwrap();
        let child = command.stderr(log.reopen().unwrap()).spawn().unwrap();
        let running = Running { child, socket, log };
        running.wait_for("listening on ");
        running
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log.path()).unwrap()
    }

    /// Waits until the log has this text.
    pub(crate) fn wait_for(&self, text: &str) {
        let started = Instant::now();
        while !self.log().contains(text) {
            let late = started.elapsed() > Duration::from_secs(60);
            assert!(!late, "no {text} in: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the program to exit well.
    pub(crate) fn wait(&mut self) {
        let started = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break assert!(status.success(), "{status} {}", self.log()),
                None => assert!(started.elapsed() < Duration::from_secs(60), "{}", self.log()),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the program, which must exit well.
    pub(crate) fn stop(&mut self) {
        self.signal("TERM");
        self.wait();
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Makes a call as this process, on a connection of its own.
    pub(crate) fn call(&self, method: &str, target: &str) -> Reply {
        exchange(&mut self.connect(), method, target)
    }

    /// Makes a call as another user.
    pub(crate) fn call_as(&self, uid: u32, gid: u32, method: &str, target: &str) -> Reply {
        let script = "import os, socket, sys
path, uid, gid, request = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
os.setgroups([]); os.setresgid(gid, gid, gid); os.setresuid(uid, uid, uid)
peer = socket.socket(socket.AF_UNIX)
try:
    peer.connect(path)
except OSError as error:
    sys.exit('connect: ' + error.strerror)
peer.sendall(request.encode())
while data := peer.recv(65536):
    sys.stdout.buffer.write(data)";
        let request = head(method, target, "Connection: close\r\n");
        let output = Command::new("python3")
            .args(["-c", script])
            .arg(&self.socket)
            .args([uid.to_string(), gid.to_string(), request])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        match errors.trim().strip_prefix("connect: ") {
            Some(reason) => Reply { reason: reason.to_owned(), ..Reply::default() },
            None => Reply::read(&mut output.stdout.as_slice()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response; or, without a status, why there was no connection.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
    pub(crate) reason: String,
}

impl Reply {
    pub(crate) fn read(from: &mut impl Read) -> Reply {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            assert_ne!(from.read(&mut byte).unwrap(), 0, "{}", String::from_utf8_lossy(&head));
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        from.read_exact(&mut body).unwrap();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Reply { status, head, body, reason: String::new() }
    }

    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

pub(crate) fn head(method: &str, target: &str, headers: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
}

/// Makes a call on a connection that stays open.
pub(crate) fn exchange(stream: &mut UnixStream, method: &str, target: &str) -> Reply {
    stream.write_all(head(method, target, "").as_bytes()).unwrap();
    Reply::read(stream)
}
