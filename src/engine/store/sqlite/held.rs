//! Locks on an open database that another copy of SQLite in this process cannot drop.
//!
//! The locks that SQLite takes belong to the process, and POSIX drops them when any part of the
//! process closes the file. Without them, another copy of SQLite, or another process, takes itself
//! for the last one to have the database open, and removes the log under us. The locks here belong
//! to a descriptor: they keep others out even in the same process, and no other code can drop them.

use super::descriptors::{Descriptors, State, id};
use super::failure::cause;
use super::files::{ATTEMPTS, PAUSE, beside};
use crate::{Error, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A start and a length.
type Bytes = (libc::off_t, libc::off_t);

/// The bytes of the database that a connection locks for writing before it removes the log
/// (`SHARED_FIRST` and `SHARED_SIZE` of SQLite).
const SHARED: Bytes = (0x4000_0002, 510);
/// The byte of the log's index that a connection locks for writing before it empties the index
/// (`UNIX_SHM_DMS`).
const INDEX_IN_USE: Bytes = (128, 1);

/// The byte of a copy that its writer locks. SQLite locks no bytes beyond those that its readers share.
const WRITTEN: Bytes = (0x4000_1000, 1);

/// The device and the inode.
type Id = (u64, u64);

/// A database that services of this process have open or are opening, and the files that they lock.
/// Closing any descriptor of these files would drop the locks that SQLite has for any of the
/// services, so they stay open until the last one has closed its connections.
struct Shared {
    database: Id,
    services: usize,
    files: Vec<Locked>,
    /// Locked while connections of a service are opened or closed, so that its descriptors are distinguished from those
    /// by others.
    opening: Arc<Mutex<()>>,
    /// The descriptors of each service, which outlive it if it could not be closed.
    descriptors: Vec<Arc<Descriptors>>,
}

struct Locked {
    id: Id,
    file: Arc<File>,
    /// Other descriptors of the same file.
    more: Vec<File>,
    /// The number of services that have not released the lock.
    locking: usize,
}

/// A forked child never waits for this, because only a thread that uses a database locks it.
static SHARED_BY_SERVICES: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

/// The databases that the parent of this process had open when it forked. Its descriptors of them
/// stay open here.
static INHERITED: Mutex<Vec<Id>> = Mutex::new(Vec::new());

/// The locks of one service on its database. They must be released before its connections are
/// closed, so that the last one can remove the log, and dropped after that.
pub(super) struct Held {
    /// `None` if there is no such file, so that it cannot be opened either.
    database: Option<Id>,
    files: Vec<HeldFile>,
    opening: Arc<Mutex<()>>,
    descriptors: Option<Arc<Descriptors>>,
}

struct HeldFile {
    id: Id,
    file: Arc<File>,
    bytes: Bytes,
    released: AtomicBool,
}

impl Held {
    /// Begins before SQLite opens the database: from then on, no other service that is closed drops
    /// the locks.
    ///
    /// A database that the process has open in another way is rejected: each copy of SQLite, or of
    /// this library, takes the locks of the other for its own, so both could accept one code.
    pub(super) fn begin(database: &Path) -> Result<Held> {
        let id = std::fs::metadata(database).ok().map(|file| id(&file));
        let opening: Arc<Mutex<()>> = Arc::default();
        let held =
            |opening| Ok(Held { database: id, files: Vec::new(), opening, descriptors: None });
        if let Some(id) = id {
            let mut all = shared();
            match all.iter_mut().find(|shared| shared.database == id) {
                // SQLite trusts its state of the file, also the state of a service that is not closed.
                Some(shared) if shared.state() != State::Intact => return Err(closed(database)),
                Some(shared) => {
                    shared.services += 1;
                    return held(Arc::clone(&shared.opening));
                }
                None if !inherited().contains(&id) && is_open(id) => {
                    return Err(Error::storage(format!(
                        "{} is open in this process already, but not by this copy of the library: \
                         use one copy of SQLite per process",
                        database.display()
                    )));
                }
                None => all.push(Shared {
                    database: id,
                    services: 1,
                    files: Vec::new(),
                    opening: Arc::clone(&opening),
                    descriptors: Vec::new(),
                }),
            }
        }
        held(opening)
    }

    /// Returns the mutex that is locked while connections to the database are opened or closed.
    pub(super) fn opening(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.opening)
    }

    /// Begins to note the descriptors of this service, before its first connection is opened.
    pub(super) fn begin_descriptors(&mut self, database: &Path) {
        self.descriptors = Descriptors::begin(database).map(Arc::new);
    }

    /// Notes the descriptors of the connection that writes, before the others are opened.
    pub(super) fn note_writer(&mut self, has_log: bool) {
        if let Some(descriptors) = self.descriptors.as_mut().and_then(Arc::get_mut) {
            descriptors.add_opened(has_log);
            descriptors.end_of_writing();
        }
    }

    /// Notes the others, once all are open, and a folder's.
    pub(super) fn note_others(&mut self, has_log: bool, folder: &OwnedFd) {
        if let Some(descriptors) = self.descriptors.as_mut().and_then(Arc::get_mut) {
            descriptors.add_opened(has_log);
            descriptors.add(folder);
        }
        let mut all = shared();
        if let (Some(shared), Some(own)) = (self.shared(&mut all), &self.descriptors) {
            shared.descriptors.push(Arc::clone(own));
        }
    }

    /// Locks a database with a log that this process has open, and the log's index. Does nothing if
    /// the system has no such locks.
    pub(super) fn take(&mut self, database: &Path) -> Result<()> {
        self.lock(database, SHARED)?;
        self.lock(&beside(database, "-shm"), INDEX_IN_USE)
    }

    /// Lets the connections that are closed next remove the log.
    pub(super) fn release(&self) {
        let mut all = shared();
        let Some(shared) = self.shared(&mut all) else { return };
        for held in self.files.iter().filter(|held| !held.released.swap(true, Ordering::Relaxed)) {
            let Some(locked) = shared.files.iter_mut().find(|locked| locked.id == held.id) else {
                continue;
            };
            locked.locking -= 1;
            if locked.locking == 0 {
                // This cannot fail for a file that is open.
                let _ = set(&held.file, held.bytes, libc::F_UNLCK);
            }
        }
    }

    /// Announces that the descriptors of this service are closed next, by the library itself: a service
    /// that is opened meanwhile must not take the program for the cause.
    pub(super) fn end_descriptors(&self) {
        if let Some(shared) = self.shared(&mut shared()) {
            self.remove_descriptors(shared);
        }
    }

    fn remove_descriptors(&self, shared: &mut Shared) {
        if let Some(own) = &self.descriptors {
            shared.descriptors.retain(|of_other| !Arc::ptr_eq(of_other, own));
        }
    }

    /// Fails if the program has closed descriptors of this service.
    pub(super) fn check(&self, database: &Path) -> Result<()> {
        match &self.descriptors {
            Some(descriptors) if !descriptors.is_listed() => Err(closed(database)),
            _ => Ok(()),
        }
    }

    /// Fails if the program has closed descriptors of the connection that writes.
    pub(super) fn check_writer(&self, database: &Path) -> Result<()> {
        match &self.descriptors {
            Some(descriptors) if !descriptors.can_write() => Err(closed(database)),
            _ => Ok(()),
        }
    }

    /// Says whether a descriptor of this service belongs to another file now.
    pub(super) fn is_reused(&self) -> bool {
        self.descriptors.as_ref().is_some_and(|descriptors| descriptors.state() == State::Reused)
    }

    /// Says whether a descriptor of this service was closed, and none belongs to another file.
    pub(super) fn is_closed(&self) -> bool {
        self.descriptors.as_ref().is_some_and(|descriptors| descriptors.state() == State::Closed)
    }

    /// Ends a service whose descriptors the program has closed: they must not be closed a second time.
    pub(super) fn forget(self) {
        let mut all = shared();
        if let Some(shared) = self.shared(&mut all) {
            shared.services -= 1;
            self.remove_descriptors(shared);
            if shared.services == 0 {
                std::mem::forget(std::mem::take(&mut shared.files));
                all.retain(|shared| shared.services > 0);
            }
        }
        std::mem::forget(self);
    }

    /// Fails if the program has closed any descriptor of this service.
    pub(super) fn check_all(&self, database: &Path) -> Result<()> {
        match &self.descriptors {
            Some(descriptors) if descriptors.state() != State::Intact => Err(closed(database)),
            _ => Ok(()),
        }
    }

    /// Returns whether one of the files has been removed.
    pub(super) fn is_removed(&self) -> bool {
        self.files.iter().any(|held| is_removed(&held.file))
    }

    fn lock(&mut self, path: &Path, bytes: Bytes) -> Result<()> {
        let shown = path.display();
        let failed = |e| Error::storage(format!("{shown} cannot be locked: {}", cause(&e)));
        let held = self.open(path, bytes).map_err(failed)?;
        let file = Arc::clone(&held.file);
        self.files.push(held);
        for _ in 0..ATTEMPTS {
            if !matches!(set(&file, bytes, libc::F_RDLCK), Err(Errno::EAGAIN | Errno::EACCES)) {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::storage(format!(
            "{shown} is locked by another copy of SQLite in this process: use one copy of SQLite \
             per process"
        )))
    }

    fn open(&self, path: &Path, bytes: Bytes) -> std::io::Result<HeldFile> {
        let mut all = shared();
        let shared = self.shared(&mut all).ok_or(std::io::ErrorKind::NotFound)?;
        let known = |files: &[Locked], id| files.iter().position(|locked| locked.id == id);
        // Looked up before it is opened, because it could not be closed again.
        let at = match known(&shared.files, id(&std::fs::metadata(path)?)) {
            Some(at) => at,
            None => {
                let file = File::open(path)?;
                let id = id(&file.metadata()?);
                if let Some(at) = known(&shared.files, id) {
                    shared.files[at].more.push(file);
                    at
                } else {
                    let (file, more) = (Arc::new(file), Vec::new());
                    shared.files.push(Locked { id, file, more, locking: 0 });
                    shared.files.len() - 1
                }
            }
        };
        let locked = &mut shared.files[at];
        locked.locking += 1;
        let (file, released) = (Arc::clone(&locked.file), AtomicBool::new(false));
        Ok(HeldFile { id: locked.id, file, bytes, released })
    }

    /// Returns the state that this service shares with others.
    fn shared<'a>(&self, all: &'a mut [Shared]) -> Option<&'a mut Shared> {
        all.iter_mut().find(|shared| Some(shared.database) == self.database)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
        let mut all = shared();
        self.files.clear();
        let Some(shared) = self.shared(&mut all) else { return };
        shared.services -= 1;
        self.remove_descriptors(shared);
        if shared.services == 0 {
            all.retain(|shared| shared.services > 0);
        } else {
            // A removed index is never opened again, and such files would accumulate.
            shared.files.retain(|locked| locked.locking > 0 || !is_removed(&locked.file));
        }
    }
}

