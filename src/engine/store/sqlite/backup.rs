//! Copies of a database, while it is in use or to put it back.

use super::open::{beside, cause, message, resolve};
use super::origin::{adopt, forget, keep_owner};
use super::process::{Using, apart_from_forks};
use super::rows::Transaction;
use super::schema::{self, KNOWN, MARK, State};
use super::{Sqlite, held};
use crate::engine::clock::Time;
use crate::engine::store::backend::{Backend, Fault};
use crate::engine::store::restored;
use crate::engine::store::sealing::listed_in;
use crate::keyring::KeyId;
use crate::{Error, Result};
use nix::libc;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeSet;
use std::fs::{File, Permissions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The first bytes of every database (SQLite file format, 1.3).
const SQLITE: &[u8] = b"SQLite format 3\0";

/// How many pages are copied at a time: 1 MiB.
const STEP: i32 = 256;

/// After how many operations of SQLite a check that takes long looks whether a fork waits for it.
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
            let source = super::open::reader(&file.path)?;
            // It could be another file by now.
            self.check()?;
            let part = Part::create(to)?;
            if !copy(&source, &part.path, progress, using)? {
                return Ok(None);
            }
            drop(source);
            // Another file could have taken the place of the database meanwhile.
            self.check()?;
            let change = |db: &_| forget(db).map_err(|e| Error::storage(problem(to, &e)));
            match finish(&part.path, change, using)? {
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
    /// Whether the database may exist.
    pub(in crate::engine) replace: bool,
    /// Whether the keys that the copy lists are there.
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
    let part = Part::create(&database)?;
    if !copy(&source, &part.path, progress, using)? {
        return Ok(None);
    }
    drop(source);
    if exists {
        keep_owner(&part.path, &database);
    }
    let change = |db: &_| {
        let spent = spend(db, &part.path, &database, now);
        spent.map_err(|e| Error::storage(problem(&part.path, &e)))?;
        let listed = listed_in(&mut Transaction(db));
        check(&listed.map_err(|(Fault::OfRow(e) | Fault::OfStore(e))| e)?)
    };
    if !finish(&part.path, change, using)? {
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
    let same = |path: &Path| path.canonicalize().ok();
    if same(copied).is_some_and(|copied| same(&database) == Some(copied)) {
        return Err(Error::storage(format!("{} is the database itself", copied.display())));
    }
    Ok(database)
}

/// Refuses a database of another program. The header says whose it is; SQLite
/// itself would change files beside a database that it opens.
fn refuse_foreign(database: &Path) -> Result<()> {
    let mut header = [0; 72];
    let read = std::fs::File::open(database).and_then(|mut file| file.read_exact(&mut header));
    if read.is_ok() && header.starts_with(SQLITE) && header[68..] != MARK {
        let shown = database.display();
        let problem = format!("{shown} is the database of another program: name another file");
        return Err(Error::storage(problem));
    }
    Ok(())
}

fn refuse_existing(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::storage(format!(
            "{} exists, and is not overwritten: name another file",
            path.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// The ends of the names of what SQLite takes for a part of a database.
const LEFTOVERS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Refuses what was left by another database of this name: SQLite would take it for a part of the copy.
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

/// A file beside the one that it is going to be. It is removed unless it becomes that one.
struct Part {
    path: PathBuf,
    /// Locked until this process is done with the file or ends: a file that nobody has locked was left by one
    /// that was killed.
    _locked: File,
}

impl Part {
    fn create(of: &Path) -> Result<Part> {
        let path = beside(of, "-part");
        let shown = path.display();
        let failed = |e: std::io::Error| failed(&path, "cannot be created", &e);
        for _ in 0..super::open::ATTEMPTS {
            // Not through a link: what it points to could be anything.
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
            let file = options.open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::storage(format!(
                        "{shown} is being written by another process: wait until it is done"
                    )));
                }
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
            // Whoever had it has given it its name or removed it, so that this one has none now.
            if !super::held::is_at(&file, &path) {
                continue;
            }
            empty(&file, &path)?;
            return Ok(Part { path, _locked: file });
        }
        Err(Error::storage(format!("{shown} is replaced again and again: try it again")))
    }

    /// Gives the file its name, unless another has got it meanwhile.
    fn publish(self, name: &Path) -> Result<()> {
        match std::fs::hard_link(&self.path, name) {
            Ok(()) => sync_folder(name),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => refuse_existing(name),
            // Not every file system has links.
            Err(_) => refuse_existing(name).and_then(|()| self.replace(name)),
        }
    }

    fn replace(self, name: &Path) -> Result<()> {
        std::fs::rename(&self.path, name).map_err(|e| failed(name, "cannot be replaced", &e))?;
        sync_folder(name)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        for end in ["", "-journal"] {
            // What has its name by now is not here.
            let _ = std::fs::remove_file(beside(&self.path, end));
        }
    }
}

/// Empties what a process has left that was killed while it copied. Anything else is not ours.
fn empty(file: &File, path: &Path) -> Result<()> {
    let failed = |e: std::io::Error| failed(path, "cannot be written", &e);
    let mut header = Vec::new();
    file.take(16).read_to_end(&mut header).map_err(failed)?;
    let is_ours = file.metadata().map_err(failed)?.is_file()
        && (header.iter().all(|byte| *byte == 0) || header == SQLITE);
    if !is_ours {
        let shown = path.display();
        let problem = format!("{shown} would be overwritten, and is no copy: move it away");
        return Err(Error::storage(problem));
    }
    file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
    file.set_len(0).map_err(failed)?;
    remove(&beside(path, "-journal"))
}

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::storage(format!("{} {what}: {}", path.display(), cause(error)))
}

fn sync_folder(of: &Path) -> Result<()> {
    super::open::sync_folder(of).map_err(|e| failed(of, "may not be on disk", &e))
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(path, "cannot be removed", &e)),
        _ => Ok(()),
    }
}

