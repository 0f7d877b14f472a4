//! Notices that a database that is open, or its log, was removed or replaced.
//!
//! Everything written from then on is lost, and another process can accept the same code. This
//! happens when someone replaces the file, and when another copy of SQLite in the process closes
//! the same file: it drops the locks, and the next program to close the file removes the log.

use super::files::beside;
use super::held::Held;
use crate::exhausted::exhausted;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The identity of a file: the device and the inode.
type Id = (u64, u64);

/// Keeps a database that is open from losing its log, as far as the system allows it, and notices
/// if it was lost all the same.
pub(super) struct Guard {
    watch: Watch,
    held: Held,
}

impl Guard {
    /// Begins once all connections are open.
    pub(super) fn new(watch: Watch, mut held: Held) -> Guard {
        watch.folder.note(!watch.beside.is_empty(), &mut held);
        Guard { watch, held }
    }

    /// Fails if the database or its log is no longer the one that was opened.
    pub(super) fn check(&self) -> Result<()> {
        self.held.check(&self.watch.database.0)?;
        self.watch.check(&self.held)
    }

    /// Fails also if writes would go to another file.
    pub(super) fn check_writer(&self) -> Result<()> {
        self.held.check_writer(&self.watch.database.0)?;
        self.watch.check(&self.held)
    }

    /// Says whether a descriptor belongs to another file now, so that the connections must not even be closed.
    pub(super) fn is_reused(&self) -> bool {
        self.held.is_reused()
    }

    /// Says whether a descriptor was closed, and none belongs to another file.
    pub(super) fn is_closed(&self) -> bool {
        self.held.is_closed()
    }

    /// Ends the use of a database whose descriptors the program has closed, after its connections were closed.
    pub(super) fn forget(self) {
        self.held.forget();
        std::mem::forget(self.watch);
    }

    /// Fails also if any other connection has lost a descriptor.
    pub(super) fn check_all(&self) -> Result<()> {
        self.held.check_all(&self.watch.database.0)?;
        self.watch.check(&self.held)
    }

    /// Returns the mutex that is locked while connections are opened or closed.
    pub(super) fn opening(&self) -> Arc<Mutex<()>> {
        self.held.opening()
    }

    /// Opens a further connection to the database.
    pub(super) fn open<T>(&self, open: impl FnOnce() -> T) -> T {
        let opening = self.opening();
        let _opening = opening.lock().unwrap_or_else(PoisonError::into_inner);
        open()
    }

    /// Announces that the library itself closes the descriptors next.
    pub(super) fn end_descriptors(&self) {
        self.held.end_descriptors();
    }

    /// Lets the connections that are closed next remove the log.
    pub(super) fn release(&self) {
        self.held.release();
    }
}

pub(super) struct Watch {
    database: (PathBuf, Id),
    /// The log and its index; none where the file system does not allow SQLite to use a log. A
    /// process that opens the database without the index takes itself for the first one, and does
    /// not see the codes that others accept.
    beside: Vec<(PathBuf, Id)>,
    folder: Folder,
}

impl Watch {
    /// Begins to watch a database that is open. `opened` is what [`id_of`] returned before that.
    pub(super) fn begin(database: &Path, opened: Option<Id>, has_log: bool) -> Result<Watch> {
        let gone = |e: std::io::Error| match exhausted(&e) {
            Some(cause) => {
                Error::storage(format!("{} cannot be opened: {cause}", database.display()))
            }
            None => replaced(database),
        };
        // Absolute, because the program may change its folder.
        let database = database.canonicalize().map_err(gone)?;
        let folder = Folder::of(&database).map_err(gone)?;
        let found = |path: PathBuf| {
            let id = folder.id_of(&path).map_err(gone)?.ok_or_else(|| replaced(&path))?;
            Ok::<_, Error>((path, id))
        };
        let ends = if has_log { &["-wal", "-shm"][..] } else { &[] };
        let beside = ends.iter().map(|end| found(beside(&database, end))).collect::<Result<_>>()?;
        let database = found(database)?;
        match opened {
            Some(id) if id != database.1 => Err(replaced(&database.0)),
            _ => Ok(Watch { database, beside, folder }),
        }
    }

