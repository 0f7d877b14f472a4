//! Files that have their names only once they are whole.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The name of a file while it is being written. What has it was left by a process that was killed, and is removed.
pub(crate) fn of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push("-part");
    let _ = std::fs::remove_file(&part);
    part.into()
}

/// Gives the part its name, unless another file has got that meanwhile, and removes it after an error.
pub(crate) fn publish(part: &Path, name: &Path) -> Result<(), Error> {
    let done = match std::fs::hard_link(part, name) {
        // Not every file system has links.
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !name.exists() => {
            return std::fs::rename(part, name).inspect_err(|_| drop(std::fs::remove_file(part)));
        }
        done => done,
    };
    let _ = std::fs::remove_file(part);
    done
}