/// Copies all pages as of one moment. Others write meanwhile, and wait for nothing. Returns whether it
/// is done: it ends early for a fork.
fn copy(source: &Connection, to: &Path, progress: Progress, using: &Using) -> Result<bool> {
    let failed = |e: rusqlite::Error| Error::storage(problem(to, &e));
    // Without the snapshot, the copy would begin again whenever another process has written.
    let snapshot = source.unchecked_transaction().map_err(failed)?;
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
            StepResult::Busy | StepResult::Locked if busy < super::open::ATTEMPTS => {
                busy += 1;
                std::thread::sleep(super::open::PAUSE);
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
    let part = Connection::open_with_flags(part, flags)?;
    // Nobody else has the file, and it reaches the disk at the end.
    part.pragma_update(None, "journal_mode", "MEMORY")?;
    part.pragma_update(None, "synchronous", "OFF")?;
    part.pragma_update(None, "temp_store", "MEMORY")?;
    part.pragma_update(None, "secure_delete", true)?;
    Ok(part)
}

/// Changes a copy, checks it, and writes it to the disk. Returns whether it is done: it ends early for a
/// fork.
fn finish(
    part: &Path,
    change: impl FnOnce(&Connection) -> Result<()>,
    using: &Using,
) -> Result<bool> {
    let failed = |e: rusqlite::Error| Error::storage(problem(part, &e));
    let mut db = open(part).map_err(failed)?;
    change(&db)?;
    let Some(found) = check(&mut db, "integrity_check", using).map_err(failed)? else {
        return Ok(false);
    };
    if found != "ok" || schema::check(&db, part, KNOWN)? != State::Current {
        return Err(Error::storage(format!("the copy is damaged: {found}")));
    }
    db.close().map_err(|(_, e)| failed(e))?;
    let written = std::fs::File::open(part).and_then(|file| file.sync_all());
    written.map_err(|e| self::failed(part, "may not be on disk", &e))?;
    Ok(true)
}

/// What a check of the whole file finds first, or `ok`. Returns `None` if a fork waits for it.
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

/// Spends what may have been used since the copy was made, and makes the file the database's own.
fn spend(db: &Connection, part: &Path, database: &Path, now: Time) -> rusqlite::Result<()> {
    schema::migrate(db, KNOWN)?;
    let all = db.unchecked_transaction()?;
    for sql in restored::statements(now, "") {
        all.execute(&sql, [])?;
    }
    adopt(&all, part, database)?;
    all.commit()
}

/// Moves what is in the log into the database, so that its log can be left behind. This fails while
/// another process has it open.
fn fold_log(database: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fold = || {
        let db = Connection::open_with_flags(database, flags)?;
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

fn problem(path: &Path, error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            format!("{} cannot be written: the disk is full", path.display())
        }
        // Under the name of the part, nobody would look for it.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("the copy is damaged: {error}")
        }
        _ => message(path, error),
    }
}
