//! Another copy of SQLite in the process, and files that are removed or replaced under an open
//! service: no code opens two doors, and no commit vanishes without an error.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod fresh;

use fresh::{ada, open, url};
use seconder::model::{Token, UserId};
use seconder::{Error, Handle, Service, Settings, Verdict};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// What another copy of SQLite does to this process when it closes the file: POSIX drops the locks.
fn drop_locks(path: &Path) {
    for end in ["", "-shm"] {
        drop(File::open(beside(path, end)).unwrap());
    }
}

/// Runs one of the children below, and returns what it prints after `result: `.
fn child(name: &str, input: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{input}").unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let result = printed.lines().find_map(|line| line.split_once("result: "));
    result.unwrap().1.to_owned()
}

fn line() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_opens_and_closes() {
    let db = rusqlite::Connection::open(line()).unwrap();
    let users: i64 = db.query_row("SELECT count(*) FROM users", [], |row| row.get(0)).unwrap();
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(db);
    println!("result: {users}");
}

#[test]
#[ignore = "runs as the child of another test"]
fn child_that_checks_a_code() {
    let line = line();
    let mut parts = line.split(' ');
    let (service, _) = open(Path::new(parts.next().unwrap()));
    let user: u64 = parts.next().unwrap().parse().unwrap();
    let token: Token = parts.next().unwrap().parse().unwrap();
    let user = UserId::try_from(user).unwrap();
    println!("result: {:?}", service.verify(user, &token).unwrap());
}

#[test]
fn a_code_opens_one_door_even_if_another_copy_of_sqlite_dropped_the_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let (service, sent) = open(&path);
    let (again, _) = open(&path);
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let log = || fs::metadata(beside(&path, "-wal")).unwrap().ino();
    let before = log();
    drop_locks(&path);
    assert_eq!(child("child_that_opens_and_closes", path.to_str().unwrap()), "1");
    assert_eq!(log(), before, "the log that is in use must not be removed");
    // Closing another service of this process drops no locks either.
    drop(again);
    assert_eq!(child("child_that_opens_and_closes", path.to_str().unwrap()), "1");
    assert_eq!(log(), before);

    let code = sent.lock().unwrap()[0].code.clone();
    let verdict = service.verify(user, &code.parse().unwrap()).unwrap();
    assert_eq!(verdict, Verdict::Right);
    let second = child("child_that_checks_a_code", &format!("{} {user} {code}", path.display()));
    assert_eq!(second, "Wrong", "the code was used");
    drop(service);
    assert!(!beside(&path, "-wal").exists(), "the last service removes the log");
    assert!(!beside(&path, "-shm").exists());
}

#[test]
fn services_that_open_and_close_at_the_same_time_keep_the_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let (service, _) = open(&path);
    let user = ada(&service);
    for _ in 0..5 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| drop(open(&path))));
            }
        });
        // Not at the same time: whoever loses the locks in the middle of its work can fail.
        drop_locks(&path);
        assert_eq!(child("child_that_opens_and_closes", path.to_str().unwrap()), "1");
        assert!(beside(&path, "-wal").exists(), "the child is not the last one");
        service.user_status(user).unwrap();
    }
    drop(service);
    assert!(!beside(&path, "-wal").exists());
    // Nothing is left that would keep the next one from removing the log. Services that are closed
    // at the same moment may all leave it, as each sees the others.
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| drop(open(&path)));
            }
        });
        drop(open(&path));
        assert!(!beside(&path, "-wal").exists());
    }
}

#[test]
fn a_database_that_another_copy_has_open_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let user = ada(&open(&path).0);
    let other = File::open(&path).unwrap();
    let error = Settings::new(&url(&path)).open().unwrap_err();
    assert!(matches!(&error, Error::Storage { .. }), "{error}");
    assert!(error.to_string().contains("not by this copy of the library"), "{error}");
    drop(other);
    let (service, _) = open(&path);
    let (second, _) = open(&path);
    service.user_status(user).unwrap();
    second.user_status(user).unwrap();
}

/// Every call fails, whether it reads or writes, and nothing is sent.
fn rejects(service: &Service, user: UserId, words: &str) {
    let token: Token = "1234567".parse().unwrap();
    let errors = [
        service.handle(&seconder::Verify::new(user, token)).map(drop),
        service.user_status(user).map(drop),
        service.request_sms(user).map(drop),
        service.create_user("bob@example.com", "555-010-0124", "1").map(drop),
        service.delete_user(user).map(drop),
        service.app_stats().map(drop),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(matches!(&error, Error::Storage { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(words) && text.contains("open the service again"), "{text}");
    }
}

#[test]
fn a_database_that_is_removed_or_replaced_while_it_is_open_is_an_error() {
    type Change = fn(&Path);
    let removed: Change = |path| fs::remove_file(path).unwrap();
    let renamed: Change = |path| fs::rename(path, beside(path, ".old")).unwrap();
    let replaced: Change = |path| {
        fs::copy(path, beside(path, ".new")).unwrap();
        fs::rename(beside(path, ".new"), path).unwrap();
    };
    let without_log: Change = |path| fs::remove_file(beside(path, "-wal")).unwrap();
    let without_index: Change = |path| fs::remove_file(beside(path, "-shm")).unwrap();
    let all: Change = |path| {
        for end in ["", "-wal", "-shm"] {
            fs::remove_file(beside(path, end)).unwrap();
        }
    };
    for (change, words) in [
        (removed, "seconder.db was removed or replaced"),
        (renamed, "seconder.db was removed or replaced"),
        (replaced, "seconder.db was removed or replaced"),
        (without_log, "use one copy of SQLite per process"),
        (without_index, "use one copy of SQLite per process"),
        (all, "seconder.db was removed or replaced"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seconder.db");
        let (service, sent) = open(&path);
        let user = ada(&service);
        service.user_status(user).unwrap();
        change(&path);
        rejects(&service, user, words);
        assert!(sent.lock().unwrap().is_empty());
    }
}

/// The log beside the file belongs to whoever opened the new database, not to the old service.
#[test]
fn closing_a_service_whose_database_was_replaced_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let (old, _) = open(&path);
    ada(&old);
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(beside(&path, end)).unwrap();
    }
    let (new, _) = open(&path);
    let bob = new.create_user("bob@example.com", "555-010-0124", "1").unwrap().user_id;
    drop(old);
    new.user_status(bob).unwrap();
    assert_eq!(child("child_that_opens_and_closes", path.to_str().unwrap()), "1");
    new.user_status(bob).unwrap();
}

#[test]
fn a_link_that_leads_to_another_database_later_changes_nothing() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("one")).unwrap();
    fs::create_dir(at("two")).unwrap();
    symlink("one", at("current")).unwrap();
    let (first, _) = open(&at("current").join("seconder.db"));
    let user = ada(&first);
    fs::remove_file(at("current")).unwrap();
    symlink("two", at("current")).unwrap();
    first.user_status(user).unwrap();
    let (second, _) = open(&at("current").join("seconder.db"));
    assert!(matches!(second.user_status(user), Err(Error::Rejected(_))));
    first.request_sms(user).unwrap();
}

#[test]
fn a_database_that_must_exist_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let must = || Settings::new(&url(&path)).must_exist(true).open();
    let rejected = |words: &str| {
        let error = must().unwrap_err();
        assert!(matches!(&error, Error::Storage { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    rejected("seconder.db does not exist, and is not created");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(&path, "").unwrap();
    rejected("seconder.db is empty, and is not created");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    let user = ada(&open(&path).0);
    must().unwrap().user_status(user).unwrap();
}
