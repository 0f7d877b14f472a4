//! Backups of a database, and which of them are put back.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod copies;
mod fresh;

use copies::{LATER, World, backup, files, put_back};
use fresh::{ada, open};
use seconder::{Error, Settings, Verdict};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_backup_is_of_one_moment_while_calls_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (service, _) = open(&at("seconder.db"));
    for number in 0..300 {
        service.create_user("ada@example.com", &format!("555-010-{number:04}"), "1").unwrap();
    }
    let (done, begun) = (AtomicBool::new(false), Barrier::new(5));
    std::thread::scope(|scope| {
        let (service, done, begun) = (&service, &done, &begun);
        for thread in 1..5 {
            scope.spawn(move || {
                let create = |number| {
                    let phone = format!("555-01{thread}-{:04}", number % 10_000);
                    service.create_user("eve@example.com", &phone, "1").unwrap();
                };
                create(0);
                begun.wait();
                (1..).take_while(|_| !done.load(Ordering::Relaxed)).for_each(create);
            });
        }
        begun.wait();
        let mut seen = Vec::new();
        for name in ["one.db", "two.db"] {
            let progress = |copied, all| seen.push((copied, all));
            service.engine().unwrap().backup(&at(name), progress).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let (copied, all) = *seen.last().unwrap();
        assert!(copied == all && all > 0, "{seen:?}");
    });
    for name in ["one.db", "two.db"] {
        let copy = rusqlite::Connection::open(at(name)).unwrap();
        let number = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let users = number("SELECT count(*) FROM users");
        assert!(users >= 304, "{users}");
        // Each user is counted in the transaction that creates it.
        assert_eq!(number("SELECT sum(users) FROM statistics WHERE month = 0"), users);
    }
    let names: Vec<_> = files(folder.path()).into_keys().collect();
    assert!(!names.iter().any(|name| name.display().to_string().contains("-part")), "{names:?}");
}

