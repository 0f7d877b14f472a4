//! The database file: a file that is rejected is left unchanged, and only its owner can access it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ada, open, url};
use seconder::engine::operator::ListApprovals;
use seconder::engine::{AuditFilter, Delivery};
use seconder::{Error, Service, Settings, Verdict};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn an_unusable_database_file_is_rejected_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rejects = |path: &Path, words: &str| {
        let before = std::fs::read(path).ok();
        let error = Settings::new(&url(path)).open().unwrap_err();
        assert!(matches!(error, Error::Storage { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(std::fs::read(path).ok(), before, "{}", path.display());
    };
    rejects(&at("missing/seconder.db"), "no folder");
    assert!(!at("missing").exists());

    std::fs::write(at("text.db"), "This is a text, and no database at all.\n".repeat(100)).unwrap();
    rejects(&at("text.db"), "damaged or not a database");
    rejects(folder.path(), "is a folder");

    drop(open(&at("good.db")));
    let change = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(at("good.db")).unwrap();
        change(&mut bytes);
        std::fs::write(at(name), bytes).unwrap();
    };
    // The header's version of the tables, and the application's number (SQLite file format, 1.3).
    change("newer.db", &|bytes| bytes[60..64].copy_from_slice(&99u32.to_be_bytes()));
    rejects(&at("newer.db"), "newer version");
    change("other.db", &|bytes| bytes[68..72].copy_from_slice(&7u32.to_be_bytes()));
    rejects(&at("other.db"), "another program");
    // Databases of other programs that contain nothing yet except their application's mark.
    let empty = |name: &str, set: &str| {
        rusqlite::Connection::open(at(name)).unwrap().execute_batch(set).unwrap();
        rejects(&at(name), "another program");
    };
    empty("theirs.db", "PRAGMA application_id = 77");
    empty("their-version.db", "PRAGMA user_version = 1");
    empty("theirs-and-newer.db", "PRAGMA application_id = 77; PRAGMA user_version = 5");
    change("torn.db", &|bytes| bytes[100..4096].fill(0xee));
    rejects(&at("torn.db"), "damaged");
    change("cut.db", &|bytes| bytes.truncate(5000));
    rejects(&at("cut.db"), "damaged");
}

#[cfg(unix)]
/// What version 1 of the tables does not have.
const LATER: [&str; 5] =
    ["force_codes", "logo", "authenticator_digits", "authenticator_period", "approval_seconds"];

#[test]
fn a_database_of_the_first_version_goes_on_with_its_users_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let first = Settings::new(&url(&path)).application_name("First").open().unwrap();
    let user = ada(&first);
    first.set_login(user, &"Ada_L".parse().unwrap()).unwrap();
    first.create_approval(user, "Log in?").unwrap();
    assert_eq!(first.create_user("Later@example.com", "555-010-0123", "1").unwrap().user_id, user);
    drop(first);
    let db = rusqlite::Connection::open(&path).unwrap();
    for column in LATER {
        db.execute_batch(&format!("ALTER TABLE applications DROP COLUMN {column}")).unwrap();
    }
    db.execute_batch(
        "ALTER TABLE operators DROP COLUMN apps; ALTER TABLE audit DROP COLUMN request_id; DROP INDEX users_due; \
         DROP INDEX open_approvals_due; DROP INDEX audit_verdict; DROP INDEX audit_user_ip",
    )
    .unwrap();
    db.execute_batch(
        "ALTER TABLE devices DROP COLUMN used_at; ALTER TABLE users DROP COLUMN locked_at; \
         ALTER TABLE authenticators DROP COLUMN algorithm; \
         ALTER TABLE users DROP COLUMN number_changed_at; ALTER TABLE invitations DROP COLUMN by_sms; \
         ALTER TABLE codes DROP COLUMN route",
    )
    .unwrap();
    db.execute_batch("ALTER TABLE open_approvals DROP COLUMN app_id").unwrap();
    db.execute_batch("UPDATE audit SET user_ip = '::ffff:192.0.2.7'").unwrap();
    let finding = "SELECT group_concat(kind || name || id) FROM (SELECT * FROM lookups WHERE kind LIKE 'find%' \
                   ORDER BY kind, name)";
    let found = |db: &rusqlite::Connection| -> String {
        db.query_row(finding, [], |row| row.get(0)).unwrap()
    };
    let before = found(&db);
    assert!(before.contains("find_number"), "{before}");
    db.execute_batch("DELETE FROM lookups WHERE kind LIKE 'find%'").unwrap();
    db.execute_batch("DELETE FROM migrations WHERE version > 1; PRAGMA user_version = 1").unwrap();
    // Ids as the provider writes them, of messages and of what was reported early.
    db.execute_batch(
        "INSERT INTO receipts (route, provider_id, subject, job_id, forget_at) VALUES \
         ('main', 'SMAB', 'user:1', 1, 9000000000000), ('main', '000', 'user:1', 2, 9000000000000), \
         ('main', '007F', NULL, 0, 9000000000002), ('main', '7f', 'user:1', 3, 9000000000000), \
         ('main', '7F', 'user:1', 4, 9000000000001), ('other', '7F', NULL, 0, 9000000000000)",
    )
    .unwrap();
    drop(db);
    let (service, _) = open(&path);
    let engine = service.engine().unwrap();
    for id in ["SMAB", "smab", "0SmAb", "0", "0007F"] {
        assert!(engine.receipt("main", id, &Delivery::Pending).unwrap(), "{id}");
    }
    for (route, id) in [("main", "SMABC"), ("other", "7f")] {
        assert!(!engine.receipt(route, id, &Delivery::Pending).unwrap(), "{id}");
    }
    let db = rusqlite::Connection::open(&path).unwrap();
    let kept = "SELECT group_concat(provider_id || job_id, ' ') FROM \
                (SELECT * FROM receipts WHERE subject IS NOT NULL ORDER BY provider_id)";
    let kept: String = db.query_row(kept, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "02 7f4 smab1");
    assert_eq!(found(&db), before);
    drop(db);
    let stored = service.engine().unwrap().application_settings();
    assert_eq!((&*stored.name, stored.force_codes, stored.logo), ("First", false, None));
    assert_eq!((stored.authenticator_digits, stored.authenticator_period), (6, 30));
    assert_eq!(stored.approval_seconds, 86_400);
    assert!(service.user_status(user).is_ok());
    let listed = service.operate(&ListApprovals::default()).unwrap().approvals;
    assert_eq!(listed.iter().map(|entry| entry.user_id).collect::<Vec<_>>(), [user.get()]);
    let from = AuditFilter { user_ip: "192.0.2.7".parse().ok(), ..AuditFilter::default() };
    assert!(!engine.audit(&from, None, 10).unwrap().entries.is_empty());
    drop(service);
    let set = Settings::new(&url(&path)).force_codes(true).authenticator_digits(8);
    drop(set.open().unwrap());
    let stored = open(&path).0.engine().unwrap().application_settings();
    assert!(stored.force_codes && stored.authenticator_digits == 8);
}

