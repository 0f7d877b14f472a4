//! A machine that fails, a disk that is full and a database that is gone: what needs them is refused until they are
//! back, and the service goes on with the rest.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod common;
#[path = "provider/mod.rs"]
mod program;
mod serving;

use seconder::calls::UserStatus;
use seconder::{Handle, Service};
use serving::{Running, wait_until};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

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
    fs::write(folder.path().join("key"), "key-of-choice").unwrap();
    let mut program = Command::new("unshare");
    let mount = "mount -t tmpfs -o size=4m tmpfs disk && exec \"$0\" \"$@\"";
    program.args(["-rm", "sh", "-c", mount, env!("CARGO_BIN_EXE_seconder")]);
    let more = ["--database", "sqlite:disk/seconder.db", "--api-key-file", "key"];
    let running = Running::start_by(program, folder.path(), &more, || "key-of-choice".into());
    // The disk as the service sees it.
    let disk = Path::new("/proc")
        .join(running.id().to_string())
        .join("root")
        .join(disk.strip_prefix("/").unwrap());
    let ballast = disk.join("ballast");
    let ada = running.client.create_user("ada@example.com", "2025550123", "1").unwrap().user_id;
    while fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&ballast)
        .unwrap()
        .write_all(&[0; 4096])
        .is_ok()
    {}
    let create = |client: &Service, number: u64| {
        client.create_user("eve@example.com", &format!("{}", 2_025_550_124 + number), "1")
    };
    // SQLite has some room left in the files that it has.
    let mut numbers = 0..100_000;
    let error = numbers.find_map(|number| create(&running.client, number).err()).unwrap();
    assert!(error.to_string().contains("Internal error."), "{error}");
    wait_until("a line", || running.log().contains("error=\"storage: "));
    let log = running.log();
    let line = log.lines().find(|line| line.contains("error=\"storage: ")).unwrap();
    assert!(line.contains("full") && line.contains("disk"), "{line}");
    // What needs no room goes on, and nobody gets in.
    assert!(running.client.handle(&UserStatus::new(ada)).is_ok());
    assert!(running.client.verify(&"1234567".parse().unwrap(), ada).is_err());
    fs::remove_file(&ballast).unwrap();
    create(&running.client, 200_000).unwrap();
    assert!(running.client.handle(&UserStatus::new(ada)).is_ok());
}

#[test]
fn a_database_that_vanishes_is_an_error_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &[]);
    let create = || running.client.create_user("ada@example.com", "2025550123", "1");
    let ada = create().unwrap();
    let (database, gone) = (folder.path().join("seconder.db"), folder.path().join("gone.db"));
    fs::rename(&database, &gone).unwrap();
    assert!(create().unwrap_err().to_string().contains("Internal error."));
    // Nothing takes its place, in which nobody would be enrolled.
    assert!(!database.exists());
    fs::rename(&gone, &database).unwrap();
    assert_eq!(create().unwrap().user_id, ada.user_id);
}
