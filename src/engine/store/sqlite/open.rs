//! Opening a database, or refusing it and leaving it as it was.

use crate::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What tells our files from other programs' databases: "SCND".
const APPLICATION: i64 = 0x5343_4e44;
/// The version of the tables.
const VERSION: i64 = 1;
/// How long another process may hold the database.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to pause before the next try, where SQLite does not wait by itself.
const PAUSE: Duration = Duration::from_millis(10);

/// The connection that writes.
pub(super) fn file(path: &Path) -> Result<Connection> {
    let path = &followed(path);
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Error::storage(format!("there is no folder {}: make it", folder.display())));
    }
    if path.is_dir() {
        return Err(Error::storage(format!("{shown} is a folder: name a file in it")));
    }
    private(path).map_err(|e| Error::storage(format!("{shown} cannot be made: {e}")))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |e: rusqlite::Error| Error::storage(told(path, &e));
    let connection = Connection::open_with_flags(path, flags).map_err(told)?;
    let read_only = connection.is_readonly("main").map_err(told)?;
    writable(path, read_only)?;
    connection.busy_timeout(PATIENCE).map_err(told)?;
    check(&connection, path)?;
    patiently(&connection, |connection| prepare(connection, "WAL")).map_err(told)?;
    Ok(connection)
}

/// The connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |e: rusqlite::Error| Error::storage(told(path, &e));
    let connection = Connection::open_with_flags(path, flags).map_err(told)?;
    connection.busy_timeout(PATIENCE).map_err(told)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Does again what another process is in the way of. While several set up a new file, two could wait
/// for each other's locks for ever, so SQLite's own patience ends at once.
fn patiently(
    connection: &Connection,
    work: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    let busy = |done: &rusqlite::Result<()>| match done {
        Err(e) => e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy),
        Ok(()) => false,
    };
    let mut done = work(connection);
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if !busy(&done) {
            break;
        }
        std::thread::sleep(PAUSE);
        done = work(connection);
    }
    connection.busy_timeout(PATIENCE)?;
    done
}

/// A database without a file.
pub(super) fn memory() -> Result<Connection> {
    let told = |e: rusqlite::Error| Error::storage(e.to_string());
    let connection = Connection::open_in_memory().map_err(told)?;
    prepare(&connection, "MEMORY").map_err(told)?;
    Ok(connection)
}

/// Where a link leads, though nothing may be there yet: SQLite's files are beside the file itself.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // Links that lead in a circle are left to be told as such.
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    path
}

/// Makes a file that is missing, empty and for its owner alone to read. To close a file drops the locks
/// that the process has on it, so one that is there is SQLite's alone to open, and a new one is open to
/// no other thread before it is closed here.
fn private(path: &Path) -> std::io::Result<()> {
    /// A forked child never waits for it: it may open nothing while its parent has something open.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Refuses what cannot be written, before SQLite leaves files beside it that have the same rights.
fn writable(path: &Path, read_only: bool) -> Result<()> {
    let shown = path.display();
    if read_only {
        let complaint = format!("{shown} cannot be written: give the program the right to");
        return Err(Error::storage(complaint));
    }
    let probe = beside(path, "-probe");
    let refused = |e: std::io::Error| {
        Error::storage(format!(
            "the folder of {shown} cannot be written ({e}): give the program the right to"
        ))
    };
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&probe) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(refused(e)),
        _ => {}
    }
    // Another process that opens the database now may have made it, or removed it, as well.
    match std::fs::remove_file(&probe) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(refused(e)),
        _ => Ok(()),
    }
}

/// A file beside the database, by what is behind its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Refuses what is not ours, before anything is changed.
fn check(connection: &Connection, path: &Path) -> Result<()> {
    let shown = path.display();
    let told = |e: rusqlite::Error| Error::storage(told(path, &e));
    // All is looked at in one moment: another process may be setting up the file.
    let connection = &connection.unchecked_transaction().map_err(told)?;
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) =
        (pragma("application_id").map_err(told)?, pragma("user_version").map_err(told)?);
    let tables = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map_err(told)?;
    let is_new = (application, version, tables) == (0, 0, 0);
    let complaint = if application != APPLICATION && !is_new {
        "is the database of another program: name another file".to_owned()
    } else if cut_off(connection, path).map_err(told)? {
        "is damaged: its end is missing. Restore it from a copy".to_owned()
    } else if version > VERSION {
        format!(
            "was written by a newer version of this library (tables {version}, known {VERSION}): \
             update the library"
        )
    } else {
        return Ok(());
    };
    Err(Error::storage(format!("{shown} {complaint}")))
}

/// Whether the file is shorter than its header says. Pages may still be in the log beside it, so
/// with a log nothing can be said.
fn cut_off(connection: &Connection, path: &Path) -> rusqlite::Result<bool> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let wanted = pragma("page_count")? * pragma("page_size")?;
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(length(&beside(path, "-wal")) == 0 && length(path) < wanted.unsigned_abs())
}

fn prepare(connection: &Connection, journal: &str) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", journal)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A code or a secret that is deleted is to be gone from the file, too.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    let connection = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        connection.execute_batch(include_str!("schema.sql"))?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    connection.commit()
}

fn told(path: &Path, error: &rusqlite::Error) -> String {
    let shown = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!("{shown} is damaged or no database: restore it from a copy")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("{shown} cannot be opened: check that the program may read and write it")
        }
        Some(ErrorCode::ReadOnly) => {
            format!("{shown} is read-only: give the program the right to write it")
        }
        Some(ErrorCode::DatabaseBusy) => {
            format!("{shown} is held by another process for too long")
        }
        _ => format!("{shown} cannot be opened: {error}"),
    }
}