#[test]
fn a_database_can_be_opened_through_symbolic_links() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("real")).unwrap();
    std::fs::create_dir(at("links")).unwrap();
    symlink("../real/seconder.db", at("links/one.db")).unwrap();
    symlink(at("links/one.db"), at("two.db")).unwrap();
    let (first, _) = open(&at("two.db"));
    ada(&first);
    assert!(
        std::fs::metadata(at("real/seconder.db-wal")).unwrap().len() > 0,
        "the log lies beside the database, not beside the link"
    );
    let (second, _) = open(&at("links/one.db"));
    let key = |service: &Service| service.engine().unwrap().api_key().expose().to_owned();
    assert_eq!(key(&first), key(&second));
    assert_eq!(std::fs::read_dir(at("links")).unwrap().count(), 1);
    symlink("circle.db", at("circle.db")).unwrap();
    let error = Settings::new(&url(&at("circle.db"))).open().unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
}

/// Opening a database creates a probe file to check that the folder is writable. A process that was
/// killed may have left it behind.
#[test]
fn the_probe_file_of_a_killed_process_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let probe = folder.path().join("seconder.db-probe");
    std::fs::write(&probe, "").unwrap();
    drop(open(&folder.path().join("seconder.db")));
    assert!(!probe.exists());
}

#[test]
fn threads_can_open_a_new_database_at_the_same_time() {
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
            assert!(is_locked(&path), "SQLite must lock a database that is open");
            let key = |service: &Service| service.engine().unwrap().api_key().expose().to_owned();
            services.iter().map(key).collect()
        });
        assert_eq!(keys.len(), 1, "all of them must have opened the same application");
    }
}

