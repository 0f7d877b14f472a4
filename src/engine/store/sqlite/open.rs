//! Opens a database, or rejects it and leaves it unchanged.

use super::failure::{cause, message};
use super::files::{ATTEMPTS, PATIENCE, PAUSE, beside};
use super::rows::Transaction;
use super::schema::{self, State};
use crate::engine::store::backend::Fault;
use crate::engine::store::migrations::Migration;
use crate::engine::store::sealing::listed_in;
use crate::exhausted::exhausted;
use crate::keyring::KeyId;
use crate::{Error, Result, files, links};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The factor by which the wait is longer while another process migrates the tables to a new
/// version.
const LONG: u128 = 24;

/// Returns the path of the file itself, which need not exist; its folder must.
pub(super) fn resolve(path: &Path) -> Result<PathBuf> {
    let path = followed(path)?;
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Error::storage(format!("there is no folder {}: create it", folder.display())));
    }
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => {
            Err(Error::storage(format!("{shown} is a folder: name a file in it")))
        }
        // A pipe would be waited for.
        Ok(found) if !found.is_file() => {
            Err(Error::storage(format!("{shown} is no file: name another one")))
        }
        _ => Ok(path),
    }
}

/// Returns the path of the file itself, which is created if it is missing, unless it must exist.
pub(super) fn locate(path: &Path, must_exist: bool) -> Result<PathBuf> {
    let path = resolve(path)?;
    check_beside(&path)?;
    let shown = path.display();
    if must_exist {
        let missing = |e: std::io::Error| match e.kind() {
            ErrorKind::NotFound => not_created(&path, "does not exist"),
            _ => Error::storage(format!("{shown} cannot be opened: {}", cause(&e))),
        };
        std::fs::metadata(&path).map_err(missing)?;
    } else {
        private(&path)
            .map_err(|e| Error::storage(format!("{shown} cannot be created: {}", cause(&e))))?;
    }
    Ok(path)
}

/// Returns the error for a database that must exist.
fn not_created(path: &Path, is: &str) -> Error {
    Error::storage(format!(
        "{} {is}, and is not created: check the path. `seconder init` and `seconder serve` create a \
         database, and so does opening it without must_exist",
        path.display()
    ))
}

/// Checks that the ring of the database at this path has the keys that it lists.
pub(super) type CheckKeys<'a> = &'a dyn Fn(&Path, &BTreeSet<KeyId>) -> Result<()>;

/// Opens the connection for writing. A database that must exist may not be empty. A rejected
/// database and the files next to it stay unchanged.
pub(super) fn writer(
    path: &Path,
    must_exist: bool,
    known: &[Migration],
    check_keys: CheckKeys,
) -> Result<Connection> {
    let had_log = length(&beside(path, "-wal")) > 0;
    reject_foreign(path, known)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e: rusqlite::Error| Error::storage(message(path, &e));
    let mut connection = connect(path, flags).map_err(failed)?;
    let read_only = connection.is_readonly("main").map_err(failed)?;
    writable(path, read_only)?;
    connection.busy_handler(Some(wait)).map_err(failed)?;
    let state = acceptable(&connection, path, must_exist, known, check_keys);
    if state.is_err() && had_log {
        // The last connection that closes a database moves its log into it.
        super::process::keep_log(&connection);
    }
    let state = state?;
    let attempts = if state == State::Outdated { LONG } else { 1 } * ATTEMPTS;
    let prepare = |connection: &Connection| prepare(connection, "WAL", known);
    patiently(&mut connection, attempts, prepare).map_err(failed)?;
    // A process of a newer version may have been faster.
    schema::check(&connection, path, known).map(|_| connection)
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |file| file.len())
}

/// Returns the state of a database that can be used with this ring.
fn acceptable(
    connection: &Connection,
    path: &Path,
    must_exist: bool,
    known: &[Migration],
    check_keys: CheckKeys,
) -> Result<State> {
    let state = schema::check(connection, path, known)?;
    match state {
        State::Empty if must_exist => Err(not_created(path, "is empty")),
        State::Empty => Ok(state),
        State::Outdated | State::Current => {
            let listed = listed_in(&mut Transaction(connection));
            let listed = listed.map_err(|(Fault::OfRow(e) | Fault::OfStore(e))| e)?;
            check_keys(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), &listed)?;
            Ok(state)
        }
    }
}

