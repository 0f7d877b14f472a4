//! Store in a SQLite file.

pub(super) mod backup;
mod checkpoints;
#[cfg(target_os = "linux")]
mod descriptors;
mod failure;
mod files;
#[cfg(target_os = "linux")]
mod held;
#[cfg(not(target_os = "linux"))]
#[path = "sqlite/unheld.rs"]
mod held;
mod open;
mod origin;
mod part;
#[cfg(test)]
mod plans;
mod process;
mod rows;
mod schema;
mod turns;
mod upkeep;
mod watch;

#[cfg(test)]
pub(super) use plans::executed;
pub(super) use process::Using;
pub use process::{after_fork, before_fork};

use super::backend::{Backend, Fault, Rows, Upkept};
use super::batch::PATIENCE;
use super::migrations::Migration;
use super::restored;
use crate::engine::model::clock::Time;
use crate::{Error, Result};
use checkpoints::Checkpoints;
use failure::failed;
use held::Held;
use origin::Origin;
use process::{Owned, keep_log};
use rows::{Transaction, fault};
use rusqlite::{Connection, TransactionBehavior};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use turns::{InUse, Turns};
use watch::{Guard, Watch};

/// The number of connections that read at a time. All are opened with the database, because a host
/// expects that calls open no further descriptors.
const READERS: usize = 4;

/// A database. Writes of several threads share commits; reads use connections of their own, so that
/// they wait neither for a commit nor for each other.
pub(crate) struct Sqlite {
    /// None in memory, where another connection would open another database. Declared first so that
    /// they are closed first: the last connection to close moves the log into the database, and so
    /// must be able to write.
    readers: Vec<Owned>,
    /// The reader to try first, so that threads spread over all of them.
    next_reader: AtomicUsize,
    /// `None` once it is closed.
    writer: Owned,
    reading: Turns,
    writing: Turns,
    /// The time to wait for a connection that other threads use.
    patience: Duration,
    process: u32,
    /// `None` in memory. Declared after the connections, because its locks must outlive them.
    file: Option<File>,
}

struct File {
    path: PathBuf,
    guard: Guard,
    checkpoints: Checkpoints,
    origin: Origin,
    restored: AtomicBool,
}

/// The connections of a database file.
struct Connections {
    writer: Connection,
    readers: Vec<Connection>,
}

impl Sqlite {
    /// Opens a database file, and creates it if it is missing or empty, unless it must exist. One whose
    /// keys the ring lacks is rejected before anything is changed.
    pub(crate) fn open_checked(
        path: &Path,
        must_exist: bool,
        check_keys: open::CheckKeys,
    ) -> Result<Sqlite> {
        Sqlite::open_as(path, must_exist, schema::KNOWN, check_keys)
    }

    #[cfg(test)]
    pub(crate) fn open(path: &Path, must_exist: bool) -> Result<Sqlite> {
        Sqlite::open_with(path, must_exist, schema::KNOWN)
    }

    #[cfg(test)]
    fn open_with(path: &Path, must_exist: bool, known: &[Migration]) -> Result<Sqlite> {
        Sqlite::open_as(path, must_exist, known, &|_, _| Ok(()))
    }

    fn open_as(
        path: &Path,
        must_exist: bool,
        known: &[Migration],
        check_keys: open::CheckKeys,
    ) -> Result<Sqlite> {
        let using = Using::begin()?;
        let path = open::locate(path, must_exist)?;
        let id = watch::id_of(&path);
        // Declared before the connections, so that it is dropped after them if one of them fails.
        let mut held = Held::begin(&path)?;
        let opening = held.opening();
        let _opening = opening.lock().unwrap_or_else(PoisonError::into_inner);
        held.begin_descriptors(&path);
        let mut writer = open::writer(&path, must_exist, known, check_keys)?;
        let has_log = open::has_log(&writer, &path)?;
        held.note_writer(has_log);
        let readers = (0..READERS).map(|_| open::reader(&path)).collect::<Result<_>>()?;
        // Without a log, the locks would keep this service itself from writing.
        if has_log {
            held.take(&path)?;
        }
        let watch = Watch::begin(&path, id, has_log)?;
        let checkpoints = Checkpoints::begin(&using, &mut writer, &path, has_log)?;
        // Absolute, because the program may change its folder.
        let path = path.canonicalize().unwrap_or(path);
        let (origin, restored) = begin(&writer, &path)?;
        let restored = AtomicBool::new(restored);
        let guard = Guard::new(watch, held);
        let file = File { path, guard, checkpoints, origin, restored };
        Ok(Sqlite::new(&using, Connections { writer, readers }, Some(file)))
    }

