//! New keys of a ring, while a service runs, and what happens to the values of the old ones.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::open;
use crate::sealed::ring_of;
use seconder::keyring::Keyring;
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Handle, Verdict};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn now() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "the test is a host of the engine")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

#[test]
fn values_are_sealed_anew_and_the_old_key_can_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, sent) = open(&path);
    let engine = service.engine().unwrap();
    let users: Vec<UserId> = (0..300)
        .map(|number| {
            let phone = format!("202-555-{number:04}");
            service.create_user("ada@example.com", &phone, "1").unwrap().user_id
        })
        .collect();
    for user in &users {
        service.request_sms(*user).unwrap();
    }
    let ring = engine.keyring().unwrap();
    let first = ring.keys().unwrap()[0].id;
    let second = ring.rotate().unwrap();
    let more_than_a_step = 300;
    assert!(engine.sealed_values().unwrap()[&first] > more_than_a_step);
    assert!(engine.remove_sealing_key(first).unwrap_err().to_string().contains("an hour"));
    let done = engine.reseal().unwrap();
    assert!(done.values > more_than_a_step && done.unreadable == 0, "{done:?}");
    let counts = engine.sealed_values().unwrap();
    assert_eq!((counts[&first], counts[&second]), (0, done.values));
    assert_eq!(engine.reseal().unwrap().values, 0);
    age(ring.path());
    engine.remove_sealing_key(first).unwrap();
    assert_eq!(ring.keys().unwrap().iter().map(|key| key.id).collect::<Vec<_>>(), [second]);
    drop(service);
    let (service, _) = open(&path);
    let code: Token = sent.lock().unwrap().last().unwrap().code.parse().unwrap();
    let check = seconder::Verify::new(*users.last().unwrap(), code);
    assert_eq!(service.handle(&check).unwrap().verdict, Verdict::Right);
}

#[test]
fn a_key_that_values_use_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, _) = open(&path);
    let engine = service.engine().unwrap();
    let ring = engine.keyring().unwrap();
    let first = ring.keys().unwrap()[0].id;
    ring.rotate().unwrap();
    age(ring.path());
    let message = engine.remove_sealing_key(first).unwrap_err().to_string();
    assert!(message.contains("seconder keyring reseal"), "{message}");
    assert_eq!(ring.keys().unwrap().len(), 2);
    drop(service);
    drop(open(&path));
}

/// As if every key had been made two hours before.
fn age(ring: &Path) {
    let text = fs::read_to_string(ring).unwrap();
    let aged = text.lines().map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
        ["key", id, created, ..] => {
            let earlier = created.parse::<u64>().unwrap() - 7200;
            line.replacen(&format!("{id} {created}"), &format!("{id} {earlier}"), 1) + "\n"
        }
        _ => format!("{line}\n"),
    });
    let aged: String = aged.collect();
    fs::write(ring, aged).unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(ring).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn a_sandbox_has_no_ring() {
    let service = seconder::open("sandbox:").unwrap();
    let engine = service.engine().unwrap();
    assert!(engine.keyring().is_err() && engine.reseal().is_err());
    assert!(engine.sealed_values().is_err());
}

/// Sends codes and checks them until its input ends. Run by the test below.
#[test]
#[ignore = "runs as the child of another test"]
fn child_that_logs_users_in() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let (area, path) = line.trim().split_once(' ').unwrap();
    let (service, sent) = open(Path::new(path));
    let mut checked = 0;
    for number in 0..150 {
        let phone = format!("{area}-555-{number:04}");
        let user = service.create_user("ada@example.com", &phone, "1").unwrap().user_id;
        service.request_sms(user).unwrap();
        let app = Totp::from_uri(service.enrol_authenticator(user).unwrap().uri.expose()).unwrap();
        let code: Token = sent.lock().unwrap().pop().unwrap().code.parse().unwrap();
        let verdict = service.verify(user, &code).unwrap();
        assert_eq!(verdict, Verdict::Right, "user {number}");
        let shown: Token = app.code(now()).expose().parse().unwrap();
        assert_eq!(service.confirm_authenticator(user, &shown).unwrap(), Verdict::Right);
        checked += 1;
    }
    println!("checked {checked}");
}

#[test]
fn keys_change_while_two_processes_log_users_in() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    // Both begin with a database that is not there yet.
    let mut children: Vec<_> = ["202", "303"]
        .map(|area| {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "keys::child_that_logs_users_in", "--ignored", "--nocapture"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            writeln!(child.stdin.take().unwrap(), "{area} {}", path.display()).unwrap();
            child
        })
        .into();
    let ring = Keyring::at(ring_of(&path));
    let mut rotations = 0;
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        if rotations < 20 && ring.path().exists() {
            ring.rotate().unwrap();
            rotations += 1;
        }
        std::thread::yield_now();
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("checked 150"), "{text}");
    }
    let (service, _) = open(&path);
    let engine = service.engine().unwrap();
    assert!(rotations > 0 && engine.sealed_values().unwrap().len() > 1);
    let done = engine.reseal().unwrap();
    assert_eq!(done.unreadable, 0);
}