#[test]
fn a_backup_overwrites_nothing_and_leaves_nothing_if_it_fails() {
    let world = World::new();
    let service = world.open();
    std::fs::write(world.at("precious"), "of the user").unwrap();
    std::fs::write(world.at("running.db-part"), "of the user").unwrap();
    let before = files(world.folder.path());
    for (name, words) in
        [("precious", "exists"), ("running.db", "move it away"), ("missing/copy.db", "missing")]
    {
        let error = backup(&service, &world.at(name)).unwrap_err();
        assert!(matches!(error, Error::Storage { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(files(world.folder.path()) == before);
    let sandbox = Settings::new("sandbox:").open().unwrap();
    assert!(matches!(backup(&sandbox, &world.at("x")), Err(Error::Storage { .. })));
}

#[test]
fn what_a_killed_copy_has_left_is_replaced_and_never_written_to() {
    let world = World::new();
    let copy = world.backup();
    let bytes = std::fs::read(&copy).unwrap();
    // A process that is killed at the end leaves the copy with both names.
    std::fs::hard_link(&copy, world.at("new.db-part")).unwrap();
    backup(&world.open(), &world.at("new.db")).unwrap();
    assert!(!world.at("new.db-part").exists());
    for left in ["".as_bytes(), &[0; 4096], &bytes] {
        std::fs::write(world.at("seconder.db-part"), left).unwrap();
        put_back(&copy, &world.at("seconder.db"), true).unwrap();
        assert!(!world.at("seconder.db-part").exists());
    }
    std::fs::hard_link(world.at("seconder.db"), world.at("seconder.db-part")).unwrap();
    let live = std::fs::read(world.at("seconder.db")).unwrap();
    std::fs::write(world.at("damaged.db"), &bytes[..8192]).unwrap();
    put_back(&world.at("damaged.db"), &world.at("seconder.db"), true).unwrap_err();
    assert!(std::fs::read(world.at("seconder.db")).unwrap() == live);
    assert!(std::fs::read(&copy).unwrap() == bytes);
}

/// Run by the test below.
#[test]
#[ignore = "runs as the child of another test"]
fn child_that_copies() {
    let mut folder = String::new();
    std::io::stdin().read_line(&mut folder).unwrap();
    let folder = Path::new(folder.trim_end());
    let (service, _) = open(&folder.join("seconder.db"));
    let until_the_pipe_is_closed = |_, _| {
        println!("copying now");
        std::io::stdin().read_to_string(&mut String::new()).unwrap();
    };
    service.engine().unwrap().backup(&folder.join("new.db"), until_the_pipe_is_closed).unwrap();
}

/// Runs a test of this file in a child, which reads a line first. Returns also what it reads from, and the lines that
/// it prints.
fn child(test: &str, line: &Path) -> (Child, ChildStdin, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", line.display()).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (child, input, lines)
}

#[test]
fn a_file_that_another_copy_is_writing_is_left_to_it() {
    let world = World::new();
    let service = world.open();
    let (mut child, input, mut lines) = child("child_that_copies", world.folder.path());
    assert!(lines.any(|line| line.ends_with("copying now")));
    let error = backup(&service, &world.at("new.db")).unwrap_err().to_string();
    assert!(error.contains("new.db-part is being written by another process"), "{error}");
    drop(input);
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    assert!(world.at("new.db").exists() && !world.at("new.db-part").exists());
    // The same in one process.
    let other = world.open();
    let mut refused = Vec::new();
    let progress = |_, _| refused.extend(backup(&other, &world.at("2.db")).err());
    service.engine().unwrap().backup(&world.at("2.db"), progress).unwrap();
    assert!(refused[0].to_string().contains("2.db-part is in use by this process"));
}

#[test]
fn a_file_that_no_killed_copy_has_left_stays() {
    let world = World::new();
    let copy = world.backup();
    let bytes = std::fs::read(&copy).unwrap();
    let mut theirs = bytes.clone();
    theirs[68..72].copy_from_slice(b"GPKG");
    std::fs::write(world.at("theirs.db-part"), theirs).unwrap();
    std::os::unix::fs::symlink(&copy, world.at("link.db-part")).unwrap();
    // A database in use, of this process or another one.
    let live = format!("sqlite:{}", world.at("live.db-part").display());
    let live = Settings::new(&live).open().unwrap();
    std::fs::write(world.at("other.db-part"), &bytes).unwrap();
    std::fs::write(world.at("other.db-part-mark"), "1").unwrap();
    let before = files(world.folder.path());
    let service = world.open();
    std::fs::create_dir(world.at("folder.db-part")).unwrap();
    for name in ["theirs.db", "link.db", "folder.db", "live.db", "other.db"] {
        let error = backup(&service, &world.at(name)).unwrap_err();
        assert!(error.to_string().contains("move it away"), "{name}: {error}");
    }
    let error = backup(&live, &world.at("live.db")).unwrap_err();
    assert!(error.to_string().contains("move it away"), "{error}");
    std::fs::remove_dir(world.at("folder.db-part")).unwrap();
    let after = files(world.folder.path());
    for name in ["theirs.db-part", "other.db-part", "live.db-part", "copy.db"] {
        assert!(after[&world.at(name)] == before[&world.at(name)], "{name}");
    }
    drop((service, live));
    // The copy itself.
    std::fs::rename(&copy, world.at("seconder.db-part")).unwrap();
    let error = put_back(&world.at("seconder.db-part"), &world.at("seconder.db"), true);
    assert!(error.unwrap_err().to_string().contains("move it away"));
    assert!(std::fs::read(world.at("seconder.db-part")).unwrap() == bytes);
}

#[test]
fn a_restore_that_is_refused_loses_nothing() {
    let world = World::new();
    let copy = world.backup();
    let bytes = std::fs::read(&copy).unwrap();
    let change = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        std::fs::write(world.at(name), bytes).unwrap();
    };
    change("torn.db", &|bytes| bytes[5000..9000].fill(0xee));
    change("cut.db", &|bytes| bytes.truncate(8192));
    change("newer.db", &|bytes| bytes[60..64].copy_from_slice(&99u32.to_be_bytes()));
    change("theirs.db", &|bytes| bytes[68..72].copy_from_slice(&7u32.to_be_bytes()));
    std::fs::write(world.at("text.db"), "no database ".repeat(1000)).unwrap();
    std::fs::write(world.at("empty.db"), "").unwrap();
    let refuses = |copy: &str, database: &str, replace: bool, words: &str| {
        let before = files(world.folder.path());
        let error = put_back(&world.at(copy), &world.at(database), replace).unwrap_err();
        assert!(matches!(error, Error::Storage { .. }), "{error}");
        assert!(error.to_string().contains(words), "{copy} {database}: {error}");
        assert!(files(world.folder.path()) == before, "{copy} {database}: {error}");
    };
    refuses("copy.db", "seconder.db", false, "exists");
    refuses("copy.db", "new.db", false, "there is no keyring");
    seconder::keyring::Keyring::at(world.at("new.db.keys")).create().unwrap();
    refuses("copy.db", "new.db", false, "lacks the key");
    std::fs::copy(world.at("seconder.db.keys"), world.at("new.db.keys")).unwrap();
    for (copy, words) in [
        ("torn.db", "damaged"),
        ("cut.db", "damaged"),
        ("text.db", "damaged"),
        ("newer.db", "newer version"),
        ("theirs.db", "another program"),
        ("empty.db", "empty"),
        ("nothing.db", "no file"),
        ("seconder.db", "itself"),
    ] {
        refuses(copy, "seconder.db", true, words);
        let other = if copy == "seconder.db" { copy } else { "new.db" };
        refuses(copy, other, false, words);
    }
    refuses("copy.db", "theirs.db", true, "another program");
    refuses("copy.db", "missing/seconder.db", false, "no folder");
    // The service has a user who could not log in with the copy.
    let service = world.open();
    world.user.is_not_spent(&service);
    refuses("copy.db", "seconder.db", true, "in use");
}

/// Run by the tests below.
#[test]
#[ignore = "runs as the child of another test"]
fn child_that_has_it_open() {
    let mut lines = std::io::stdin().lines().map(Result::unwrap);
    let (service, _) = open(Path::new(&lines.next().unwrap()));
    println!("open now");
    // Until the parent closes the pipe.
    for number in lines {
        service.create_user("eve@example.com", &number, "1").unwrap();
        println!("written now");
    }
}

#[test]
fn a_backup_does_not_begin_again_when_another_process_writes() {
    let world = World::new();
    let large = "INSERT INTO activities (user_id, created_at, nonce, kind, data) \
                 VALUES (1, 1, 1, 'large', hex(zeroblob(2000000)))";
    rusqlite::Connection::open(&world.path).unwrap().execute_batch(large).unwrap();
    let service = world.open();
    let (mut child, mut input, mut lines) = child("child_that_has_it_open", &world.path);
    assert!(lines.any(|line| line.ends_with("open now")));
    let mut seen = Vec::new();
    let progress = |copied, _| {
        seen.push(copied);
        if seen.len() < 4 {
            writeln!(input, "555-010-100{}", seen.len()).unwrap();
            assert!(lines.any(|line| line.ends_with("written now")));
        }
    };
    service.engine().unwrap().backup(&world.at("copy.db"), progress).unwrap();
    assert!(seen.len() > 3 && seen.is_sorted_by(|one, next| one < next), "{seen:?}");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_database_that_another_process_has_open_is_not_replaced() {
    let world = World::new();
    let copy = world.backup();
    let (mut child, input, mut lines) = child("child_that_has_it_open", &world.path);
    assert!(lines.any(|line| line.ends_with("open now")));
    let error = put_back(&copy, &world.path, true).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    drop(input);
    lines.for_each(drop);
    assert!(child.wait().unwrap().success());
    put_back(&copy, &world.path, true).unwrap();
}

#[test]
fn a_damaged_database_is_replaced_together_with_its_log() {
    let world = World::new();
    let copy = world.backup();
    std::fs::write(&world.path, "no database ".repeat(1000)).unwrap();
    std::fs::write(world.at("seconder.db-wal"), "nor a log").unwrap();
    put_back(&copy, &world.path, true).unwrap();
    assert!(!world.at("seconder.db-wal").exists());
    let service = world.open();
    world.clock.set(LATER);
    let code = world.user.app.code(LATER);
    assert_eq!(world.user.check(&service, code.expose()), Verdict::Right);
}

/// A copy that a program like `cp` has made together with its log.
#[test]
fn a_copy_with_a_log_is_restored_with_what_is_in_the_log() {
    let world = World::new();
    let service = world.open();
    let late = service.create_user("eve@example.com", "555-010-0199", "1").unwrap().user_id;
    for end in ["", "-wal"] {
        let (from, to) = (format!("seconder.db{end}"), format!("copy.db{end}"));
        std::fs::copy(world.at(&from), world.at(&to)).unwrap();
    }
    drop(service);
    std::fs::copy(world.at("seconder.db.keys"), world.at("new.db.keys")).unwrap();
    put_back(&world.at("copy.db"), &world.at("new.db"), false).unwrap();
    let (service, _) = open(&world.at("new.db"));
    assert!(service.user_status(late).is_ok());
}

/// Run by the test below, with another umask.
#[test]
#[ignore = "runs as the child of another test"]
fn child_with_a_umask() {
    let mut folder = String::new();
    std::io::stdin().read_line(&mut folder).unwrap();
    let folder = Path::new(folder.trim_end());
    let (service, _) = open(&folder.join("seconder.db"));
    ada(&service);
    backup(&service, &folder.join("copy.db")).unwrap();
    std::fs::hard_link(folder.join("seconder.db.keys"), folder.join("new.db.keys")).unwrap();
    put_back(&folder.join("copy.db"), &folder.join("new.db"), false).unwrap();
    println!("files {:?}", modes(folder));
}

/// The mode of every file in a folder.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    use std::os::unix::fs::PermissionsExt;
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, entry.metadata().unwrap().permissions().mode() & 0o777)
        })
        .collect()
}