    /// Returns the absolute path of the file; `None` in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// Returns a database without a file.
    #[cfg(test)]
    pub(super) fn in_memory() -> Result<Sqlite> {
        let connections = Connections { writer: open::memory()?, readers: Vec::new() };
        Ok(Sqlite::new(&Using::begin()?, connections, None))
    }

    fn new(using: &Using, connections: Connections, file: Option<File>) -> Sqlite {
        let Connections { writer, readers } = connections;
        Sqlite {
            readers: readers.into_iter().map(|reader| using.own(reader)).collect(),
            next_reader: AtomicUsize::new(0),
            writer: using.own(writer),
            reading: Turns::default(),
            writing: Turns::default(),
            patience: PATIENCE,
            process: std::process::id(),
            file,
        }
    }

    /// Fails if writes would be lost.
    fn check(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.guard.check())
    }

    /// Fails also if writes would go to another file.
    fn check_writer(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.guard.check_writer())
    }

    /// Finds out why a connection failed. It may have read another file, so that SQLite takes the database for damaged.
    fn cause(&self, error: Fault) -> Fault {
        Backend::check(self).map_or_else(Fault::OfStore, |()| error)
    }

    /// Returns a connection that reads: one that no other thread uses, if there is one.
    fn reader(&self) -> Result<InUse<'_>> {
        if self.readers.is_empty() {
            return self.writer();
        }
        let first = self.next_reader.fetch_add(1, Ordering::Relaxed) % self.readers.len();
        self.reading.take(&self.readers, first, self.patience)
    }

    /// Returns the connection that writes.
    fn writer(&self) -> Result<InUse<'_>> {
        self.writing.take(std::slice::from_ref(&self.writer), 0, self.patience)
    }
}

impl Backend for Sqlite {
    /// A forked child has to open the database again: SQLite's locks do not survive a fork.
    fn begin(&self) -> Result<Box<dyn Any>> {
        match std::process::id() == self.process {
            true => Ok(Box::new(Using::begin()?)),
            false => Err(Error::storage(
                "the database was opened before this process was forked: open services after the \
                 fork (of a web server: in each worker), or reopen them there",
            )),
        }
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        let connection = self.writer().map_err(Fault::OfStore)?;
        let db = connection.get().map_err(Fault::OfStore)?;
        // Until everything is spent after a restore, the traces of it stay: this may fail before.
        let file = self.file.as_ref().filter(|file| !file.restored.load(Ordering::Relaxed));
        let origin = file.map(|file| &file.origin);
        let checked = self.check_writer().map_err(Fault::OfStore);
        let done = checked.and_then(|()| transact(db, origin, work));
        // Nothing that was written to a log that is gone by now may be acknowledged.
        let done = done.and_then(|()| self.check().map_err(Fault::OfStore));
        if done.is_err() {
            // If the rollback fails too, nothing is left behind: there was no commit.
            let _ = db.execute_batch("ROLLBACK");
        }
        done.map_err(|error| self.cause(error))
    }

