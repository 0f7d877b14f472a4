//! Versions after the first one, most of them known to these tests only.

use super::super::Sqlite;
use super::*;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const SECOND: &str = "
    CREATE TABLE later (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
    INSERT INTO later (name) SELECT name FROM sequences;
    ALTER TABLE sequences ADD COLUMN note TEXT;
";
const THIRD: &str = "INSERT INTO later (name) VALUES ('third')";
/// It changes far more than SQLite keeps in memory, and does not end.
const ENDLESS: &str = "
    CREATE TABLE later (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
    INSERT INTO later (name)
        WITH RECURSIVE endless (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM endless)
        SELECT hex(randomblob(500)) FROM endless;
";

fn known(later: &[&'static str]) -> Vec<Migration> {
    let later = later.iter().zip(2..);
    let later = later.map(|(sql, version)| Migration { version, sql: Cow::Borrowed(*sql) });
    KNOWN[..1].iter().cloned().chain(later).collect()
}

/// Returns a database of version 1 with a row.
fn first(folder: &Path) -> PathBuf {
    let path = folder.join("seconder.db");
    let store = Sqlite::open_with(&path, false, &known(&[])).unwrap();
    let row = "INSERT INTO sequences (name, last) VALUES ('kept', 7)";
    store.writer.lock().unwrap().as_ref().unwrap().execute(row, []).unwrap();
    drop(store);
    path
}

/// Every file of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn query<T: rusqlite::types::FromSql>(path: &Path, sql: &str) -> T {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refused(path: &Path, later: &[&'static str], words: &str) {
    let before = files(path.parent().unwrap());
    let Err(error) = Sqlite::open_with(path, false, &known(later)) else {
        panic!("it was opened: {words}");
    };
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert!(files(path.parent().unwrap()) == before, "nothing is changed: {error}");
}

#[test]
fn versions_that_a_database_lacks_are_applied_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = first(folder.path());
    let known = known(&[SECOND, THIRD]);
    for _ in 0..2 {
        drop(Sqlite::open_with(&path, true, &known).unwrap());
        let names = "SELECT group_concat(name) FROM (SELECT name FROM later ORDER BY id)";
        assert_eq!(query::<String>(&path, names), "kept,third");
        assert_eq!(query::<i64>(&path, "SELECT last FROM sequences WHERE note IS NULL"), 7);
        assert_eq!(query::<i64>(&path, "PRAGMA user_version"), 3);
        let hashes =
            "SELECT group_concat(hex(hash)) FROM (SELECT hash FROM migrations ORDER BY version)";
        let hex = |m: &Migration| m.hash().iter().map(|byte| format!("{byte:02X}")).collect();
        let wanted: Vec<String> = known.iter().map(hex).collect();
        assert_eq!(query::<String>(&path, hashes), wanted.join(","));
        let times = "SELECT min(applied_at) > 1700000000000 FROM migrations";
        assert!(query::<bool>(&path, times), "the times are milliseconds of the clock");
    }
}

/// A version for every store is tested in `tests/database.rs`: here, that a database of the first one has the
/// columns of the last.
#[test]
fn a_database_of_the_first_version_gets_the_columns_of_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = first(folder.path());
    drop(Sqlite::open(&path, true).unwrap());
    let new = folder.path().join("new.db");
    drop(Sqlite::open(&new, false).unwrap());
    let columns = "SELECT group_concat(name || type || \"notnull\" || coalesce(dflt_value, '-')) \
                   FROM pragma_table_info('applications')";
    assert_eq!(query::<String>(&path, columns), query::<String>(&new, columns));
    assert_eq!(query::<i64>(&path, "PRAGMA user_version"), KNOWN.len() as i64);
    assert_eq!(query::<i64>(&path, "SELECT last FROM sequences WHERE name = 'kept'"), 7);
}

#[test]
fn a_database_with_other_versions_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = first(folder.path());
    drop(Sqlite::open_with(&path, true, &known(&[SECOND])).unwrap());
    refused(&path, &[], "schema 2, known 1");
    refused(&path, &[THIRD], "schema 2 differs");
    refused(&path, &[THIRD, SECOND], "schema 2 differs");
    Connection::open(&path).unwrap().execute("DELETE FROM migrations", []).unwrap();
    refused(&path, &[SECOND], "damaged");
    Connection::open(&path).unwrap().execute("DROP TABLE migrations", []).unwrap();
    refused(&path, &[SECOND], "schema 1 differs");
}

#[test]
fn a_version_that_cannot_be_applied_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = first(folder.path());
    let broken = "CREATE TABLE later (id INTEGER) STRICT; INSERT INTO nowhere VALUES (1)";
    let Err(error) = Sqlite::open_with(&path, true, &known(&[broken])) else { panic!() };
    assert!(error.to_string().contains("nowhere"), "{error}");
    drop(Sqlite::open_with(&path, true, &known(&[])).unwrap());
    assert_eq!(query::<i64>(&path, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"), 0);
}

/// Run by the tests below, in processes of their own.
#[test]
#[ignore = "runs as the child of other tests"]
fn child_that_applies_versions() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let (what, path) = line.trim_end().split_once(' ').unwrap();
    let later = if what == "endless" { vec![ENDLESS] } else { vec![SECOND, THIRD] };
    let opened = Sqlite::open_with(Path::new(path), true, &known(&later));
    println!("opened {}", opened.is_ok());
}

fn child(what: &str, path: &Path) -> Child {
    let name = "engine::store::sqlite::schema::tests::child_that_applies_versions";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{what} {}", path.display()).unwrap();
    child
}

#[test]
fn a_process_that_is_killed_while_it_applies_a_version_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = first(folder.path());
    let mut child = child("endless", &path);
    // Changes that SQLite cannot keep in memory go to the log, so by then the migration is in
    // progress.
    let log = beside(&path, "-wal");
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 4_000_000 {
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();

    drop(Sqlite::open_with(&path, true, &known(&[])).unwrap());
    assert_eq!(query::<i64>(&path, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"), 0);
    assert_eq!(query::<String>(&path, "PRAGMA integrity_check"), "ok");
    drop(Sqlite::open_with(&path, true, &known(&[SECOND])).unwrap());
    assert_eq!(query::<String>(&path, "SELECT name FROM later"), "kept");
}

#[test]
fn of_processes_that_start_together_one_applies_each_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = first(folder.path());
    let children: Vec<Child> = (0..6).map(|_| child("all", &path)).collect();
    for mut child in children {
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert!(output.lines().any(|line| line.ends_with("opened true")), "{output}");
        assert!(child.wait().unwrap().success());
    }
    let names = "SELECT group_concat(name) FROM (SELECT name FROM later ORDER BY id)";
    assert_eq!(query::<String>(&path, names), "kept,third");
    assert_eq!(query::<i64>(&path, "SELECT count(*) FROM migrations"), 3);
}
