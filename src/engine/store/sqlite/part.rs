//! The copy of a database until it is complete.

use super::failure::cause;
use super::files::beside;
use super::held;
use super::origin::{keep_owner, mark_of};
use super::schema::{HEADER, is_ours};
use crate::files::{AtomicFile, exists, is_at, open_plain};
use crate::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A file next to its destination. It is removed unless it is renamed to it.
///
/// It is locked until this process is done with it or ends: a file without a lock was left by a process that was killed.
pub(super) struct Part(AtomicFile);

impl Part {
    /// Creates the file for a copy of `source`.
    pub(super) fn create(of: &Path, source: &Path) -> Result<Part> {
        let path = beside(of, "-part");
        for _ in 0..super::files::ATTEMPTS {
            let part = match AtomicFile::create(path.clone()) {
                Ok(part) => part,
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    remove_left_over(&path, source)?;
                    continue;
                }
                Err(e) => return Err(failed(&path, "cannot be created", &e)),
            };
            // Without locks, it is kept from others as long as it exists.
            if held::lock_written(part.file()) == Some(false) {
                return Err(written_by_another(&path));
            }
            // Another process could have taken it for one that was left, before it was locked.
            if part.is_there() {
                return Ok(Part(part));
            }
        }
        Err(written_by_another(&path))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Gives the file to the owner of this one.
    pub(super) fn keep_owner(&self, like: &Path) {
        keep_owner(self.0.file(), like);
    }

    /// Writes the content of the file to the disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.0.file().sync_all().map_err(|e| failed(self.path(), "may not be on disk", &e))
    }

    /// Gives the file its name, unless another has got it meanwhile.
    pub(super) fn publish(self, name: &Path) -> Result<()> {
        match self.0.publish(name) {
            // The folder is written to the disk with one of the names.
            Ok(()) => sync_folder(name),
            Err(e) if e.kind() == ErrorKind::AlreadyExists || exists(name) => refuse_existing(name),
            Err(e) => Err(failed(name, "cannot be replaced", &e)),
        }
    }

    pub(super) fn replace(self, name: &Path) -> Result<()> {
        self.0.replace(name).map_err(|e| failed(name, "cannot be replaced", &e))?;
        sync_folder(name)
    }
}

/// Removes the file that a process left when it was killed while it copied. Its content is not touched: after a kill at
/// the end, the finished copy shares it.
fn remove_left_over(path: &Path, source: &Path) -> Result<()> {
    // A database can have any name.
    if is_same(path, source) || mark_of(path).exists() {
        return Err(not_left_over(path));
    }
    if held::has_open(path) {
        return Err(Error::storage(format!("{} is in use by this process", path.display())));
    }
    // A named pipe would be waited for, and a link could lead anywhere.
    match path.symlink_metadata() {
        Ok(found) if found.is_file() => {}
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        _ => return Err(not_left_over(path)),
    }
    let file = match open_plain(path, File::options().read(true).write(true)) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(_) => return Err(not_left_over(path)),
    };
    match held::lock_written(&file) {
        Some(true) => {}
        Some(false) => return Err(written_by_another(path)),
        None => {
            return Err(Error::storage(format!(
                "{} exists: another process may be writing it. If none is, remove it",
                path.display()
            )));
        }
    }
    if !is_at(&file, path) {
        return Ok(());
    }
    if !is_part(&file) {
        return Err(not_left_over(path));
    }
    remove(&beside(path, "-journal"))?;
    remove(path)
}

/// Returns whether a file is a copy, as far as it can be when a process is killed: empty, without its first page, or a
/// database of ours.
fn is_part(mut file: &File) -> bool {
    let mut header = Vec::new();
    let is_read = file.by_ref().take(HEADER as u64).read_to_end(&mut header).is_ok();
    is_read && (header.iter().all(|byte| *byte == 0) || is_ours(&header))
}

fn not_left_over(path: &Path) -> Error {
    Error::storage(format!(
        "{} is in the way, and is no interrupted copy: move it away",
        path.display()
    ))
}

fn written_by_another(path: &Path) -> Error {
    let shown = path.display();
    Error::storage(format!("{shown} is being written by another process: wait until it is done"))
}

pub(super) fn refuse_existing(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::storage(format!(
            "{} exists, and is not overwritten: name another file",
            path.display()
        ))),
        Err(_) => Ok(()),
    }
}

pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| path.canonicalize().ok();
    file(one).is_some_and(|one| file(other) == Some(one))
}

pub(super) fn failed(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::storage(format!("{} {what}: {}", path.display(), cause(error)))
}

pub(super) fn sync_folder(of: &Path) -> Result<()> {
    super::open::sync_folder(of).map_err(|e| failed(of, "may not be on disk", &e))
}

pub(super) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(path, "cannot be removed", &e)),
        _ => Ok(()),
    }
}