#[test]
fn files_are_for_their_owner_alone_whatever_the_umask() {
    for umask in ["0", "0777"] {
        let folder = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "umask {umask}; exec \"$0\" --exact child_with_a_umask --ignored --nocapture"
            ))
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{}", folder.path().display()).unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{umask}: {shown}");
        for (name, mode) in modes(folder.path()) {
            assert_eq!(mode, 0o600, "umask {umask}: {name}");
        }
        for name in ["seconder.db\": 384", "seconder.db-wal\": 384", "copy.db\": 384"] {
            assert!(shown.contains(name), "umask {umask}: {shown}");
        }
    }
}

#[test]
fn a_backup_is_not_put_beside_what_another_database_left() {
    let world = World::new();
    let service = world.open();
    for end in ["-wal", "-shm", "-journal"] {
        let left = world.at(&format!("copy.db{end}"));
        std::fs::write(&left, "of another database").unwrap();
        let before = files(world.folder.path());
        let error = backup(&service, &world.at("copy.db")).unwrap_err();
        assert!(error.to_string().contains(&format!("copy.db{end} would be")), "{error}");
        assert!(files(world.folder.path()) == before);
        std::fs::remove_file(left).unwrap();
    }
    backup(&service, &world.at("copy.db")).unwrap();
}

