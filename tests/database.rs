//! The database file: what is refused is left as it was, and what it holds is its owner's alone.

#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]

mod fresh;

use fresh::{ada, forced, open, url};
use seconder::{Error, Handle, Service, Settings, Verdict};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_database_that_cannot_be_right_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = |path: &Path, words: &str| {
        let before = std::fs::read(path).ok();
        let error = Settings::new(&url(path)).open().unwrap_err();
        assert!(matches!(error, Error::Storage { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(std::fs::read(path).ok(), before, "{}", path.display());
    };
    refused(&at("missing/seconder.db"), "no folder");
    assert!(!at("missing").exists());

    std::fs::write(at("text.db"), "This is a text, and no database at all.\n".repeat(100)).unwrap();
    refused(&at("text.db"), "damaged or not a database");
    refused(folder.path(), "is a folder");

    drop(open(&at("good.db")));
    let change = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(at("good.db")).unwrap();
        change(&mut bytes);
        std::fs::write(at(name), bytes).unwrap();
    };
    // The header's version of the tables, and the application's number (SQLite file format, 1.3).
    change("newer.db", &|bytes| bytes[60..64].copy_from_slice(&99u32.to_be_bytes()));
    refused(&at("newer.db"), "newer version");
    change("other.db", &|bytes| bytes[68..72].copy_from_slice(&7u32.to_be_bytes()));
    refused(&at("other.db"), "another program");
    // Nothing was written to these yet but what their program says of itself.
    let empty = |name: &str, set: &str| {
        rusqlite::Connection::open(at(name)).unwrap().execute_batch(set).unwrap();
        refused(&at(name), "another program");
    };
    empty("theirs.db", "PRAGMA application_id = 77");
    empty("their-version.db", "PRAGMA user_version = 1");
    empty("theirs-and-newer.db", "PRAGMA application_id = 77; PRAGMA user_version = 5");
    change("torn.db", &|bytes| bytes[100..4096].fill(0xee));
    refused(&at("torn.db"), "damaged");
    change("cut.db", &|bytes| bytes.truncate(5000));
    refused(&at("cut.db"), "damaged");
}

#[cfg(unix)]
#[test]
fn a_database_may_be_behind_links() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("real")).unwrap();
    std::fs::create_dir(at("links")).unwrap();
    symlink("../real/seconder.db", at("links/one.db")).unwrap();
    symlink(at("links/one.db"), at("two.db")).unwrap();
    let (first, _) = open(&at("two.db"));
    ada(&first);
    assert!(std::fs::metadata(at("real/seconder.db-wal")).unwrap().len() > 0, "there is a log");
    let (second, _) = open(&at("links/one.db"));
    let key = |service: &Service| service.engine().unwrap().api_key().expose().to_owned();
    assert_eq!(key(&first), key(&second));
    assert_eq!(std::fs::read_dir(at("links")).unwrap().count(), 1);
    symlink("circle.db", at("circle.db")).unwrap();
    let error = Settings::new(&url(&at("circle.db"))).open().unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
}

/// A process that was killed may have left the file by which it tried the folder.
#[test]
fn what_a_killed_process_left_is_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("seconder.db-probe");
    std::fs::write(&left, "").unwrap();
    drop(open(&folder.path().join("seconder.db")));
    assert!(!left.exists());
}

#[test]
fn many_may_open_a_new_database_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..50 {
        let path = folder.path().join(format!("{round}.db"));
        let gate = std::sync::Barrier::new(8);
        let keys: BTreeSet<String> = std::thread::scope(|scope| {
            let open = || {
                gate.wait();
                open(&path).0
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            let services: Vec<_> =
                threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            #[cfg(target_os = "linux")]
            assert!(is_locked(&path), "SQLite marks a database that is open");
            let key = |service: &Service| service.engine().unwrap().api_key().expose().to_owned();
            services.iter().map(key).collect()
        });
        assert_eq!(keys.len(), 1, "they are of one application");
    }
}

/// What `a_database_that_cannot_be_written_is_refused` runs as another user.
#[test]
#[ignore = "runs as the child of another test"]
fn child_without_rights() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let (path, words) = line.trim().split_once('|').unwrap();
    let error = Settings::new(&url(Path::new(path))).open().unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

/// Root may write everything, so it hands the attempt to a user who may not.
#[cfg(unix)]
#[test]
fn a_database_that_cannot_be_written_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    drop(open(&path));
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |words: &str| {
        let listed = || std::fs::read_dir(folder.path()).unwrap().count();
        let before = (listed(), std::fs::read(&path).unwrap());
        let program = folder.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut child = Command::new(&program);
        child.args(["--exact", "child_without_rights", "--ignored"]).stdin(Stdio::piped());
        if std::fs::metadata(folder.path()).unwrap().uid() == 0 {
            child.uid(65534);
        }
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{}|{words}", path.display()).unwrap();
        let told = child.wait_with_output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
        std::fs::remove_file(program).unwrap();
        assert_eq!((listed(), std::fs::read(&path).unwrap()), before);
    };
    mode(folder.path(), 0o777);
    mode(&path, 0o444);
    refused("seconder.db cannot be written");
    mode(&path, 0o666);
    mode(folder.path(), 0o555);
    if std::fs::metadata(folder.path()).unwrap().uid() == 0 {
        refused("the folder of");
    }
    mode(folder.path(), 0o755);
    mode(&path, 0o600);
    drop(open(&path));
}

/// Whether a process holds a lock on this file.
#[cfg(target_os = "linux")]
fn is_locked(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    std::fs::read_to_string("/proc/locks").unwrap().contains(&file)
}

/// A process's locks on a file go when any descriptor of it is closed. Without them, another process
/// takes itself for the last that has the database open, and removes the log beneath the first, as one
/// with SQLite 3.40 does.
#[cfg(target_os = "linux")]
#[test]
fn a_second_service_leaves_the_locks_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let (first, _) = open(&path);
    ada(&first);
    let locked = || is_locked(&path);
    assert!(locked(), "SQLite marks a database that is open");
    let second = open(&path);
    assert!(locked(), "while a second service has it open");
    drop(second);
    assert!(locked(), "after the second service has closed it");
    drop(first);
    assert!(!locked());
}

#[test]
fn what_cannot_be_right_makes_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("seconder.db"));
    for settings in [
        Settings::new(&at).callback_url("http://app.example/"),
        Settings::new(&at).application_name("a:b"),
        Settings::new(&at).api_key("two words"),
        Settings::new(&format!("{at}?mode=rw")),
        Settings::new("sqlite::memory:"),
    ] {
        assert!(matches!(settings.open(), Err(Error::InvalidArgument { .. })));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let service = seconder::open(&url(&path)).unwrap();
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let spool = folder.path().join("seconder.spool");
    let message = std::fs::read_dir(&spool).unwrap().next().unwrap().unwrap().path();
    for (path, wanted) in [(&path, 0o600), (&spool, 0o700), (&message, 0o600)] {
        let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, wanted, "{}", path.display());
    }
    let text = std::fs::read_to_string(message).unwrap();
    let code = text.lines().find_map(|line| line.strip_prefix("Code: ")).unwrap();
    assert!(text.starts_with("To: +15550100123\nVia: sms\n"), "{text}");
    let verdict = service.handle(&forced(code.parse().unwrap(), user)).unwrap().verdict;
    assert_eq!(verdict, Verdict::Right);
    let shown = format!("{service:?} {:?}", service.engine());
    assert!(!shown.contains(service.engine().unwrap().api_key().expose()), "{shown}");
}
