//! Locks on an open database that another copy of SQLite in this process cannot drop.
//!
//! The locks that SQLite takes belong to the process, and POSIX drops them when any part of the
//! process closes the file. Without them, another copy of SQLite, or another process, takes itself
//! for the last one to have the database open, and removes the log under us. The locks here belong
//! to a descriptor: they keep others out even in the same process, and nobody else can drop them.

use super::open::{ATTEMPTS, PAUSE, beside, cause};
use crate::{Error, Result};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A start and a length.
type Bytes = (libc::off_t, libc::off_t);

/// The bytes of the database that whoever removes the log locks for writing (`SHARED_FIRST` and
/// `SHARED_SIZE` of SQLite).
const SHARED: Bytes = (0x4000_0002, 510);
/// The byte of the log's index that whoever empties the index locks for writing (`UNIX_SHM_DMS`).
const INDEX_IN_USE: Bytes = (128, 1);

/// A file that is locked, which all services of the process on one database share: closing any
/// descriptor of it would drop the locks that SQLite has for the others.
struct Locked {
    id: (u64, u64),
    files: Vec<Arc<File>>,
    /// How many services have not released the lock.
    locking: usize,
    /// How many services have not closed the file.
    users: usize,
}

/// A forked child never waits for this, because it can neither open a database nor close one while
/// its parent has one open.
static LOCKED: Mutex<Vec<Locked>> = Mutex::new(Vec::new());

/// The locks of one service on its database. They must be released before its connections are
/// closed, so that the last one can remove the log, and dropped after that.
#[derive(Default)]
pub(super) struct Held(Vec<HeldFile>);

struct HeldFile {
    id: (u64, u64),
    file: Arc<File>,
    bytes: Bytes,
    released: AtomicBool,
}

impl Held {
    /// Locks a database that this process has open, and the index of its log. Where the system has
    /// no such locks, there are none.
    pub(super) fn take(&mut self, database: &Path) -> Result<()> {
        self.lock(database, SHARED)?;
        let index = beside(database, "-shm");
        // There is none where the file system does not allow SQLite to use a log.
        if index.exists() { self.lock(&index, INDEX_IN_USE) } else { Ok(()) }
    }

    /// Lets the connections that are closed next remove the log.
    pub(super) fn release(&self) {
        let mut all = locked();
        for held in self.0.iter().filter(|held| !held.released.swap(true, Ordering::Relaxed)) {
            let Some(entry) = all.iter_mut().find(|entry| entry.id == held.id) else { continue };
            entry.locking -= 1;
            if entry.locking == 0 {
                // This cannot fail for a file that is open.
                let _ = set(&held.file, held.bytes, libc::F_UNLCK);
            }
        }
    }

    /// Whether one of the files has been removed.
    pub(super) fn is_removed(&self) -> bool {
        self.0.iter().any(|held| held.file.metadata().is_ok_and(|file| file.nlink() == 0))
    }

    fn lock(&mut self, path: &Path, bytes: Bytes) -> Result<()> {
        let shown = path.display();
        let failed = |e| Error::storage(format!("{shown} cannot be locked: {}", cause(&e)));
        // Kept even if it cannot be locked: it must not be closed before the connections are.
        let held = open(path, bytes).map_err(failed)?;
        let file = Arc::clone(&held.file);
        self.0.push(held);
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
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
        let mut all = locked();
        for HeldFile { id, file, .. } in std::mem::take(&mut self.0) {
            drop(file);
            let Some(at) = all.iter().position(|entry| entry.id == id) else { continue };
            all[at].users -= 1;
            if all[at].users == 0 {
                all.swap_remove(at);
            }
        }
    }
}

fn locked() -> MutexGuard<'static, Vec<Locked>> {
    LOCKED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(path: &Path, bytes: Bytes) -> std::io::Result<HeldFile> {
    let mut all = locked();
    let known = |all: &[Locked], id| all.iter().position(|entry| entry.id == id);
    // Looked up before it is opened, because it could not be closed again.
    let at = match known(&all, id(&std::fs::metadata(path)?)) {
        Some(at) => at,
        None => {
            let file = Arc::new(File::open(path)?);
            let id = id(&file.metadata()?);
            let at = known(&all, id).unwrap_or(all.len());
            if at == all.len() {
                all.push(Locked { id, files: Vec::new(), locking: 0, users: 0 });
            }
            all[at].files.push(file);
            at
        }
    };
    let entry = &mut all[at];
    entry.locking += 1;
    entry.users += 1;
    Ok(HeldFile {
        id: entry.id,
        file: Arc::clone(&entry.files[0]),
        bytes,
        released: AtomicBool::new(false),
    })
}

fn id(file: &std::fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

fn set(file: &File, (l_start, l_len): Bytes, kind: libc::c_int) -> nix::Result<i32> {
    let (l_type, l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    fcntl(file, FcntlArg::F_OFD_SETLK(&libc::flock { l_type, l_whence, l_start, l_len, l_pid: 0 }))
}
