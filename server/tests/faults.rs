//! A machine that fails: a disk that is full, and a database that is gone. What needs them is refused until they are
//! back, and who asks for the rest does not notice.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::others::{Meanwhile, Others, do_not_notice};
use crate::postgres_server;
use crate::serving::{self, Running, wait_until};
use seconder::calls::UserStatus;
use seconder::keyring::Keyring;
use seconder::model::UserId;
use seconder::{Handle, Service};
use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

const KEY: &str = "key-of-choice";

/// Of a service that is started by another program, or with a key of choice.
fn start_by(program: Command, folder: &Path, more: &[&str]) -> Running {
    fs::write(folder.join("key"), KEY).unwrap();
    let options = ["--api-key-file", "key", "--metrics", "127.0.0.1:0"];
    let running =
        Running::start_by(program, folder, &[&options[..], more].concat(), || KEY.to_owned());
    wait_until("metrics", || running.log().contains("/metrics\n"));
    running
}

fn start(folder: &Path, more: &[&str]) -> Running {
    start_by(Command::new(env!("CARGO_BIN_EXE_seconder")), folder, more)
}

/// The status and the body of a response for monitors.
fn monitor(running: &Running, path: &str) -> String {
    let log = running.log();
    let (_, rest) = log.split_once("metrics: http://").unwrap();
    let mut stream = TcpStream::connect(rest.split_once("/metrics\n").unwrap().0).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.split_once("HTTP/1.1 ").unwrap().1.to_owned()
}

/// Whether the service is alive, which says nothing about its database.
fn healthz(running: &Running) {
    let response = monitor(running, "/healthz");
    assert!(response.starts_with("200 "), "{response}");
}

/// Whether the service says of its database what `/readyz` and the metrics are for.
fn is_ready(running: &Running) -> bool {
    monitor(running, "/readyz").starts_with("200 ")
}

fn is_up(running: &Running) -> bool {
    monitor(running, "/metrics").contains("\nseconder_database_up 1\n")
}

/// A call without a key. After some of them, an address has to wait.
fn stranger(running: &Running) {
    let (status, body) = running.at.send("GET", "/protected/json/app/details", serving::FORM, "");
    assert!(status == 401 || status == 503 && body.contains("wrong API keys"), "{status} {body}");
}

/// Who asks for what needs no database.
fn of_the_rest(running: &Running) -> [Others<'_>; 2] {
    [Others::new("/healthz", || healthz(running)), Others::new("strangers", || stranger(running))]
}

fn create(client: &Service, number: u64) -> seconder::Result<UserId> {
    let number = (2_025_550_123 + number).to_string();
    client.create_user("ada@example.com", &number, "1").map(|created| created.user_id)
}

/// Whether this machine lets a program mount something in a name space of its own.
fn may_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_full_disk_refuses_what_it_cannot_store_until_there_is_room() {
    if !may_mount() {
        println!("skipped: this machine has no name spaces in which a small disk can be mounted");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut program = Command::new("unshare");
    let mount = "mount -t tmpfs -o size=4m tmpfs disk && exec \"$0\" \"$@\"";
    program.args(["-rm", "sh", "-c", mount, env!("CARGO_BIN_EXE_seconder")]);
    let running = start_by(program, folder.path(), &["--database", "sqlite:disk/seconder.db"]);
    // The disk as the service sees it.
    let disk = Path::new("/proc")
        .join(running.id().to_string())
        .join("root")
        .join(disk.strip_prefix("/").unwrap());
    let (client, ada) = (running.new_client(), create(&running.client, 0).unwrap());
    let reads = || drop(client.handle(&UserStatus::new(ada)).unwrap());
    let [healthz, strangers] = of_the_rest(&running);
    let reads = Others::new("reads", reads);
    let mut numbers = 1..;
    do_not_notice(&mut [healthz, strangers, reads], |meanwhile| {
        fill(&running, &disk, &mut numbers, meanwhile);
    });
}

/// Fills the disk, sees what the service says of it, and empties it.
fn fill(
    running: &Running,
    disk: &Path,
    numbers: &mut impl Iterator<Item = u64>,
    meanwhile: &Meanwhile,
) {
    let ballast = disk.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    // SQLite has some room left in the files that it has.
    let error = numbers.find_map(|number| create(&running.client, number).err()).unwrap();
    assert!(error.to_string().contains("Internal error."), "{error}");
    wait_until("a line", || running.log().contains("error=\"storage: "));
    let log = running.log();
    let line = log.lines().find(|line| line.contains("error=\"storage: ")).unwrap();
    assert!(line.contains("full") && line.contains("disk"), "{line}");
    // What was read a moment ago counts. A smaller write may succeed meanwhile.
    let numbers = RefCell::new(numbers);
    let next = || numbers.borrow_mut().next().unwrap();
    wait_until("not ready", || {
        create(&running.client, next()).is_err() && !is_ready(running) && !is_up(running)
    });
    // Nobody gets in.
    let ada = running.settings().clone().open().unwrap();
    assert!(ada.verify(1.try_into().unwrap(), &"1234567".parse().unwrap()).is_err());
    meanwhile.wait();
    fs::remove_file(&ballast).unwrap();
    // A service that is not ready is sent no calls.
    wait_until("ready", || is_ready(running) && is_up(running));
    create(&running.client, next()).unwrap();
}

#[test]
fn a_database_that_vanishes_is_an_error_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path(), &[]);
    let ada = create(&running.client, 0).unwrap();
    let (database, gone) = (folder.path().join("seconder.db"), folder.path().join("gone.db"));
    do_not_notice(&mut of_the_rest(&running), |meanwhile| {
        fs::rename(&database, &gone).unwrap();
        let error = create(&running.client, 0).unwrap_err();
        assert!(error.to_string().contains("Internal error."), "{error}");
        meanwhile.wait();
        // Nothing takes its place, in which nobody would be enrolled.
        assert!(!database.exists());
        fs::rename(&gone, &database).unwrap();
        assert_eq!(create(&running.client, 0).unwrap(), ada);
    });
}