impl Shared {
    fn state(&self) -> State {
        self.descriptors.iter().map(|of| of.state()).max().unwrap_or(State::Intact)
    }
}

fn closed(database: &Path) -> Error {
    Error::storage(format!(
        "this program has closed descriptors of {} that it did not open, for example by closefrom(3). \
         Nothing more is read or written: start the program again, and open services after it closes \
         descriptors",
        database.display()
    ))
}

/// A lock on a database that is not open anywhere.
pub(super) struct Alone(#[allow(dead_code, reason = "it is closed with the lock")] File);

/// Keeps every process from opening a database, as long as the returned value lives.
///
/// # Errors
/// [`Error::Storage`] if any has it open.
pub(super) fn exclusively(database: &Path) -> Result<Alone> {
    let failed =
        |e| Error::storage(format!("{} cannot be locked: {}", database.display(), cause(&e)));
    // To close a file that this process has open would drop its locks.
    if is_open(id(&std::fs::metadata(database).map_err(failed)?)) {
        return Err(in_use(database));
    }
    let file = File::options().read(true).write(true).open(database).map_err(failed)?;
    match set(&file, SHARED, libc::F_WRLCK) {
        Err(Errno::EAGAIN | Errno::EACCES) => Err(in_use(database)),
        Err(e) => Err(failed(e.into())),
        Ok(_) => Ok(Alone(file)),
    }
}

pub(super) fn in_use(database: &Path) -> Error {
    Error::storage(format!("{} is in use: stop every process that has it open", database.display()))
}

/// Says whether this forked child has given the numbers of inherited descriptors to other files.
pub(super) fn inherited_are_reused() -> bool {
    shared().iter().any(|shared| shared.state() == State::Reused)
}

/// Forgets the locks that a forked child inherited. They stay with the parent. Its descriptors are not
/// closed here: later, that would drop locks of this process on the same files.
pub(super) fn leave_to_parent() {
    let all = std::mem::take(&mut *shared());
    inherited().extend(all.iter().map(|shared| shared.database));
    std::mem::forget(all);
}

fn inherited() -> MutexGuard<'static, Vec<Id>> {
    INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shared() -> MutexGuard<'static, Vec<Shared>> {
    SHARED_BY_SERVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether the process has a descriptor of this file. Without /proc, that remains unknown.
fn is_open(wanted: Id) -> bool {
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return false };
    let is_it = |path: PathBuf| std::fs::metadata(path).is_ok_and(|file| id(&file) == wanted);
    descriptors.flatten().any(|descriptor| is_it(descriptor.path()))
}

