//! Files that have their names only once they are whole.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// A new file for its owner alone, beside the one that it is going to be. It is removed unless it becomes that one.
pub(crate) struct Part {
    path: PathBuf,
    /// Locked until this process is done with the file or ends: one that nobody has locked was left by a process
    /// that was killed.
    file: File,
}

impl Part {
    /// The name says whose file it is, because one that was left is removed.
    pub(crate) fn create(of: &Path) -> Result<Part> {
        let mut path = of.as_os_str().to_owned();
        path.push(".seconder-part");
        let path = PathBuf::from(path);
        loop {
            match create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => remove_left_over(&path)?,
                made => {
                    let file = made?;
                    lock(&file, &path)?;
                    // Another process could have taken it for one that was left, before it was locked.
                    if is_at(&file, &path) {
                        return Ok(Part { path, file });
                    }
                }
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, unless another has got it meanwhile.
    pub(crate) fn publish(self, name: &Path) -> Result<()> {
        match std::fs::hard_link(&self.path, name) {
            // Not every file system has links.
            Err(error) if error.kind() != ErrorKind::AlreadyExists && !exists(name) => {
                std::fs::rename(&self.path, name)
            }
            done => done,
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Once it has its name, another process may have one of its own here.
        if is_at(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether anything has this name, also a link that leads to nothing.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn create_new(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn remove_left_over(path: &Path) -> Result<()> {
    let left = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        left => left?,
    };
    lock(&left, path)?;
    if is_at(&left, path) { std::fs::remove_file(path) } else { Ok(()) }
}

/// Whether the file still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: Result<std::fs::Metadata>| found.map(|it| (it.dev(), it.ino())).ok();
    let wanted = id(file.metadata());
    wanted.is_some() && id(path.symlink_metadata()) == wanted
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let reason = format!("another process is writing {}", path.display());
            Err(Error::new(ErrorKind::ResourceBusy, reason))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}