    fn is_restored(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.restored.load(Ordering::Relaxed))
    }

    fn spend(&self, now: Time) -> Result<()> {
        let connection = self.writer()?;
        let db = connection.get()?;
        self.check_writer()?;
        let spend = || {
            let change = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            for sql in restored::statements(now, "") {
                change.execute(&sql, [])?;
            }
            if let Some(file) = &self.file {
                file.origin.adopt(&change)?;
            }
            change.commit()?;
            self.file.as_ref().map_or(Ok(()), |file| file.origin.create(db))
        };
        spend().map_err(failed)?;
        self.check()?;
        if let Some(file) = &self.file {
            file.restored.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    fn copy_to(&self, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.copy_to_file(path, progress)
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        let connection = self.reader().map_err(Fault::OfStore)?;
        self.check().map_err(Fault::OfStore)?;
        let db = connection.get().map_err(Fault::OfStore)?;
        let mut read = || {
            let snapshot = db.unchecked_transaction().map_err(fault)?;
            work(&mut Transaction(&snapshot))?;
            snapshot.commit().map_err(fault)
        };
        read().map_err(|error| self.cause(error))
    }

    fn look_after(&self, full: bool) -> Result<Upkept> {
        self.look_after_file(full)
    }

    fn check(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.guard.check_all())
    }

    fn tidy_up(&self) {
        if let Some(file) = &self.file {
            file.checkpoints.run_if_due(&file.guard, || self.writer());
        }
    }
}

fn transact(
    db: &Connection,
    origin: Option<&Origin>,
    work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let execute = |sql| db.prepare_cached(sql)?.execute([]);
    execute("BEGIN IMMEDIATE").map_err(fault)?;
    let before = db.total_changes();
    work(&mut Transaction(db))?;
    let origin = origin.filter(|_| db.total_changes() > before);
    let number = origin.map_or(Ok(None), |origin| origin.before_commit(db)).map_err(fault)?;
    execute("COMMIT").map_err(fault)?;
    if let Some(origin) = origin {
        origin.after_commit(number);
    }
    Ok(())
}

/// Looks where a database that was opened comes from.
fn begin(db: &Connection, path: &Path) -> Result<(Origin, bool)> {
    let begin = || {
        let change = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        let (origin, restored) = Origin::begin(&change, path)?;
        change.commit()?;
        if !restored {
            origin.create(db)?;
        }
        Ok((origin, restored))
    };
    begin().map_err(failed)
}

impl Drop for Sqlite {
    /// In a forked child, closing the parent's connections as usual would remove the parent's log.
    /// They are closed in another way, or leaked; the locks stay with the parent.
    fn drop(&mut self) {
        let using = Using::begin();
        if std::process::id() == self.process && using.is_ok() {
            return self.close();
        }
        if using.is_err() {
            // A thread of the parent may have been using them: dropping them would wait for it.
            std::mem::forget(std::mem::take(&mut self.readers));
            std::mem::forget(Arc::clone(&self.writer));
        }
        std::mem::forget(self.file.take());
    }
}

impl Sqlite {
    fn close(&mut self) {
        let Some(file) = self.file.take() else { return };
        let opening = file.guard.opening();
        let _opening = opening.lock().unwrap_or_else(PoisonError::into_inner);
        if file.guard.is_reused() {
            return self.leave(file);
        }
        let is_closed = file.guard.is_closed();
        if !is_closed {
            file.guard.end_descriptors();
        }
        let keep = is_closed || file.guard.check().is_err();
        if !keep {
            if let Ok(writer) = self.writer.lock()
                && let Some(db) = writer.as_ref()
            {
                file.origin.end(db);
            }
            file.guard.release();
        }
        let checkpoints = file.checkpoints.connection();
        for connection in self.readers.iter().chain(checkpoints).chain([&self.writer]) {
            let Some(connection) = connection.lock().ok().and_then(|mut c| c.take()) else {
                continue;
            };
            // A log that is there now belongs to others.
            if keep {
                keep_log(&connection);
            }
            drop(connection);
        }
        if is_closed {
            file.guard.forget();
        }
    }
}

impl Sqlite {
    /// Leaves everything open: a number that SQLite or this would close belongs to a file of the program.
    fn leave(&mut self, file: File) {
        std::mem::forget(std::mem::take(&mut self.readers));
        std::mem::forget(Arc::clone(&self.writer));
        std::mem::forget(file);
    }
}