/// Run by `a_read_only_database_is_rejected`, as another user.
#[test]
#[ignore = "runs as the child of another test"]
fn child_without_write_permission() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let (path, words) = line.trim().split_once('|').unwrap();
    let error = Settings::new(&url(Path::new(path))).open().unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

/// Root can write to every file, so the attempt runs in a child process as an unprivileged user.
#[cfg(unix)]
#[test]
fn a_read_only_database_is_rejected() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    drop(open(&path));
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let rejects = |words: &str| {
        let listed = || std::fs::read_dir(folder.path()).unwrap().count();
        let before = (listed(), std::fs::read(&path).unwrap());
        // The other user may have no access to the folder of this program.
        let program = folder.path().join("program");
        // By another process: a program that a child of this one has open for writing cannot be run.
        let copied =
            Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
        assert!(copied.unwrap().success());
        let mut child = Command::new(&program);
        child
            .args(["--exact", "database::child_without_write_permission", "--ignored"])
            .stdin(Stdio::piped());
        if std::fs::metadata(folder.path()).unwrap().uid() == 0 {
            child.uid(65534);
        }
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{}|{words}", path.display()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        std::fs::remove_file(program).unwrap();
        assert_eq!((listed(), std::fs::read(&path).unwrap()), before);
    };
    mode(folder.path(), 0o777);
    mode(&path, 0o444);
    rejects("seconder.db cannot be written");
    mode(&path, 0o666);
    mode(folder.path(), 0o555);
    if std::fs::metadata(folder.path()).unwrap().uid() == 0 {
        rejects("the folder of");
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
    // The kernel writes the list in pieces, and skips lines when other processes change it meanwhile.
    (0..20).any(|_| std::fs::read_to_string("/proc/locks").unwrap().contains(&file))
}

/// A process loses its locks on a file when it closes any descriptor of that file. Without the
/// locks, another process believes that it is the last one with the database open, and removes the
/// log that the first still uses, as SQLite 3.40 does.
#[cfg(target_os = "linux")]
#[test]
fn closing_a_second_service_keeps_the_locks_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let (first, _) = open(&path);
    ada(&first);
    let locked = || is_locked(&path);
    assert!(locked(), "SQLite must lock a database that is open");
    let second = open(&path);
    assert!(locked(), "while a second service has it open");
    drop(second);
    assert!(locked(), "after the second service has closed it");
    drop(first);
    assert!(!locked());
}

#[test]
fn invalid_settings_do_not_create_a_database() {
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
fn files_with_secrets_are_accessible_to_their_owner_only() {
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
    let verdict = service.verify(user, &code.parse().unwrap()).unwrap();
    assert_eq!(verdict, Verdict::Right);
    let shown = format!("{service:?} {:?}", service.engine());
    assert!(!shown.contains(service.engine().unwrap().api_key().expose()), "{shown}");
}

/// The owner of a database in a folder of their own, and a file that only root may change. `None` where the tests do not
/// run as root.
#[cfg(target_os = "linux")]
fn of_root() -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    use std::os::unix::fs::MetadataExt;
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a secret of root, longer than what is written to a mark".repeat(9))
        .unwrap();
    Some((folder, secret))
}

#[cfg(target_os = "linux")]
#[test]
fn root_changes_no_file_that_the_owner_of_a_database_put_in_the_place_of_its_mark() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    let Some((_of_root, secret)) = of_root() else { return };
    let before = std::fs::read(&secret).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    ada(&open(&at("seconder.db")).0);
    for theirs in [folder.path(), &at("seconder.db")] {
        chown(theirs, Some(65_534), Some(65_534)).unwrap();
    }
    let mark = at("seconder.db-mark");
    let links: [&dyn Fn(); 3] = [
        &|| symlink(&secret, &mark).unwrap(),
        &|| std::fs::hard_link(&secret, &mark).unwrap(),
        // It would be waited for.
        &|| assert!(Command::new("mkfifo").arg(&mark).status().unwrap().success()),
    ];
    for (number, link) in links.iter().enumerate() {
        std::fs::remove_file(&mark).unwrap();
        link();
        let (service, _) = open(&at("seconder.db"));
        service.create_user("eve@example.com", &format!("555-010-100{number}"), "1").unwrap();
        drop(service);
        assert!(std::fs::read(&secret).unwrap() == before, "{number}: what is in it has changed");
        assert_eq!(secret.metadata().unwrap().uid(), 0, "{number}");
    }
    std::fs::remove_file(&mark).unwrap();
    drop(open(&at("seconder.db")));
    assert_eq!(mark.metadata().unwrap().uid(), 65_534, "a new one is given to the owner");
}

