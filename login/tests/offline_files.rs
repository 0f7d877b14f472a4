//! The files of the cache of offline logins: whose they are, and what becomes of damaged ones.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "offline/world.rs"]
mod world;

use seconder_login::offline::{Limits, Offline, OfflineVerdict, Problem, system_random};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use world::{MACHINE, SERVICE, START, World, accepted, mode};

const AT: u64 = START + 600;

fn open(folder: &Path, service: &str, machine: &[u8]) -> Result<Offline, Problem> {
    Offline::open(folder, service, machine, Limits::default(), system_random)
}

fn check(world: &World, offline: &Offline) -> OfflineVerdict {
    offline.check(world.user, &world.code(AT), AT)
}

#[track_caller]
fn rejected(folder: &Path, reason: &str) {
    let error = open(folder, SERVICE, MACHINE).unwrap_err();
    let Problem::Storage(text) = &error else { panic!("{error:?}") };
    assert!(text.contains(reason), "{text}");
}

/// Copies a folder with its files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    mode(to, 0o700);
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn the_files_are_the_owners_alone_and_their_names_say_nothing() {
    let world = World::new();
    let _offline = world.prepared();
    let permissions = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(permissions(&world.path()), 0o700);
    for entry in fs::read_dir(world.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(permissions(&path), 0o600, "{path:?}");
    }
    let stored = fs::read(world.file()).unwrap();
    assert!(!stored.windows(8).any(|bytes| bytes == START.to_be_bytes()));
}

#[test]
fn a_cache_opens_on_its_machine_for_its_service_and_its_user_alone() {
    let world = World::new();
    let offline = world.prepared();
    let none = OfflineVerdict::Refused(Problem::NotPrepared);
    let damaged = OfflineVerdict::Refused(Problem::Damaged);
    let others = [
        open(&world.path(), SERVICE, b"another").unwrap(),
        open(&world.path(), "https://2fa.example", MACHINE).unwrap(),
    ];
    for other in &others {
        assert_eq!(check(&world, other), none);
    }
    // Renamed to what the other machine looks for.
    let file = world.file();
    for other in &others {
        let before = names(&world);
        other.prepared(world.user, &world.reply(START), START).unwrap();
        let new = names(&world).into_iter().find(|name| {
            name.starts_with("user-") && !name.contains('.') && !before.contains(name)
        });
        fs::copy(&file, world.path().join(new.unwrap())).unwrap();
        assert_eq!(check(&world, other), damaged);
    }
    // Given to another user of the same machine.
    let bob = 4711.try_into().unwrap();
    let before = names(&world);
    offline.prepared(bob, &world.reply(START), START).unwrap();
    let new = names(&world)
        .into_iter()
        .find(|name| name.starts_with("user-") && !name.contains('.') && !before.contains(name));
    fs::copy(&file, world.path().join(new.unwrap())).unwrap();
    assert_eq!(offline.check(bob, &world.code(AT), AT), damaged);
    // Without the key, or with another one.
    let copied = world.path().with_file_name("copied");
    copy(&world.path(), &copied);
    fs::remove_file(copied.join("key")).unwrap();
    assert_eq!(check(&world, &open(&copied, SERVICE, MACHINE).unwrap()), none);
    assert!(accepted(&check(&world, &offline)), "the cache itself is as it was");
}

fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_damaged_cache_accepts_nothing() {
    let world = World::new();
    let offline = world.prepared();
    let file = world.file();
    let good = fs::read(&file).unwrap();
    let mut bad: Vec<Vec<u8>> = [0, 1, 3, 4, 27, 28, 29, 200, good.len() / 2, good.len() - 1]
        .map(|n| good[..n].to_vec())
        .into();
    for at in [0, 3, 5, 28, 40, 100, good.len() - 1] {
        let mut changed = good.clone();
        changed[at] ^= 1;
        bad.push(changed);
    }
    bad.push([good.as_slice(), b"x"].concat());
    bad.push(vec![0; good.len()]);
    bad.push(vec![7; 1024 * 1024]);
    for bytes in bad {
        fs::write(&file, &bytes).unwrap();
        let verdict = check(&world, &offline);
        assert_eq!(verdict, OfflineVerdict::Refused(Problem::Damaged), "{}", bytes.len());
        assert_eq!(offline.reports(world.user), Err(Problem::Damaged));
    }
    let mut newer = good.clone();
    newer[3] += 1;
    fs::write(&file, &newer).unwrap();
    assert_eq!(check(&world, &offline), OfflineVerdict::Refused(Problem::Newer));
    // The next login that the service checks removes it.
    offline.used_online(world.user, &world.code(AT), AT).unwrap();
    assert_eq!(check(&world, &offline), OfflineVerdict::Refused(Problem::NotPrepared));
    fs::write(world.path().join("key"), b"short").unwrap();
    assert_eq!(open(&world.path(), SERVICE, MACHINE).unwrap_err(), Problem::Damaged);
}

