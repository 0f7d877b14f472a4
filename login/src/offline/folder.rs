//! The folder of the caches: its owner, and files that are replaced as a whole.

use super::{Problem, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most bytes of a cache, more than 20160 hashes, 1000 reports and the seal take.
const LARGEST: u64 = 256 * 1024;
/// The time that another login of the same user may take, and the interval at which that is
/// checked.
const ROUNDS: u32 = 200;
const ROUND: Duration = Duration::from_millis(10);
/// The mode of a folder that the owner alone reads and writes.
const PRIVATE: u32 = 0o700;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The folder, opened once, so that it cannot be exchanged afterwards.
pub(super) struct Folder {
    open: OwnedFd,
    path: PathBuf,
}

/// Holds a lock on a file until it is dropped.
pub(super) struct Locked {
    _file: File,
    name: String,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder> {
        let path = check_above(path)?;
        let bad = |reason: String| Problem::Storage(format!("{} {reason}", path.display()));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::open(&path, flags, Mode::empty());
        let opened = match open() {
            Err(Errno::NOENT) => {
                let made = DirBuilder::new().mode(PRIVATE).create(&path);
                made.map_err(|error| bad(format!("cannot be created: {error}")))?;
                open()
            }
            other => other,
        };
        let opened = opened.map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => bad("must be a folder, and no symbolic link".into()),
            error => bad(format!("cannot be opened: {error}")),
        })?;
        let found = rustix::fs::fstat(&opened).map_err(|error| bad(error.to_string()))?;
        let own = rustix::process::geteuid().as_raw();
        if found.st_uid != own {
            return Err(bad(format!("belongs to user {}, and must to {own}", found.st_uid)));
        }
        if found.st_mode & 0o077 != 0 {
            return Err(bad("must be accessible to its owner alone: chmod 0700".into()));
        }
        Ok(Folder { open: opened, path })
    }

    /// Takes the lock of a file. It is apart from the file, which is replaced.
    pub(super) fn lock(&self, name: &str) -> Result<Locked> {
        let lock = format!("{name}.lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.open, &lock, flags, FILE_MODE);
        let file = File::from(opened.map_err(|error| self.failed(&lock, error))?);
        for _ in 0..ROUNDS {
            match file.try_lock() {
                Ok(()) => return Ok(Locked { _file: file, name: name.to_owned() }),
                Err(TryLockError::WouldBlock) => std::thread::sleep(ROUND),
                Err(TryLockError::Error(error)) => return Err(self.failed(&lock, error)),
            }
        }
        Err(Problem::Busy)
    }

    /// Returns the contents of a file; `None` if it does not exist.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.open, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.failed(name, error)),
        };
        let found = file.metadata().map_err(|error| self.failed(name, error))?;
        let own = rustix::process::geteuid().as_raw();
        if !found.is_file() || found.uid() != own || found.mode() & 0o077 != 0 {
            let reason = format!("must be a file of user {own} that others cannot access");
            return Err(self.failed(name, reason));
        }
        let mut bytes = Vec::new();
        let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(name, error))?;
        match bytes.len() as u64 <= LARGEST {
            true => Ok(Some(bytes)),
            false => Err(Problem::Damaged),
        }
    }

    /// Replaces a file as a whole: after a crash, it has the old contents or the new ones.
    pub(super) fn replace(&self, lock: &Locked, name: &str, bytes: &[u8]) -> Result<()> {
        debug_assert_eq!(lock.name, name);
        let new = format!("{name}.new");
        self.remove(&new)?;
        let failed = |error: std::io::Error| self.failed(&new, error);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.open, &new, flags, FILE_MODE);
        let mut file = File::from(opened.map_err(|error| self.failed(&new, error))?);
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        rustix::fs::renameat(&self.open, &new, &self.open, name)
            .and_then(|()| rustix::fs::fsync(&self.open))
            .map_err(|error| self.failed(name, error))
    }

    pub(super) fn remove(&self, name: &str) -> Result<()> {
        match rustix::fs::unlinkat(&self.open, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(name, error)),
        }
    }

    fn failed(&self, name: &str, error: impl std::fmt::Display) -> Problem {
        Problem::Storage(format!("{}: {error}", self.path.join(name).display()))
    }
}

/// Checks the folders above: another user who could write to one could put an older copy of the
/// folder in its place. Returns the path without symbolic links above the folder.
fn check_above(path: &Path) -> Result<PathBuf> {
    let bad = |path: &Path, reason: &str| Problem::Storage(format!("{} {reason}", path.display()));
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(bad(path, "must be the path of a folder"));
    };
    if !path.is_absolute() {
        return Err(bad(path, "must begin with /"));
    }
    let above = std::fs::canonicalize(above)
        .map_err(|error| bad(above, &format!("cannot be used: {error}")))?;
    let own = rustix::process::geteuid().as_raw();
    for folder in above.ancestors() {
        let found = std::fs::symlink_metadata(folder)
            .map_err(|error| bad(folder, &format!("cannot be used: {error}")))?;
        if found.uid() != 0 && found.uid() != own {
            return Err(bad(folder, "must belong to root"));
        }
        // In a folder with the sticky bit, such as /tmp, users cannot rename files of others.
        if found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0 {
            return Err(bad(folder, "must not be writable by others"));
        }
    }
    Ok(above.join(name))
}