/// Rejects a database of another program by the content of its file alone, without a lock and
/// without its log: to open it as usual could write its log into it, and create files next to it.
fn reject_foreign(path: &Path, known: &[Migration]) -> Result<()> {
    let Some(uri) = unchanging(path) else { return Ok(()) };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let read = || schema::state(&Connection::open_with_flags(uri, flags)?, path, known);
    match read() {
        Ok(Err(problem)) if problem == schema::FOREIGN => {
            Err(Error::storage(format!("{} {problem}", path.display())))
        }
        // Another process may be changing it now, so anything else is examined in the usual way.
        _ => Ok(()),
    }
}

/// Returns the URI by which SQLite reads a file as immutable.
#[cfg(unix)]
fn unchanging(path: &Path) -> Option<String> {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        // Writing to a text cannot fail.
        let _ = match byte {
            b'/' | b'.' | b'_' | b'-' => write!(uri, "{}", char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => write!(uri, "{}", char::from(*byte)),
            byte => write!(uri, "%{byte:02X}"),
        };
    }
    uri.push_str("?immutable=1");
    // After two slashes, an authority would follow.
    (!path.as_os_str().as_bytes().starts_with(b"//")).then_some(uri)
}

/// Paths have another form there.
#[cfg(not(unix))]
fn unchanging(_: &Path) -> Option<String> {
    None
}

/// Opens the connection for reading.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e: rusqlite::Error| Error::storage(message(path, &e));
    let mut connection = connect(path, flags).map_err(failed)?;
    connection.busy_handler(Some(wait)).map_err(failed)?;
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(failed)?;
    plan_once(&connection).map_err(failed)?;
    open_log(&connection).map_err(failed)?;
    Ok(connection)
}

/// Opens the connection for checkpoints. It never waits, because another connection is at work
/// then.
pub(super) fn checkpointer(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e: rusqlite::Error| Error::storage(message(path, &e));
    let connection = connect(path, flags).map_err(failed)?;
    connection.busy_timeout(Duration::ZERO).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    open_log(&connection).map_err(failed)?;
    Ok(connection)
}

/// Reads something, because SQLite opens the log only then.
fn open_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_query_value(None, "user_version", |_| Ok(()))
}

/// Retries work while another process has locked the database. While several processes set up a new
/// file, two could deadlock on each other's locks, so SQLite itself must not wait.
fn patiently(
    connection: &mut Connection,
    attempts: u128,
    work: impl Fn(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    let busy = |done: &rusqlite::Result<()>| match done {
        Err(e) => e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy),
        Ok(()) => false,
    };
    let mut done = work(connection);
    for _ in 0..attempts {
        if !busy(&done) {
            break;
        }
        std::thread::sleep(PAUSE);
        done = work(connection);
    }
    connection.busy_handler(Some(wait))?;
    done
}

/// Waits for another process or thread, which is busy with the database. SQLite's own wait ends
/// early in a process that gets signals: it counts a pause that a signal cut short as a whole one.
fn wait(times: i32) -> bool {
    const FIRST: [u64; 7] = [1, 2, 5, 10, 15, 20, 25];
    let pause = |time: i32| match FIRST.get(usize::try_from(time).unwrap_or(usize::MAX)) {
        Some(pause) => Duration::from_millis(*pause),
        None => Duration::from_millis(50),
    };
    let waited: Duration = (0..times).map(pause).sum();
    if waited >= PATIENCE {
        return false;
    }
    std::thread::sleep(pause(times));
    true
}

/// Returns a database without a file.
#[cfg(test)]
pub(super) fn memory() -> Result<Connection> {
    let failed = |e: rusqlite::Error| Error::storage(e.to_string());
    let connection = Connection::open_in_memory().map_err(failed)?;
    prepare(&connection, "MEMORY", schema::KNOWN).map_err(failed)?;
    Ok(connection)
}

