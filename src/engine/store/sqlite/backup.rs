//! Backup and restore of a database, also while it is in use.

use super::failure::message;
use super::files::beside;
use super::open::{connect, has_log, resolve};
use super::origin::{adopt, forget};
use super::part::{Part, is_same, refuse_existing, remove};
use super::process::{Using, apart_from_forks};
use super::rows::Transaction;
use super::schema::{self, FOREIGN, HEADER, KNOWN, SQLITE, State, is_ours};
use super::{Sqlite, held};
use crate::engine::model::clock::Time;
use crate::engine::store::backend::{Backend, Fault};
use crate::engine::store::restored;
use crate::engine::store::sealing::listed_in;
use crate::keyring::KeyId;
use crate::{Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The number of pages copied at a time: 1 MiB.
const STEP: i32 = 256;

/// The number of operations of SQLite after which a long check looks whether a fork waits for it.
const OPERATIONS: i32 = 10_000;

/// The bytes that are copied, and all that are to be.
pub(in crate::engine) type Progress<'a> = &'a mut dyn FnMut(u64, u64);

impl Sqlite {
    /// Copies the database as of one moment, into a new file.
    pub(super) fn copy_to_file(&self, to: &Path, progress: Progress) -> Result<()> {
        let Some(file) = &self.file else {
            return Err(Error::storage("a database in memory has no backup"));
        };
        drop(self.begin()?);
        apart_from_forks(|using| {
            refuse_existing(to)?;
            refuse_leftovers(to)?;
            self.check_writer()?;
            let source = file.guard.open(|| super::open::reader(&file.path))?;
            // It could be another file by now.
            self.check()?;
            let part = Part::create(to, &file.path)?;
            if !copy(&source, part.path(), progress, using)? {
                return Ok(None);
            }
            drop(source);
            // Another file could have taken the place of the database meanwhile.
            self.check()?;
            let change = |db: &_| forget(db).map_err(|e| Error::storage(problem(to, &e)));
            match finish(&part, change, using)? {
                true => part.publish(to).map(Some),
                false => Ok(None),
            }
        })
    }
}

/// A copy that is to be put in its place.
pub(in crate::engine) struct Copied<'a> {
    pub(in crate::engine) copy: &'a Path,
    pub(in crate::engine) database: &'a Path,
    /// True if the database may exist.
    pub(in crate::engine) replace: bool,
    /// Checks that the keys that the copy lists are there.
    pub(in crate::engine) check: &'a dyn Fn(&BTreeSet<KeyId>) -> Result<()>,
}

/// Puts a copy in the place of a database that no process has open.
pub(in crate::engine) fn restore(of: &Copied, now: Time, progress: Progress) -> Result<()> {
    apart_from_forks(|using| put_back(of, now, progress, using))
}

