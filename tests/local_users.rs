//! Who may listen on the socket of a service on this machine, and who may connect to it. The other
//! user is a child process, so most of this requires root.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::local_stub::{Local, url};
use crate::stub::{self, RIGHT, TOKEN, response};
use seconder::{Error, Service, Settings, Stage, Verdict};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The path of the socket, for the child processes.
const SOCKET: &str = "SECONDER_TEST_SOCKET";
/// A user that no machine has, who owns nothing.
const NOBODY: u32 = 471_103;

/// Whether there is another user to compare with.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Starts a test of this file as another user, by a copy of the program that this user can read.
fn as_nobody(folder: &Path, test: &str, socket: &Path) -> Child {
    let program = folder.join("test");
    // A process of its own copies it: this one could not run the copy while a child that another test has just started
    // still has it open.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command
        .args(["--exact", &format!("local_users::{test}"), "--nocapture", "--test-threads=1"])
        .env(SOCKET, socket);
    command.current_dir("/").uid(NOBODY).gid(NOBODY);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

fn open(path: &Path) -> Service {
    Settings::new(&url(path)).timeout(Duration::from_secs(5)).open().unwrap()
}

#[test]
fn a_service_of_another_user_is_sent_nothing() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
    let path = own.join("seconder.sock");
    let mut child = as_nobody(folder.path(), "child_that_listens", &path);
    assert!(stub::eventually(|| path.exists()));

    for wrong in [None, Some(1), Some(1000)] {
        let settings = Settings::new(&url(&path)).timeout(Duration::from_secs(5));
        let settings = wrong.into_iter().fold(settings, |settings, uid| settings.service_uid(uid));
        let error = verify(&settings.open().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Unavailable { stage: Stage::Access, .. }), "{error}");
        let text = error.to_string();
        assert!(error.retry_safe() && text.contains("user 471103 listens there"), "{text}");
        assert!(text.contains("service_user in pam.conf) to 471103"), "{text}");
    }
    let service = Settings::new(&url(&path)).service_uid(NOBODY).open().unwrap();
    assert_eq!(verify(&service).unwrap(), Verdict::Right);
    drop((service, child.stdin.take()));
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("received: [0, 0, 0, 1]"), "{text}");
}

/// The child process of the first test: a service that counts the requests of each connection, and
/// prints the numbers once its input is closed. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the first test passes the path in a variable")]
fn child_that_listens() {
    let Ok(path) = std::env::var(SOCKET) else { return };
    // The first test waits for the name, which a socket has before it listens.
    let unnamed = format!("{path}-new");
    let listener = UnixListener::bind(&unnamed).unwrap();
    std::fs::rename(unnamed, path).unwrap();
    let requests = std::sync::Arc::default();
    let mut received = Vec::new();
    for stream in listener.incoming().take(4) {
        let mut peer = stub::Peer::of(stream.unwrap(), &requests);
        let mut count = 0;
        while peer.request().is_some() {
            count += 1;
            peer.send(&peer.named(&response(200, "", RIGHT)));
        }
        received.push(count);
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    writeln!(std::io::stdout(), "received: {received:?}").unwrap();
}

#[test]
fn a_process_that_may_not_use_the_socket_is_not_blamed_on_the_service() {
    let local = Local::responding(response(200, "", RIGHT));
    let path = local.path();
    std::fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    if !is_root() {
        return may_not_use(&path);
    }
    let folder = path.parent().unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let output = as_nobody(folder, "child_that_may_not", &path).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(local.connections(), 0);
    // Root may use every socket.
    assert_eq!(verify(&open(&path)).unwrap(), Verdict::Right);
}

/// The child process of the second test. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the second test passes the path in a variable")]
fn child_that_may_not() {
    let Ok(path) = std::env::var(SOCKET) else { return };
    may_not_use(Path::new(&path));
}

fn may_not_use(path: &Path) {
    let error = verify(&open(path)).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Access, .. }), "{error}");
    assert!(error.to_string().contains("this process may not use the socket"), "{error}");
}