/// Follows symbolic links, even to a file that does not exist yet: SQLite's other files are next to
/// the target.
fn followed(path: &Path) -> Result<PathBuf> {
    let followed = links::resolve(path).for_root();
    followed.map_err(|foreign| Error::storage(foreign.to_string()))
}

/// Keeps root from changing other files by their second names: SQLite changes the owner of the files next to a database
/// to the database's, and writes to those that it finds.
#[cfg(target_os = "linux")]
fn check_beside(database: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let is_foreign = |file: &PathBuf| {
        file.symlink_metadata().is_ok_and(|found| !found.is_file() || found.nlink() > 1)
    };
    match ["-wal", "-shm", "-journal"]
        .map(|end| beside(database, end))
        .iter()
        .find(|file| is_foreign(file))
    {
        None => Ok(()),
        Some(file) => Err(Error::storage(format!(
            "{} is a link or has a second name, so root does not change it: remove the second name, or run this as \
             the user of the database",
            file.display()
        ))),
    }
}

/// The standard library does not know the user of the process.
#[cfg(not(target_os = "linux"))]
fn check_beside(_: &Path) -> Result<()> {
    Ok(())
}

/// Opens a connection to the file of this name. A link that has taken its place is an error: the owner of the
/// folder could lead root to any file by it.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // SQLite rejects links among the folders too.
    let mut real = links::resolve(folder.unwrap_or(Path::new(".")));
    real.path.extend(path.file_name());
    let real = real.for_root().map_err(|foreign| {
        let cannot_open = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(cannot_open, Some(foreign.to_string()))
    })?;
    Connection::open_with_flags(real, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
}

/// Creates a missing file, empty and readable only by its owner, independent of the umask. Closing
/// a file drops all locks of the process on it, so an existing file must be opened by SQLite only,
/// and other threads must not open a new one before it is closed here.
pub(super) fn private(path: &Path) -> std::io::Result<()> {
    /// A forked child never waits for this lock, because only a thread that uses a database takes it.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match files::create_private(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    };
    drop(file);
    sync_folder(path)
}

/// Writes to the disk that a folder has this file.
pub(super) fn sync_folder(of: &Path) -> std::io::Result<()> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty());
    // One that may be written but not read cannot be opened.
    let Ok(folder) = std::fs::File::open(folder.unwrap_or(Path::new("."))) else { return Ok(()) };
    match folder.sync_all() {
        // Not every file system can.
        Err(e) if e.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// Rejects a database that cannot be written, before SQLite creates files next to it with the same
/// permissions.
fn writable(path: &Path, read_only: bool) -> Result<()> {
    let shown = path.display();
    if read_only {
        let problem = format!(
            "{shown} cannot be written: grant the program write permission, unless its disk is read-only"
        );
        return Err(Error::storage(problem));
    }
    let probe = beside(path, "-probe");
    // SQLite creates its log next to the database, so the folder must be writable too.
    let not_writable = |e: std::io::Error| match exhausted(&e) {
        Some(cause) => Error::storage(format!("{shown} cannot be opened: {cause}")),
        None => Error::storage(format!(
            "the folder of {shown} cannot be written ({e}): grant the program write permission"
        )),
    };
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&probe) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(not_writable(e)),
        _ => {}
    }
    // Another process that opens the database now may have created or removed the probe as well.
    match std::fs::remove_file(&probe) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(not_writable(e)),
        _ => Ok(()),
    }
}

/// Returns whether the database has a log, which some file systems do not allow.
pub(super) fn has_log(connection: &Connection, path: &Path) -> Result<bool> {
    let mode: rusqlite::Result<String> =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
    Ok(mode.map_err(|e| Error::storage(message(path, &e)))? == "wal")
}

/// Keeps statements with their plans. Without the second setting, SQLite would plan a statement
/// again for the values of each execution, which takes several times as long as to execute it.
fn plan_once(connection: &Connection) -> rusqlite::Result<()> {
    // Each table has up to ten statements, and a service uses some of them.
    connection.set_prepared_statement_cache_capacity(256);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

fn prepare(connection: &Connection, journal: &str, known: &[Migration]) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", journal)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // For a temporary file, SQLite would read the environment.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Deleted codes and secrets must not remain in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    plan_once(connection)?;
    schema::migrate(connection, known)
}
