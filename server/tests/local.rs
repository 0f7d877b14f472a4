//! `seconder serve --unix`: who may do what over the socket, and the socket's life.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common;
use crate::local_socket::{ADA, BOB, Reply, Running, exchange, folder, head, is_root, program};
use crate::others::{Meanwhile, Others, do_not_notice};
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DETAILS: &str = "/protected/json/app/details";
const CREATE: &str = "/protected/json/users/new?user[email]=ada@example.com\
                      &user[cellphone]=555-010-0123&user[country_code]=1";

/// The error message of `seconder serve` with these options, which must fail.
fn error_of(folder: &Path, options: &[&str]) -> String {
    let output = program()
        .args(["serve", "--log-format=human", "--database", "sandbox:", "--unix", "s.sock"])
        .args(options)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{options:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines().last().unwrap().to_owned()
}

#[test]
fn the_own_user_makes_every_call_without_a_key() {
    let folder = folder();
    let mut running = Running::serve(folder.path(), &[]);
    let mut stream = running.connect();
    let created = exchange(&mut stream, "POST", CREATE);
    assert_eq!((created.status, &created.body["user"]["id"]), (200, &1.into()));
    for _ in 0..1000 {
        assert_eq!(exchange(&mut stream, "GET", DETAILS).status, 200);
    }
    let with_key = running.call("GET", &format!("{DETAILS}?api_key=x"));
    assert!(with_key.status == 400 && with_key.message().contains("api_key"), "{with_key:?}");
    let log = running.log();
    assert!(!log.contains("API key") && !log.contains("listening on https"), "{log}");
    running.stop();
    assert!(!running.socket.exists());
}

#[test]
fn rules_decide_what_a_user_may_do() {
    if !is_root() {
        return;
    }
    let folder = folder();
    let ada = format!("user:{ADA}=login");
    let group = format!("group:{BOB}=application");
    let options = ["--allow", &ada, "--allow", &group, "--unix-mode", "0666"];
    let running = Running::serve(folder.path(), &options);
    let status = "/protected/json/users/1/status";
    let refused = |reply: Reply, user: u32, call: &str| {
        let message = format!(
            "user {user} may not make {call} over this socket: the rules of the server give no such \
             right"
        );
        assert_eq!((reply.status, reply.message()), (403, message.as_str()), "{reply:?}");
        running.wait_for(&message);
    };
    // What the rules leave out, root may not do either.
    refused(running.call("GET", DETAILS), 0, "app_details");
    refused(running.call_as(ADA, ADA, "POST", CREATE), ADA, "create_user");
    refused(running.call_as(ADA, ADA, "GET", "/protected/json/app/stats"), ADA, "app_stats");
    assert_eq!(running.call_as(ADA, ADA, "GET", status).status, 404);
    assert_eq!(running.call_as(BOB, BOB, "POST", CREATE).status, 200);
    assert_eq!(running.call_as(ADA, ADA, "GET", status).status, 200);
    assert_eq!(running.call_as(ADA, ADA, "GET", "/protected/json/sms/1").status, 200);
    // A group counts whichever user has it, and the user of one rule has not the right of another.
    assert_eq!(running.call_as(ADA, BOB, "GET", DETAILS).status, 200);
    refused(running.call_as(BOB, ADA, "GET", status), BOB, "user_status");
    // The user that stands for everybody of other namespaces.
    refused(running.call_as(65534, 65534, "GET", status), 65534, "user_status");
}

#[test]
fn an_account_of_its_own_is_all_that_a_user_reaches() {
    if !is_root() {
        return;
    }
    let folder = folder();
    let options = ["--allow", "any=own-account", "--allow", "user:0=application"];
    let running = Running::serve(folder.path(), &[&options[..], &["--unix-mode", "0666"]].concat());
    assert_eq!(running.call("POST", CREATE).status, 200);
    for path in ["/protected/json/users/1/status", "/protected/json/verify/1234567/1"] {
        let other = running.call_as(ADA, ADA, "GET", path);
        assert!(other.status == 403 && other.message().contains("own account only"), "{other:?}");
    }
    let create = running.call_as(ADA, ADA, "POST", CREATE);
    assert!(create.status == 403 && create.message().contains("may not make create_user"));
}

#[test]
fn the_file_has_its_owner_group_and_mode_from_the_first_moment() {
    let folder = folder();
    let socket = folder.path().join("s.sock");
    let running = Running::serve(folder.path(), &[]);
    let found = fs::symlink_metadata(&socket).unwrap();
    assert!(found.file_type().is_socket() && found.mode() & 0o777 == 0o600);
    // Nothing of its making is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    drop(running);
    if !is_root() {
        return;
    }
    let (owner, group) = (ADA.to_string(), BOB.to_string());
    let running = Running::serve(folder.path(), &["--unix-owner", &owner, "--unix-group", &group]);
    let found = fs::symlink_metadata(&socket).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (ADA, BOB, 0o660));
    assert_eq!(running.call_as(BOB, ADA, "GET", DETAILS).reason, "Permission denied");
    let refused = running.call_as(BOB, BOB, "GET", DETAILS);
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[test]
fn only_a_socket_on_which_nobody_listens_is_replaced() {
    let folder = folder();
    let socket = folder.path().join("s.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let stale = fs::symlink_metadata(&socket).unwrap().ino();
    let mut running = Running::serve(folder.path(), &[]);
    let own = fs::symlink_metadata(&socket).unwrap().ino();
    assert_ne!(own, stale);
    assert_eq!(running.call("GET", DETAILS).status, 200);
    let text = error_of(folder.path(), &[]);
    assert!(text.contains("s.sock is in use: another server listens on it"), "{text}");
    assert_eq!(running.call("GET", DETAILS).status, 200);
    // Killed, it leaves a socket behind, which the next one replaces.
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert!(socket.exists());
    drop(Running::serve(folder.path(), &[]));
    fs::remove_file(&socket).unwrap();

    // A server that hangs, with so many connections waiting that no other fits.
    let hanging = UnixListener::bind(&socket).unwrap();
    rustix::net::listen(&hanging, 0).unwrap();
    let waiting = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    assert!(error_of(folder.path(), &[]).contains("another server listens"));
    drop((hanging, waiting));
    fs::remove_file(&socket).unwrap();
    let other = UnixDatagram::bind(&socket).unwrap();
    assert!(error_of(folder.path(), &[]).contains("not known whether somebody listens"));
    drop(other);
    fs::remove_file(&socket).unwrap();

    fs::write(&socket, "notes").unwrap();
    assert!(error_of(folder.path(), &[]).contains("is not a socket, so it is left alone"));
    assert_eq!(fs::read_to_string(&socket).unwrap(), "notes");
    fs::rename(&socket, folder.path().join("notes")).unwrap();
    drop(UnixListener::bind(folder.path().join("aim")).unwrap());
    for aim in ["notes", "aim", "nowhere"] {
        symlink(aim, &socket).unwrap();
        assert!(error_of(folder.path(), &[]).contains("is not a socket, so it is left alone"));
        assert_eq!(fs::read_link(&socket).unwrap(), Path::new(aim));
        fs::remove_file(&socket).unwrap();
    }
}

#[test]
fn a_file_that_took_the_place_of_the_socket_stays() {
    let folder = folder();
    let mut running = Running::serve(folder.path(), &[]);
    fs::rename(&running.socket, folder.path().join("moved")).unwrap();
    let other = UnixListener::bind(&running.socket).unwrap();
    running.wait_for("s.sock was removed or replaced, so nobody reaches this server by it");
    running.stop();
    assert!(running.socket.exists());
    drop(other);
}

#[test]
fn a_folder_in_which_everybody_writes_is_rejected() {
    let folder = folder();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    let text = error_of(folder.path(), &[]);
    assert!(text.contains("where other users can create files"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_wrong_with_the_options_is_reported_at_once() {
    let folder = folder();
    let text = error_of(
        folder.path(),
        &[
            "--unix-owner",
            "no-such-user",
            "--unix-group",
            "no-such-group",
            "--unix-mode",
            "0777",
            "--allow",
            "root=everything",
            "--allow",
            "any=login",
            "--allow",
            "any=login",
        ],
    );
    for part in [
        "--unix-owner names a user that does not exist: no-such-user",
        "--unix-group names a group that does not exist: no-such-group",
        "--unix-mode must be the octal mode",
        "--allow `root=everything` must end with =login",
        "--allow `any=login` is given twice",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let long = "x".repeat(120);
    let output = program()
        .args(["serve", "--log-format=human", "--database", "sandbox:", "--unix", &long])
        .output();
    let text = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(text.contains("is too long for a socket"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_user_cannot_take_all_connections() {
    let folder = folder();
    let running = Running::serve(folder.path(), &["--unix-mode", "0666"]);
    if !is_root() {
        return;
    }
    let script = "import os, socket, sys
os.setgroups([]); os.setresgid(471101, 471101, 471101); os.setresuid(471101, 471101, 471101)
held = []
for number in range(80):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(10)
    peer.connect(sys.argv[1])
    peer.sendall(b'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n') if number < 64 else None
    held.append(peer)
    reply = peer.recv(4096)
    # What is locked is a user, and not the socket.
    assert number < 64 or b'error_code' not in reply and b'retry-after: 1' in reply, reply
    print(number, reply.split(b'\\r\\n')[0].decode())
for peer in held: peer.close()";
    let output =
        Command::new("python3").args(["-c", script]).arg(&running.socket).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let statuses: Vec<&str> = text.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(statuses.len(), 80, "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert!(statuses[..64].iter().all(|status| *status == "404"), "{text}");
    assert!(statuses[64..].iter().all(|status| *status == "503"), "{text}");
    running.wait_for("user 471101 has too many connections to this socket, and");
    // The places are given back.
    assert_eq!(running.call("GET", DETAILS).status, 200);
    let started = Instant::now();
    while running.call_as(ADA, ADA, "GET", DETAILS).status != 403 {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_stop_lets_a_call_in_progress_finish_and_removes_the_file_at_once() {
    let folder = folder();
    let mut running = Running::serve(folder.path(), &[]);
    let body = CREATE.split_once('?').unwrap().1;
    let (first, rest) = body.split_at(body.len() / 2);
    let mut stream = running.connect();
    let length = format!(
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n",
        body.len()
    );
    let head = head("POST", "/protected/json/users/new", &length);
    stream.write_all((head + first).as_bytes()).unwrap();
    // It waits for the rest.
    let mut goes_on = [0; 25];
    stream.read_exact(&mut goes_on).unwrap();
    assert_eq!(&goes_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    running.signal("HUP");
    running.wait_for("there is no certificate");
    running.signal("TERM");
    running.wait_for("stopping");
    let started = Instant::now();
    while running.socket.exists() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    stream.write_all(rest.as_bytes()).unwrap();
    assert_eq!(Reply::read(&mut stream).status, 200);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    running.wait();
    let log = running.log();
    let (_, last) = log.rsplit_once("seconder: stopping\n").unwrap();
    // Between them is the line of the call.
    assert_eq!(last.lines().count(), 2, "{log}");
    assert!(
        last.starts_with("seconder: request ") && last.ends_with("seconder: stopped\n"),
        "{log}"
    );
}

#[test]
fn https_and_a_socket_are_served_at_once() {
    let folder = folder();
    fs::write(folder.path().join("key"), "key-of-choice").unwrap();
    let options = ["--self-signed", "--listen", "127.0.0.1:0", "--api-key-file", "key"];
    let mut running = Running::serve(folder.path(), &options);
    running.wait_for("listening on unix:");
    assert_eq!(running.call("POST", CREATE).status, 200);
    let log = running.log();
    let (_, rest) = log.split_once("listening on https://").unwrap();
    let addr = rest.lines().next().unwrap().parse().unwrap();
    let pem = fs::read_to_string(folder.path().join("seconder-certificate.pem")).unwrap();
    let status = |headers: &str| {
        let request = head("GET", "/protected/json/users/1/status", headers);
        let got = common::exchange(addr, &pem, request.as_bytes());
        String::from_utf8(got).unwrap()[9..12].to_owned()
    };
    assert_eq!(status("X-Svc-API-Key: key-of-choice\r\nConnection: close\r\n"), "200");
    assert_eq!(status("Connection: close\r\n"), "401");
    running.stop();
}

/// A service of so few descriptors that strangers can take all those for the network.
struct Narrow {
    running: Running,
    at: SocketAddr,
    pem: String,
    _folder: TempDir,
}

impl Narrow {
    fn start() -> Narrow {
        let folder = folder();
        let socket = folder.path().join("s.sock");
        fs::write(folder.path().join("key"), "key-of-choice").unwrap();
        let limited = format!(
            "ulimit -n 700; exec {} serve --log-format=human --database sandbox: --unix {} --self-signed \
             --listen 127.0.0.1:0 --api-key-file key",
            env!("CARGO_BIN_EXE_seconder"),
            socket.display()
        );
        let mut command = Command::new("sh");
        let running =
            Running::start(command.args(["-c", &limited]).current_dir(folder.path()), socket);
        running.wait_for("listening on unix:");
        let log = running.log();
        let (_, rest) = log.split_once("listening on https://").unwrap();
        let at: SocketAddr = rest.lines().next().unwrap().parse().unwrap();
        let file = folder.path().join("seconder-certificate.pem");
        let pem = fs::read_to_string(&file).unwrap();
        Narrow { running, at, pem, _folder: folder }
    }

    fn kept_by_network(&self) -> impl FnMut() + Send {
        // No client of the library: it leaves a connection that had no call for a second, as on a busy machine.
        let mut stream = common::connect(self.at, &self.pem);
        let request = head("GET", DETAILS, "X-Svc-API-Key: key-of-choice\r\n");
        move || {
            stream.write_all(request.as_bytes()).unwrap();
            assert_eq!(Reply::read(&mut stream).status, 200);
        }
    }

    fn kept_locally(&self) -> impl FnMut() + Send {
        let mut stream = self.running.connect();
        move || assert_eq!(exchange(&mut stream, "GET", DETAILS).status, 200)
    }

    fn new_locally(&self) {
        let mut stream = self.running.connect();
        assert_eq!(exchange(&mut stream, "GET", DETAILS).status, 200);
    }
}

#[test]
fn strangers_on_the_network_leave_the_socket_and_connections_that_are_open_to_others() {
    let mut narrow = Narrow::start();
    let mut others = [
        Others::new("connections by network", narrow.kept_by_network()),
        Others::new("connections to the socket", narrow.kept_locally()),
        Others::new("new ones to the socket", || narrow.new_locally()),
    ];
    do_not_notice(&mut others, |meanwhile| take_all(&narrow, meanwhile));
    drop(others);
    narrow.running.stop();
}

/// Takes all connections by network except one, which is open already.
fn take_all(narrow: &Narrow, meanwhile: &Meanwhile) {
    let Narrow { running, at, pem, .. } = narrow;
    let is_open = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    // They send nothing. Of 700 descriptors, 640 are not for them, and one address has no more of the other 60
    // than it leaves.
    let mut strangers: Vec<TcpStream> = (0..40).map(|_| from([127, 0, 0, 2], *at)).collect();
    running.wait_for("127.0.0.2 has its share of the connections by network, as many as are left");
    let request = head("GET", DETAILS, "Connection: close\r\n");
    assert!(common::exchange(*at, pem, request.as_bytes()).starts_with(b"HTTP/1.1 401"));
    strangers.extend((3..43).map(|last| from([127, 0, 0, last], *at)));
    running.wait_for("there are too many connections by network, and another one was closed");
    let mut locals: Vec<UnixStream> = (0..100).map(|_| running.connect()).collect();
    for local in &mut locals {
        assert_eq!(exchange(local, "GET", DETAILS).status, 200);
    }
    let (started, mut last) = (Instant::now(), (3..=250).cycle());
    loop {
        // The place of the request above may have been given back only after they came, and the service closes
        // those that have been silent for ten seconds.
        strangers.retain_mut(is_open);
        match strangers.len() {
            59 => break,
            ..59 => strangers.push(from([127, 0, 0, last.next().unwrap()], *at)),
            // Some are to be closed still.
            _ => {}
        }
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    meanwhile.wait();
    // The places are given back.
    drop(strangers);
    let is_served = || {
        let (mut stream, mut got) = (common::connect(*at, pem), Vec::new());
        let sent = stream.write_all(request.as_bytes());
        let _ = sent.and_then(|()| stream.read_to_end(&mut got));
        got.starts_with(b"HTTP/1.1 401")
    };
    let started = Instant::now();
    while !is_served() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A connection from this address of the machine.
fn from(own: [u8; 4], to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((own, 0))).unwrap();
    connect(&socket, &to).unwrap();
    socket.into()
}