/// Returns `None` if a fork waits for it.
fn put_back(of: &Copied, now: Time, progress: Progress, using: &Using) -> Result<Option<()>> {
    let Copied { copy: copied, database, replace, check } = *of;
    let database = locate_target(copied, database)?;
    let exists = database.symlink_metadata().is_ok();
    if exists && !replace {
        return Err(Error::storage(format!(
            "{} exists: name another file, or say that it is to be replaced",
            database.display()
        )));
    }
    // Before the work of copying it, and again before it is replaced.
    if exists {
        let _alone = held::exclusively(&database)?;
        refuse_foreign(&database)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e: rusqlite::Error| Error::storage(message(copied, &e));
    let source = Connection::open_with_flags(copied, flags).map_err(failed)?;
    if schema::check(&source, copied, KNOWN)? == State::Empty {
        return Err(Error::storage(format!("{} is empty: it is no copy", copied.display())));
    }
    let part = Part::create(&database, copied)?;
    if !copy(&source, part.path(), progress, using)? {
        return Ok(None);
    }
    drop(source);
    if exists {
        part.keep_owner(&database);
    }
    let change = |db: &_| {
        let spent = spend(db, part.path(), &database, now);
        spent.map_err(|e| Error::storage(problem(part.path(), &e)))?;
        let listed = listed_in(&mut Transaction(db));
        check(&listed.map_err(|(Fault::OfRow(e) | Fault::OfStore(e))| e)?)
    };
    if !finish(&part, change, using)? {
        return Ok(None);
    }
    let _alone = match exists {
        true => {
            fold_log(&database)?;
            Some(held::exclusively(&database)?)
        }
        false => None,
    };
    // Left of a database that is too damaged to be opened, or whose file alone was removed. SQLite
    // would take it for the log of the copy.
    for end in LEFTOVERS {
        remove(&beside(&database, end))?;
    }
    if exists { part.replace(&database) } else { part.publish(&database) }.map(Some)
}

fn locate_target(copied: &Path, database: &Path) -> Result<PathBuf> {
    if !copied.is_file() {
        return Err(Error::storage(format!("there is no file {}", copied.display())));
    }
    let database = resolve(database)?;
    if is_same(copied, &database) {
        return Err(Error::storage(format!("{} is the database itself", copied.display())));
    }
    Ok(database)
}

/// Refuses a database of another program. The header identifies the program; SQLite itself would change files next to a
/// database that it opens.
fn refuse_foreign(database: &Path) -> Result<()> {
    let mut header = [0; HEADER];
    let read = File::open(database).and_then(|mut file| file.read_exact(&mut header));
    if read.is_ok() && header.starts_with(SQLITE) && !is_ours(&header) {
        return Err(Error::storage(format!("{} {FOREIGN}", database.display())));
    }
    Ok(())
}

/// The suffixes of files that SQLite takes for a part of a database.
const LEFTOVERS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Refuses files that another database of this name left: SQLite would take it for a part of the copy.
fn refuse_leftovers(path: &Path) -> Result<()> {
    let beside = LEFTOVERS.map(|end| beside(path, end));
    match beside.iter().find(|file| file.symlink_metadata().is_ok()) {
        Some(file) => Err(Error::storage(format!(
            "{} would be taken for a part of the copy: remove it if it belongs to no database, or name \
             another file",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Copies all pages as of one moment. Others write meanwhile, and wait for nothing. Returns whether it
/// is done: it ends early for a fork.
fn copy(source: &Connection, to: &Path, progress: Progress, using: &Using) -> Result<bool> {
    let failed = |e: rusqlite::Error| {
        // Pages are written as they are: unreadable ones are the source's.
        let path = if is_damaged(&e) { source.path().map_or(to, Path::new) } else { to };
        Error::storage(message_or_full(path, &e))
    };
    let snapshot = source.unchecked_transaction().map_err(failed)?;
    // The snapshot begins with the first row that is read. Without it, the copy begins again whenever another
    // process has written; without a log, that process would have to wait for the end of it.
    if has_log(&snapshot, to)? {
        snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
    }
    let page: i64 =
        snapshot.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    let mut target = open(to).map_err(failed)?;
    let backup = Backup::new(&snapshot, &mut target).map_err(failed)?;
    let mut busy = 0;
    while !using.is_waited_for() {
        let step = backup.step(STEP).map_err(failed)?;
        let pages = backup.progress();
        let bytes = |pages: i32| u64::try_from(i64::from(pages) * page).unwrap_or(0);
        progress(bytes(pages.pagecount - pages.remaining), bytes(pages.pagecount));
        match step {
            StepResult::Done => return Ok(true),
            StepResult::Busy | StepResult::Locked if busy < super::files::ATTEMPTS => {
                busy += 1;
                std::thread::sleep(super::files::PAUSE);
            }
            StepResult::Busy | StepResult::Locked => {
                return Err(Error::storage(
                    "another process has locked the database for too long, so it was not copied: \
                     copy it when that is done",
                ));
            }
            _ => busy = 0,
        }
    }
    Ok(false)
}

fn open(part: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let part = connect(part, flags)?;
    // No other program has the file, and it reaches the disk at the end.
    part.pragma_update(None, "journal_mode", "MEMORY")?;
    part.pragma_update(None, "synchronous", "OFF")?;
    part.pragma_update(None, "temp_store", "MEMORY")?;
    part.pragma_update(None, "secure_delete", true)?;
    Ok(part)
}

/// Changes a copy, checks it, and writes it to the disk. Returns whether it is done: it ends early for a
/// fork.
fn finish(
    part: &Part,
    change: impl FnOnce(&Connection) -> Result<()>,
    using: &Using,
) -> Result<bool> {
    let failed = |e: rusqlite::Error| Error::storage(problem(part.path(), &e));
    let mut db = open(part.path()).map_err(failed)?;
    change(&db)?;
    let Some(found) = check(&mut db, "integrity_check", using).map_err(failed)? else {
        return Ok(false);
    };
    if found != "ok" || schema::check(&db, part.path(), KNOWN)? != State::Current {
        return Err(Error::storage(format!(
            "the copy is damaged, as what was copied may be: {found}"
        )));
    }
    db.close().map_err(|(_, e)| failed(e))?;
    part.sync()?;
    Ok(true)
}

/// Checks the whole file, and returns the first problem, or `ok`. Returns `None` if a fork waits
/// for it.
pub(super) fn check(
    db: &mut Connection,
    pragma: &str,
    using: &Using,
) -> rusqlite::Result<Option<String>> {
    db.progress_handler(OPERATIONS, Some(using.signal()))?;
    let found = match db.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0)) {
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            return Ok(None);
        }
        found => found?,
    };
    db.progress_handler(0, None::<fn() -> bool>)?;
    Ok(Some(found))
}

/// Invalidates everything that may have been used since the copy was made, and makes the file the
/// database's own.
fn spend(db: &Connection, part: &Path, database: &Path, now: Time) -> rusqlite::Result<()> {
    schema::migrate(db, KNOWN)?;
    let all = db.unchecked_transaction()?;
    for sql in restored::statements(now, "") {
        all.execute(&sql, [])?;
    }
    adopt(&all, part, database)?;
    all.commit()
}

/// Moves the content of the log into the database, so that its log can be left behind. This fails
/// while another process has it open.
fn fold_log(database: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fold = || {
        let db = connect(database, flags)?;
        db.busy_timeout(std::time::Duration::ZERO)?;
        db.pragma_update(None, "journal_mode", "DELETE")
    };
    match fold() {
        Ok(()) => Ok(()),
        Err(e) => match rusqlite::Error::sqlite_error_code(&e) {
            Some(ErrorCode::DatabaseBusy) => Err(held::in_use(database)),
            // It is to be replaced because it is damaged.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Ok(()),
            _ => Err(Error::storage(message(database, &e))),
        },
    }
}

/// Describes the problem of a copy, under its final name: the name of the part would not be
/// recognised.
fn problem(path: &Path, error: &rusqlite::Error) -> String {
    match is_damaged(error) {
        true => format!("the copy is damaged, as what was copied may be: {error}"),
        false => message_or_full(path, error),
    }
}

fn message_or_full(path: &Path, error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            format!("{} cannot be written: the disk is full", path.display())
        }
        _ => message(path, error),
    }
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
