//! Keyrings in files.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn ring(folder: &tempfile::TempDir) -> Keyring {
    Keyring::at(folder.path().join("ring"))
}

fn ids(ring: &Keyring) -> Vec<(KeyId, bool)> {
    ring.keys().unwrap().iter().map(|key| (key.id, key.is_current)).collect()
}

/// As if the file had been written an hour and a minute before.
fn age(ring: &Keyring) {
    let text = fs::read_to_string(ring.path()).unwrap();
    let aged = text.lines().map(|line| {
        let parts: Vec<&str> = line.split(' ').collect();
        match parts[..] {
            ["key", id, created, ..] => {
                let created: u64 = created.parse().unwrap();
                let rest = parts[3..].join(" ");
                format!("key {id} {} {rest}\n", created - 3660)
            }
            _ => format!("{line}\n"),
        }
    });
    let aged: String = aged.collect();
    fs::write(ring.path(), aged).unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(ring.path()).unwrap().set_modified(long_ago).unwrap();
}

fn error<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("it succeeded"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_ring_is_created_once_for_its_owner_only() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    assert_eq!(fs::metadata(ring.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(ring.path()).unwrap();
    assert!(error(ring.create()).contains("exists already"));
    assert_eq!(fs::read(ring.path()).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    assert_eq!(ids(&ring).len(), 1);
}

#[test]
fn threads_that_create_a_ring_at_once_agree_on_one() {
    let folder = folder();
    let ring = ring(&folder);
    let opened: Vec<KeyId> = std::thread::scope(|scope| {
        let open = || {
            let opened = Ring::open_or_create(ring.clone()).unwrap();
            opened.keys().current().unwrap().id
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(opened.iter().all(|id| *id == ids(&ring)[0].0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_ring_that_others_can_read_is_rejected() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o660, 0o666, 0o601] {
        fs::set_permissions(ring.path(), PermissionsExt::from_mode(mode)).unwrap();
        let message = error(ring.keys());
        assert!(message.contains("chmod 600"), "{mode:o}: {message}");
        assert!(error(ring.rotate()).contains("chmod 600"));
    }
    for mode in [0o600, 0o400] {
        fs::set_permissions(ring.path(), PermissionsExt::from_mode(mode)).unwrap();
        assert!(ring.keys().is_ok());
    }
}

#[test]
fn what_is_no_ring_is_left_alone() {
    let folder = folder();
    let ring = ring(&folder);
    let missing = error(ring.keys());
    assert!(missing.contains("seconder keyring create"), "{missing}");
    for text in ["", "garbage\n", "seconder-keyring 1\n", &"x".repeat(100_000)] {
        fs::write(ring.path(), text).unwrap();
        fs::set_permissions(ring.path(), PermissionsExt::from_mode(0o600)).unwrap();
        assert!(error(ring.keys()).contains("damaged"));
        assert!(error(ring.rotate()).contains("damaged"));
        assert!(error(Ring::open_or_create(ring.clone())).contains("damaged"));
        assert_eq!(fs::read_to_string(ring.path()).unwrap(), text);
    }
    fs::write(ring.path(), "seconder-keyring 2\n").unwrap();
    assert!(error(ring.keys()).contains("newer version"));
    fs::remove_file(ring.path()).unwrap();
    fs::create_dir(ring.path()).unwrap();
    assert!(error(ring.keys()).contains("is not a file"));
}

#[test]
fn a_new_key_seals_from_then_on_and_the_others_stay() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    let running = Ring::open(ring.clone()).unwrap();
    let sealed = running.keys().current().unwrap().cipher().seal(b"here", b"secret").unwrap();
    fs::set_permissions(ring.path(), PermissionsExt::from_mode(0o400)).unwrap();
    let new = ring.rotate().unwrap();
    assert_eq!(fs::metadata(ring.path()).unwrap().permissions().mode() & 0o777, 0o400);
    assert_eq!(ids(&ring).iter().map(|(_, current)| *current).collect::<Vec<_>>(), [false, true]);
    let keys = running.keys();
    assert_eq!(keys.current().unwrap().id, new);
    let old = keys.get(KeyId::of_value(&sealed).unwrap()).unwrap();
    assert_eq!(old.cipher().open(b"here", &sealed).unwrap().as_slice(), b"secret");
}

#[test]
fn a_ring_that_is_damaged_while_it_is_used_leaves_the_keys_as_they_were() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    let running = Ring::open(ring.clone()).unwrap();
    let id = running.keys().current().unwrap().id;
    fs::write(ring.path(), "garbage\n").unwrap();
    assert_eq!(running.keys().current().unwrap().id, id);
    fs::remove_file(ring.path()).unwrap();
    assert_eq!(running.keys().current().unwrap().id, id);
}

#[test]
fn rotations_at_once_lose_no_key() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    let mut new: Vec<KeyId> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| ring.rotate().unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut kept: Vec<KeyId> = ids(&ring)[1..].iter().map(|(id, _)| *id).collect();
    new.sort_unstable();
    kept.sort_unstable();
    assert_eq!(new, kept);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_key_is_removed_once_another_has_been_current_for_an_hour() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    let first = ids(&ring)[0].0;
    assert!(error(ring.remove(first)).contains("is the current key"));
    let second = ring.rotate().unwrap();
    assert!(error(ring.remove(first)).contains("less than an hour"));
    age(&ring);
    assert!(error(ring.remove("0000000000000000".parse().unwrap())).contains("has no key"));
    ring.remove(first).unwrap();
    assert_eq!(ids(&ring), [(second, true)]);
}

#[test]
fn a_ring_may_be_a_link() {
    let folder = folder();
    let ring = ring(&folder);
    ring.create().unwrap();
    let link = folder.path().join("link");
    symlink(ring.path(), &link).unwrap();
    let linked = Keyring::at(link);
    linked.rotate().unwrap();
    assert_eq!(ids(&ring).len(), 2);
    assert_eq!(ids(&linked), ids(&ring));
}

#[test]
fn a_ring_that_could_not_be_read_for_a_moment_is_read_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = Keyring::at(folder.path().join("ring"));
    file.create().unwrap();
    let ring = Ring::open(file.clone()).unwrap();
    let added = file.rotate().unwrap();
    let version = Version::at(file.path());
    assert!(ring.follow(version, || None).get(added).is_none());
    assert!(ring.keys().get(added).is_some());
}