#[test]
fn what_cannot_be_stored_is_not_accepted() {
    let world = World::new();
    let offline = world.prepared();
    let mut new = world.file().into_os_string();
    new.push(".new");
    fs::create_dir(&new).unwrap();
    let verdict = check(&world, &offline);
    assert!(matches!(verdict, OfflineVerdict::Refused(Problem::Storage(_))), "{verdict:?}");
    fs::remove_dir(&new).unwrap();
    // What a process left that was killed between writing and renaming has no effect.
    fs::write(&new, "half").unwrap();
    assert!(accepted(&check(&world, &offline)));
    assert_eq!(check(&world, &offline), OfflineVerdict::Wrong);
}

#[test]
fn links_and_files_of_others_are_not_read() {
    let world = World::new();
    let offline = world.prepared();
    let file = world.file();
    let aside = world.path().join("aside");
    fs::rename(&file, &aside).unwrap();
    symlink(&aside, &file).unwrap();
    assert!(matches!(check(&world, &offline), OfflineVerdict::Refused(Problem::Storage(_))));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(check(&world, &offline), OfflineVerdict::Refused(Problem::Storage(_))));
    fs::remove_dir(&file).unwrap();
    fs::rename(&aside, &file).unwrap();
    mode(&file, 0o640);
    assert!(matches!(check(&world, &offline), OfflineVerdict::Refused(Problem::Storage(_))));
    mode(&file, 0o600);
    if chown(&file, Some(65534), None).is_ok() {
        assert!(matches!(check(&world, &offline), OfflineVerdict::Refused(Problem::Storage(_))));
        chown(&file, Some(0), None).unwrap();
    }
    assert!(accepted(&check(&world, &offline)));
}

#[test]
fn a_folder_that_others_can_use_is_rejected() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("offline");
    assert!(open(&folder, SERVICE, b"").is_err(), "a machine without an identity");
    open(&folder, SERVICE, MACHINE).unwrap();
    for open_mode in [0o755, 0o710, 0o770, 0o777, 0o1777] {
        mode(&folder, open_mode);
        rejected(&folder, "chmod 0700");
    }
    mode(&folder, 0o700);
    mode(above.path(), 0o777);
    rejected(&folder, "must not be writable by others");
    mode(above.path(), 0o755);
    let link = above.path().join("link");
    symlink(&folder, &link).unwrap();
    rejected(&link, "no symbolic link");
    fs::write(above.path().join("file"), "").unwrap();
    rejected(&above.path().join("file"), "must be a folder");
    rejected(&above.path().join("missing/offline"), "cannot be used");
    rejected(Path::new("offline"), "must begin with /");
    rejected(Path::new("/"), "must be the path of a folder");
    if chown(&folder, Some(65534), None).is_ok() {
        rejected(&folder, "belongs to user 65534");
        chown(&folder, Some(0), None).unwrap();
        chown(above.path(), Some(65534), None).unwrap();
        rejected(&folder, "must belong to root");
    }
}

#[test]
fn a_login_that_does_not_end_keeps_others_from_waiting_for_ever() {
    let world = World::new();
    let offline = world.prepared();
    let mut lock = world.file().into_os_string();
    lock.push(".lock");
    let held = fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    assert_eq!(check(&world, &offline), OfflineVerdict::Refused(Problem::Busy));
    drop(held);
    assert!(accepted(&check(&world, &offline)));
}