#[cfg(target_os = "linux")]
#[test]
fn root_gives_away_no_file_that_takes_the_place_of_a_copy() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    let Some((_of_root, secret)) = of_root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (service, _) = open(&at("seconder.db"));
    let user = ada(&service);
    service.engine().unwrap().backup(&at("copy.db"), |_, _| {}).unwrap();
    drop(service);
    chown(at("seconder.db"), Some(65_534), Some(65_534)).unwrap();
    let part = at("seconder.db-part");
    let replaced = |copied: u64, all: u64| {
        if copied == all {
            std::fs::remove_file(&part).unwrap();
            symlink(&secret, &part).unwrap();
        }
    };
    let restore = |progress: &mut dyn FnMut(u64, u64)| {
        seconder::engine::restore(&at("copy.db"), &at("seconder.db"), true, None, progress)
    };
    restore(&mut { replaced }).unwrap_err();
    assert_eq!(secret.metadata().unwrap().uid(), 0);
    assert!(std::fs::read(&secret).unwrap().starts_with(b"a secret of root"));
    std::fs::remove_file(&part).unwrap();
    restore(&mut |_, _| {}).unwrap();
    assert_eq!(at("seconder.db").metadata().unwrap().uid(), 65_534, "it stays the owner's");
    open(&at("seconder.db")).0.user_status(user).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn root_creates_no_database_by_a_link_of_another_user() {
    use std::os::unix::fs::{chown, lchown, symlink};
    let Some((of_root, _)) = of_root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("seconder.db"), of_root.path().join("new.db"));
    symlink(&target, &link).unwrap();
    lchown(&link, Some(65_534), None).unwrap();
    let error = Settings::new(&url(&link)).open().unwrap_err().to_string();
    assert!(error.contains("is a link of the user 65534, which root does not follow"), "{error}");
    assert!(!target.exists());
    // A file that is theirs already can be reached in any way.
    drop(open(&target));
    chown(&target, Some(65_534), None).unwrap();
    drop(open(&link));
    // A link to another keyring of root.
    let keys = of_root.path().join("new.db.keys");
    std::fs::rename(&keys, of_root.path().join("others")).unwrap();
    symlink(of_root.path().join("others"), &keys).unwrap();
    drop(open(&target));
    lchown(&keys, Some(65_534), None).unwrap();
    let error = Settings::new(&url(&target)).open().unwrap_err().to_string();
    assert!(error.contains("is a link of the user 65534, which root does not follow"), "{error}");
    // A link in the place of a folder.
    let beside = folder.path().join("folder");
    symlink(of_root.path(), &beside).unwrap();
    lchown(&beside, Some(65_534), None).unwrap();
    let error = Settings::new(&url(&beside.join("other.db"))).open().unwrap_err().to_string();
    assert!(error.contains("folder is a link of the user 65534"), "{error}");
    assert!(!of_root.path().join("other.db").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn root_gives_away_no_file_with_a_second_name_beside_a_database() {
    use std::os::unix::fs::{MetadataExt, chown};
    let Some((_of_root, secret)) = of_root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    drop(open(&path));
    chown(&path, Some(65_534), Some(65_534)).unwrap();
    let before = std::fs::read(&secret).unwrap();
    for end in ["-wal", "-shm", "-journal"] {
        let beside = folder.path().join(format!("seconder.db{end}"));
        std::fs::hard_link(&secret, &beside).unwrap();
        let error = Settings::new(&url(&path)).open().unwrap_err().to_string();
        assert!(error.contains("has a second name") && error.contains(end), "{error}");
        assert_eq!(secret.metadata().unwrap().uid(), 0);
        assert!(std::fs::read(&secret).unwrap() == before, "{end}: what is in it has changed");
        std::fs::remove_file(&beside).unwrap();
    }
    drop(open(&path));
}