#[test]
fn a_database_server_that_vanishes_is_an_error_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = postgres_server::Server::start();
    let url = server.database("vanishes");
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let ring = ring.to_str().unwrap();
    let running = start(folder.path(), &["--database", &url, "--keyring", ring]);
    let ada = create(&running.client, 0).unwrap();
    do_not_notice(&mut of_the_rest(&running), |meanwhile| {
        server.stop();
        let error = create(&running.client, 0).unwrap_err();
        assert!(error.to_string().contains("Internal error."), "{error}");
        meanwhile.wait();
        server.go();
        assert_eq!(create(&running.client, 0).unwrap(), ada);
        // One that hangs, with calls that wait for it.
        server.signal("STOP");
        std::thread::scope(|scope| {
            let calls = [0; 8].map(|_| scope.spawn(|| create(&running.new_client(), 0)));
            for call in calls {
                call.join().unwrap().unwrap_err();
            }
        });
        server.signal("CONT");
        assert_eq!(create(&running.client, 0).unwrap(), ada);
    });
}

/// As a standby, or a server whose disk is full.
#[test]
fn a_database_server_that_takes_no_writes_is_not_ready_until_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = postgres_server::Server::start();
    let url = server.database("reading");
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let running = start(folder.path(), &["--database", &url, "--keyring", ring.to_str().unwrap()]);
    let ada = create(&running.client, 0).unwrap();
    let set = |value: &str| {
        server.sql("reading", &format!("ALTER SYSTEM SET default_transaction_read_only = {value}"));
        server.sql("reading", "SELECT pg_reload_conf()");
    };
    assert!(is_ready(&running) && is_up(&running));
    set("on");
    let numbers = Cell::new(0);
    let next = || numbers.replace(numbers.get() + 1) + 1;
    wait_until("an error", || create(&running.client, next()).is_err());
    wait_until("not ready", || !is_ready(&running) && !is_up(&running));
    running.client.user_status(ada).unwrap();
    assert!(!is_ready(&running), "it can be read all the same");
    set("off");
    wait_until("ready", || is_ready(&running) && is_up(&running));
    create(&running.client, next()).unwrap();
}

/// The file system has an error, and Linux protects it from further writes, by processes that have files open too.
#[test]
fn a_disk_that_becomes_read_only_lets_nothing_in_and_the_service_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let script =
        "truncate -s 64M image && mkfs.ext4 -q image && mount -o loop,errors=remount-ro image disk";
    let shell = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_seconder")]);
        command
    };
    let tried = shell(script).current_dir(folder.path()).output().unwrap();
    if !tried.status.success() {
        println!("skipped: only root can mount a file system in a file: {tried:?}");
        return;
    }
    let program = shell(&format!("{script} && exec \"$0\" \"$@\""));
    let running = start_by(program, folder.path(), &["--database", "sqlite:disk/seconder.db"]);
    let ada = create(&running.client, 0).unwrap();
    assert!(is_ready(&running) && is_up(&running));
    let mounts = fs::read_to_string(format!("/proc/{}/mounts", running.id())).unwrap();
    let disk = folder.path().join("disk");
    let mounted = mounts.lines().find(|line| line.split(' ').nth(1) == disk.to_str()).unwrap();
    let device = mounted.strip_prefix("/dev/").unwrap().split(' ').next().unwrap();
    fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "1").unwrap();
    let numbers = Cell::new(0);
    let next = || numbers.replace(numbers.get() + 1) + 1;
    wait_until("an error", || create(&running.client, next()).is_err());
    wait_until("not ready", || {
        create(&running.client, next()).is_err() && !is_ready(&running) && !is_up(&running)
    });
    let log = running.log();
    assert!(log.lines().any(|line| line.contains("error=\"storage: ")), "{log}");
    assert!(running.client.verify(ada, &"1234567".parse().unwrap()).is_err());
    healthz(&running);
}

#[test]
fn doctor_names_a_disk_that_is_read_only() {
    if !may_mount() {
        println!("skipped: this machine has no name spaces in which a small disk can be mounted");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    serving::database(&folder.path().join("disk"));
    let script = "mount --bind disk disk && mount -o remount,bind,ro disk && \
                  exec \"$0\" doctor --database sqlite:disk/seconder.db";
    let mut doctor = Command::new("unshare");
    doctor.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_seconder")]);
    let output = doctor.current_dir(folder.path()).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "{output:?}");
    assert!(found.contains("cannot be written"), "{output:?}");
    assert!(found.contains("mounted read-only") && found.contains("findmnt"), "{output:?}");
}