fn is_removed(file: &File) -> bool {
    file.metadata().is_ok_and(|file| file.nlink() == 0)
}

/// Locks a file for its writer. Returns whether no other process has locked it, and `None` if the system has no such
/// locks.
pub(super) fn lock_written(file: &File) -> Option<bool> {
    match set(file, WRITTEN, libc::F_WRLCK) {
        Ok(_) => Some(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Some(false),
        Err(_) => None,
    }
}

/// Returns whether a service of this process has a file open; its descriptors must then stay open.
pub(super) fn has_open(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| is_open(id(&file)))
}

fn set(file: &File, (l_start, l_len): Bytes, kind: libc::c_int) -> nix::Result<i32> {
    let (l_type, l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    fcntl(file, FcntlArg::F_OFD_SETLK(&libc::flock { l_type, l_whence, l_start, l_len, l_pid: 0 }))
}

#[cfg(test)]
mod tests {
    use super::super::{Sqlite, open, schema};
    use super::*;

    #[test]
    fn a_service_that_is_closed_leaves_the_locks_of_one_that_is_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let closed = Sqlite::open(&path, false).unwrap();
        let _held = Held::begin(&path);
        let _connection = open::writer(&path, false, schema::KNOWN, &|_, _| Ok(())).unwrap();
        drop(closed);
        for (end, bytes) in [("", SHARED), ("-shm", INDEX_IN_USE)] {
            let file = File::options().write(true).open(beside(&path, end)).unwrap();
            let locked = set(&file, bytes, libc::F_WRLCK);
            assert!(matches!(locked, Err(Errno::EAGAIN | Errno::EACCES)), "{end} {locked:?}");
            // Closing it would drop the locks.
            std::mem::forget(file);
        }
    }
}
