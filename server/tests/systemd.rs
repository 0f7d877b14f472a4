//! What systemd learns of a running service, and what a restart by it loses: nothing.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::local_socket::{Running, folder, program};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::Duration;

const WATCHDOG: &str = "200000";

/// Starts the service in this folder, supervised by whoever listens on the socket of this name.
fn supervised(folder: &Path, name: &str, more: &[(&str, &str)]) -> Running {
    let socket = folder.join("s.sock");
    let mut command = program();
    command
        .args([
            "serve",
            "--log-format=human",
            "--database",
            "sqlite:seconder.db",
            "--unix",
            "s.sock",
        ])
        .env("NOTIFY_SOCKET", name)
        .envs(more.iter().copied())
        .current_dir(folder);
    Running::start(&mut command, socket)
}

/// Receives the next message, other than that of the watchdog unless it is the one awaited.
fn next(socket: &UnixDatagram, awaited: &str) -> String {
    loop {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        let message = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if message.starts_with(awaited) {
            return message;
        }
        assert!(message.starts_with("WATCHDOG=1"), "{message} came before {awaited}");
    }
}

fn bound(address: &SocketAddr) -> UnixDatagram {
    let socket = UnixDatagram::bind_addr(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

#[test]
fn systemd_learns_of_the_start_a_reload_and_the_stop_and_that_the_service_works() {
    let folder = folder();
    let path = folder.path().join("notify");
    let socket = bound(&SocketAddr::from_pathname(&path).unwrap());
    let watchdog = [("WATCHDOG_USEC", WATCHDOG)];
    let mut running = supervised(folder.path(), path.to_str().unwrap(), &watchdog);
    assert_eq!(next(&socket, "READY=1"), "READY=1\nSTATUS=accepts calls");
    // It was listening by then.
    assert_eq!(running.call("GET", "/protected/json/app/details").status, 200);
    next(&socket, "WATCHDOG=1");
    next(&socket, "WATCHDOG=1");
    running.signal("HUP");
    let reloading = next(&socket, "RELOADING=1");
    let time = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).unwrap();
    assert!(time.parse::<u64>().unwrap() > 0, "{reloading}");
    next(&socket, "READY=1");
    running.signal("TERM");
    next(&socket, "STOPPING=1");
    running.wait();
}

#[test]
fn a_socket_in_no_folder_is_used_too_and_the_watchdog_of_another_process_is_not() {
    let folder = folder();
    let name = format!("seconder-test-{}", folder.path().file_name().unwrap().to_str().unwrap());
    let socket = bound(&SocketAddr::from_abstract_name(&name).unwrap());
    let watchdog = [("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")];
    let mut running = supervised(folder.path(), &format!("@{name}"), &watchdog);
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).unwrap();
    assert!(bytes[..length].starts_with(b"READY=1"));
    // By now, there would have been messages of the watchdog.
    std::thread::sleep(Duration::from_millis(100));
    running.signal("TERM");
    let length = socket.recv(&mut bytes).unwrap();
    assert!(bytes[..length].starts_with(b"STOPPING=1"));
    running.wait();
}

#[test]
fn a_socket_that_cannot_be_used_is_logged_and_the_service_starts() {
    let folder = folder();
    for name in ["vsock:2:1234", "/nowhere/notify"] {
        let running = supervised(folder.path(), name, &[]);
        running.wait_for(&format!("NOTIFY_SOCKET names {name}, which cannot be used"));
        assert_eq!(running.call("GET", "/protected/json/app/details").status, 200);
    }
}