    fn check(&self, held: &Held) -> Result<()> {
        if self.is_gone(&self.database, held) {
            return Err(replaced(&self.database.0));
        }
        match self.beside.iter().find(|file| self.is_gone(file, held)) {
            Some((path, _)) => Err(Error::storage(format!(
                "{} was removed or replaced while it was in use, perhaps by another copy of SQLite \
                 in this process that closed the database. Nothing more is read or written: open \
                 the service again, and use one copy of SQLite per process",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    fn is_gone(&self, (path, id): &(PathBuf, Id), held: &Held) -> bool {
        match self.folder.id_of(path) {
            Ok(found) => found != Some(*id),
            // The program has given up the right to look into the folder.
            Err(_) => held.is_removed(),
        }
    }
}

fn replaced(database: &Path) -> Error {
    Error::storage(format!(
        "{} was removed or replaced while it was open. Nothing more is read or written: open the \
         service again",
        database.display()
    ))
}

/// The folder of a database, which is looked into even if the program has changed its root.
#[cfg(target_os = "linux")]
struct Folder(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Folder {
    fn of(database: &Path) -> std::io::Result<Folder> {
        use nix::fcntl::{OFlag, open};
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = database.parent().unwrap_or(Path::new("/"));
        Ok(Folder(open(folder, flags, nix::sys::stat::Mode::empty())?))
    }

    fn note(&self, has_log: bool, held: &mut Held) {
        held.note_others(has_log, &self.0);
    }

    /// `None` if there is no such file.
    fn id_of(&self, path: &Path) -> std::io::Result<Option<Id>> {
        use nix::fcntl::AtFlags;
        let name = Path::new(path.file_name().unwrap_or_default());
        match nix::sys::stat::fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(file) => Ok(Some((file.st_dev, file.st_ino))),
            Err(nix::errno::Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct Folder;

#[cfg(not(target_os = "linux"))]
impl Folder {
    fn of(_: &Path) -> std::io::Result<Folder> {
        Ok(Folder)
    }

    fn note(&self, _: bool, _: &mut Held) {}

    fn id_of(&self, path: &Path) -> std::io::Result<Option<Id>> {
        match std::fs::symlink_metadata(path) {
            Ok(file) => Ok(Some(id(&file))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the identity of the file at this path; `None` if there is no file.
pub(super) fn id_of(path: &Path) -> Option<Id> {
    std::fs::metadata(path).ok().map(|file| id(&file))
}

#[cfg(unix)]
fn id(file: &std::fs::Metadata) -> Id {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// Without inodes, only a file that is missing is noticed.
#[cfg(not(unix))]
fn id(_: &std::fs::Metadata) -> Id {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::super::Sqlite;
    use super::*;
    use crate::engine::store::backend::{Backend, Fault};
    use crate::engine::store::change::{Change, ChangeKind};
    use crate::engine::store::table::{Row, Value};
    use crate::engine::store::tables::Sequence;

    fn change() -> Vec<Change> {
        let values = vec![Value::Text("test".into()), Value::Int(1)];
        vec![Change { table: Sequence::TABLE, kind: ChangeKind::Insert, values }]
    }

    /// In the middle of a batch, before the next one, and replaced by a copy.
    #[test]
    fn no_batch_is_acknowledged_whose_file_was_removed_or_replaced() {
        for end in ["", "-wal", "-shm"] {
            for is_replaced in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("seconder.db");
                let store = Sqlite::open(&path, false).unwrap();
                let (file, moved) = (beside(&path, end), folder.path().join("moved"));
                let mut begun = 0;
                let mut write = |removes: bool| {
                    let written = store.write(&mut |rows| {
                        begun += 1;
                        if removes {
                            std::fs::rename(&file, &moved).unwrap();
                        }
                        if removes && is_replaced {
                            std::fs::copy(&moved, &file).unwrap();
                        }
                        rows.apply(change())
                    });
                    match written {
                        Err(Fault::OfStore(error)) => error.to_string(),
                        Err(Fault::OfRow(error)) => panic!("{error}"),
                        Ok(()) => panic!("it was acknowledged without {}", file.display()),
                    }
                };
                assert!(write(true).contains("removed or replaced"), "{end}");
                assert!(write(false).contains("removed or replaced"), "{end}");
                assert_eq!(begun, 1, "the second batch does not begin");
            }
        }
    }
}
