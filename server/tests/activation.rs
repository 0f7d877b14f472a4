//! Sockets that systemd passes to the program.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::local_socket::{Running, folder};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Listens on a local socket and on TCP, or on what the kinds say, and becomes the program, to which
/// it passes them. `pid` is what LISTEN_PID says, by default the program.
const ACTIVATE: &str = "import os, socket, sys
path, kinds, pid, program = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
made = []
for kind in kinds:
    if kind == 'u':
        made.append(socket.socket(socket.AF_UNIX)); made[-1].bind(path); made[-1].listen()
    elif kind == 't':
        made.append(socket.socket()); made[-1].bind(('127.0.0.1', 0)); made[-1].listen()
    elif kind == 'd':
        made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    elif kind == 'n':
        made.append(socket.socket()); made[-1].bind(('127.0.0.1', 0))
high = [os.dup2(one.fileno(), 100 + at) for at, one in enumerate(made)]
for at, one in enumerate(high): os.dup2(one, 3 + at)
os.environ['LISTEN_FDS'] = str(len(made))
os.environ['LISTEN_PID'] = pid or str(os.getpid())
os.execv(program[0], program)";

fn activated(folder: &Path, kinds: &str, pid: &str, options: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command
        .args(["-c", ACTIVATE])
        .arg(folder.join("s.sock"))
        .args([kinds, pid, env!("CARGO_BIN_EXE_seconder")])
        .args(["serve", "--log-format=human", "--database", "sandbox:", "--socket-activation"])
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn error_of(kinds: &str, pid: &str, options: &[&str]) -> String {
    let folder = folder();
    let output: Output = activated(folder.path(), kinds, pid, options).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_local_socket_of_systemd_is_served_and_its_file_stays() {
    let folder = folder();
    let socket = folder.path().join("s.sock");
    let mut running = Running::start(&mut activated(folder.path(), "u", "", &[]), socket.clone());
    assert!(running.log().contains("listening on the sockets that systemd passed"));
    let before = fs::symlink_metadata(&socket).unwrap().ino();
    assert_eq!(running.call("GET", "/protected/json/app/details").status, 200);
    running.stop();
    assert_eq!(fs::symlink_metadata(&socket).unwrap().ino(), before);
    // The rules are those of the options.
    fs::remove_file(&socket).unwrap();
    let rules = ["--allow", "user:471101=login"];
    let running = Running::start(&mut activated(folder.path(), "u", "", &rules), socket);
    assert_eq!(running.call("GET", "/protected/json/app/details").status, 403);
}

#[test]
fn a_socket_of_tcp_is_served_by_https_alone() {
    let folder = folder();
    let socket = folder.path().join("s.sock");
    let command = &mut activated(folder.path(), "ut", "", &["--self-signed"]);
    let running = Running::start(command, socket);
    running.wait_for("listening on the sockets");
    let log = running.log();
    let (_, addr) = log.split_once("listening on https://").unwrap();
    drop(TcpStream::connect(addr.lines().next().unwrap()).unwrap());
    assert!(!log.contains(":8443"), "{log}");
    assert_eq!(running.call("GET", "/protected/json/app/details").status, 200);
    let text = error_of("ut", "", &[]);
    assert!(text.contains("certificate is missing: systemd passes a socket of TCP"), "{text}");
}

#[test]
fn sockets_of_another_kind_or_for_another_process_are_rejected() {
    for kinds in ["d", "ud", "n"] {
        let text = error_of(kinds, "", &["--self-signed", "--listen", "127.0.0.1:0"]);
        assert!(text.contains("is not one of TCP or a local one that accepts"), "{kinds} {text}");
    }
    for (kinds, pid) in [("", ""), ("u", "1")] {
        let text = error_of(kinds, pid, &[]);
        assert!(text.contains("found no sockets: systemd passes them"), "{text}");
    }
    // Without the option, the variables have no effect.
    let folder = folder();
    let output = Command::new(env!("CARGO_BIN_EXE_seconder"))
        .args(["serve", "--log-format=human", "--unix", "/", "--database", "sandbox:"])
        .env("LISTEN_FDS", "1")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("/ must name a file"));
}
