//! The file with the id of a running service, and `seconder reload`, which finds the service by it. The
//! service holds a lock of the file, so that no program takes another process of the same id for it.

use super::running::Reloaded;
use crate::invalid;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};
use seconder::Result;
use seconder::files::{AtomicFile, open_plain};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes that are read of an id.
const LONGEST_ID: u64 = 32;
/// The most bytes that are read of an answer.
const LONGEST_ANSWER: u64 = 64 * 1024;
/// The file of this process, and next to it the outcome of its last reload. They are removed with this.
pub(crate) struct PidFile {
    path: PathBuf,
    /// The locked file. Closing any other descriptor of it would give up the lock.
    locked: File,
    reloads: AtomicU64,
}

impl PidFile {
    pub(crate) fn create(path: &Path) -> Result<PidFile> {
        let cannot =
            |error| invalid("pid-file", format!("{} cannot be written: {error}", path.display()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o644);
        let file = open_plain(path, &mut options).map_err(cannot)?;
        if fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let reason = format!("{} is that of a service that is running", path.display());
            return Err(invalid("pid-file", reason));
        }
        // Another file that was named by mistake must not be lost.
        if read_id(&file).is_err() {
            let reason = format!("{} is no file with the id of a process", path.display());
            return Err(invalid("pid-file", reason));
        }
        file.set_len(0).map_err(cannot)?;
        let path = path.to_owned();
        let _ = fs::remove_file(answer_file(&path));
        Ok(PidFile { path, locked: file, reloads: AtomicU64::new(0) })
    }

    /// Writes the id. A program that finds it sends SIGHUP, which would end a process that does not receive signals
    /// yet.
    pub(crate) fn announce(&self) -> Result<()> {
        let id = format!("{}\n", std::process::id());
        let mut file = &self.locked;
        file.rewind().and_then(|()| file.write_all(id.as_bytes())).map_err(|error| {
            invalid("pid-file", format!("{} cannot be written: {error}", self.path.display()))
        })
    }

    /// Answers the programs that wait for a reload.
    pub(crate) fn reloaded(&self, reloaded: &Reloaded) -> io::Result<()> {
        let number = self.reloads.fetch_add(1, Ordering::Relaxed) + 1;
        let word = if reloaded.failed { "failed" } else { "done" };
        let text = format!("{number} {word}\n{}\n", reloaded.lines.join("\n"));
        let answer = answer_file(&self.path);
        let new = answer.with_extension("reload.new");
        let _ = fs::remove_file(&new);
        let file = AtomicFile::create(new)?;
        // As the file with the id: it holds no secret.
        file.file().set_permissions(Permissions::from_mode(0o644))?;
        file.file().write_all(text.as_bytes())?;
        file.replace(&answer)
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(answer_file(&self.path));
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the path of the file with the response to a reload.
fn answer_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".reload");
    name.into()
}

/// Reads the id in a file; `None` if it is empty.
pub(crate) fn read_id(file: &File) -> io::Result<Option<i32>> {
    let (mut text, mut file) = (String::new(), file);
    file.rewind()?;
    file.take(LONGEST_ID).read_to_string(&mut text)?;
    match text.trim() {
        "" => Ok(None),
        id => id.parse().map(Some).map_err(|_| io::ErrorKind::InvalidData.into()),
    }
}

/// Returns the process that holds the lock of a file.
pub(crate) fn holder(file: &File) -> Option<Pid> {
    fcntl_getlk(file, &Flock::from(FlockType::WriteLock)).ok()??.pid
}

/// Reads the last response of a service: the number of reloads, their success, and the lines.
pub(crate) fn answer(path: &Path) -> Option<(u64, bool, String)> {
    let file = open_plain(&answer_file(path), File::options().read(true)).ok()?;
    let mut text = String::new();
    file.take(LONGEST_ANSWER).read_to_string(&mut text).ok()?;
    let (first, lines) = text.split_once('\n')?;
    let (number, word) = first.split_once(' ')?;
    // The file may be of another program, and must not control the terminal.
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    Some((number.parse().ok()?, word == "done", lines.chars().map(plain).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_controls_no_terminal_and_is_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let file = answer_file(&path);
        fs::write(&file, "3 done\n\x1b]0;title\x07of another program\u{9b}2J\nnext\n").unwrap();
        let (number, is_done, lines) = answer(&path).unwrap();
        assert_eq!((number, is_done), (3, true));
        assert_eq!(lines, " ]0;title of another program 2J\nnext\n");
        let other = folder.path().join("other");
        fs::rename(&file, &other).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert!(answer(&path).is_none());
    }
}