#[test]
fn a_fork_does_not_wait_for_a_backup_which_begins_anew() {
    use std::sync::Barrier;
    let world = World::new();
    let large = "INSERT INTO activities (user_id, created_at, nonce, kind, data) \
                 VALUES (1, 1, 1, 'large', hex(zeroblob(2000000)))";
    rusqlite::Connection::open(&world.path).unwrap().execute_batch(large).unwrap();
    let service = world.open();
    // It is asked for after the first of several steps, and the copy of the second attempt is complete.
    let (asked, mut seen) = (Barrier::new(2), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            asked.wait();
            seconder::engine::before_fork();
            seconder::engine::after_fork();
        });
        let progress = |copied, _| {
            seen.push(copied);
            if seen.len() == 1 {
                asked.wait();
                // Long enough for the other thread to ask, and less than it would wait.
                std::thread::sleep(std::time::Duration::from_secs(2));
            }
        };
        service.engine().unwrap().backup(&world.at("copy.db"), progress).unwrap();
    });
    assert!(seen.windows(2).any(|two| two[0] >= two[1]), "{seen:?}");
    drop(service);
    put_back(&world.at("copy.db"), &world.path, true).unwrap();
}

/// A database with a log that is not in its file yet, as a program leaves it that is killed.
fn with_a_log(path: &Path, sql: &str) {
    let db = rusqlite::Connection::open(path).unwrap();
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    db.execute_batch(sql).unwrap();
    let files = ["", "-wal"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        (std::fs::read(&name).unwrap(), name)
    });
    drop(db);
    files.into_iter().for_each(|(bytes, name)| std::fs::write(name, bytes).unwrap());
}

#[test]
fn a_database_that_is_rejected_is_left_as_it_was_also_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.db");
    let create = "CREATE TABLE theirs (x); PRAGMA wal_checkpoint(TRUNCATE);";
    with_a_log(&path, &format!("{create} INSERT INTO theirs VALUES (1)"));
    let before = files(folder.path());
    let error = Settings::new(&fresh::url(&path)).open().unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert!(files(folder.path()) == before, "{:?}", files(folder.path()).keys());

    let world = World::new();
    std::fs::remove_file(world.at("seconder.db.keys")).unwrap();
    // A copy without a log, as an operation of another program leaves it.
    let db = rusqlite::Connection::open(&world.path).unwrap();
    db.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(db);
    let before = files(world.folder.path());
    let error = Settings::new(&fresh::url(&world.path)).open().unwrap_err();
    assert!(error.to_string().contains("there is no keyring"), "{error}");
    assert!(files(world.folder.path()) == before, "its journal mode is as it was");
}
