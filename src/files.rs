//! Atomic file creation: files get their names only once they are complete. Another user may own the folder that they
//! are in, and root must not be led to another file by a link there.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// A new file for its owner alone, next to its destination. It is removed unless it becomes that one.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    file: File,
}

impl AtomicFile {
    /// Creates the file at this path, as [`create_private`] does.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is a file already, and the errors of the system.
    pub fn create(path: PathBuf) -> Result<AtomicFile> {
        create_private(&path).map(|file| AtomicFile { path, file })
    }

    /// Returns its path until it has its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether it is still at its path: another process may have taken it for one that was left.
    pub fn is_there(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// Gives the file its name, unless another has got it meanwhile, and removes the name that it had.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if another has it, and the errors of the system: not every file system has links.
    pub fn link(&self, name: &Path) -> Result<()> {
        fs::hard_link(&self.path, name)?;
        self.remove();
        Ok(())
    }

    /// Gives the file its name, unless another has got it meanwhile. Without links, another one that gets it at the same
    /// time is replaced.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if another has it, and the errors of the system.
    pub fn publish(self, name: &Path) -> Result<()> {
        match self.link(name) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists && !exists(name) => {
                self.replace(name)
            }
            done => done,
        }
    }

    /// Gives the file its name in place of another one.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn replace(self, name: &Path) -> Result<()> {
        fs::rename(&self.path, name)
    }

    /// Removes the name of the file, unless another process has a file of this name by now.
    fn remove(&self) {
        if self.is_there() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Creates a file for its owner alone, independent of the umask.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if anything has this name, and the errors of the system.
pub fn create_private(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Opens a file, but no link to one, and waits for no pipe.
///
/// # Errors
/// The errors of the system, and [`ErrorKind::InvalidInput`] if it is not a file.
pub fn open_plain(path: &Path, options: &mut OpenOptions) -> Result<File> {
    let invalid = |reason: &str| Error::new(ErrorKind::InvalidInput, reason);
    #[cfg(target_os = "linux")]
    {
        let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits());
    }
    #[cfg(not(target_os = "linux"))]
    if path.is_symlink() {
        return Err(invalid("it is a link"));
    }
    let file = options.open(path).map_err(of_link)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(invalid("it is no file")),
    }
}

/// Replaces the message of the system for a link, which is about too many links.
pub fn of_link(error: Error) -> Error {
    #[cfg(target_os = "linux")]
    if error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32) {
        return Error::new(ErrorKind::InvalidInput, "it is a link");
    }
    error
}

/// Returns whether anything has this name, also a link that leads to nothing.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns whether the file has this name.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: Result<fs::Metadata>| found.map(|it| (it.dev(), it.ino())).ok();
    let of_name = id(path.symlink_metadata());
    of_name.is_some() && id(file.metadata()) == of_name
}

/// Returns true: the system has no numbers of files.
#[cfg(not(unix))]
pub fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Returns once the names in the folder of this file are on disk.
///
/// # Errors
/// The errors of the system. A folder that may be written but not read cannot be opened.
pub fn sync_folder(of: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = of;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_has_its_name_once_it_is_complete_and_replaces_none_unless_asked() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let (name, part) = (folder.path().join("file"), folder.path().join("file.part"));
        let create = |text: &str| {
            let created = AtomicFile::create(part.clone()).unwrap();
            created.file().write_all(text.as_bytes()).unwrap();
            created
        };
        drop(create("left"));
        assert_eq!(names(), 0);
        create("one").publish(&name).unwrap();
        let refused = create("two").publish(&name).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!((names(), fs::read_to_string(&name).unwrap()), (1, "one".to_owned()));
        create("three").replace(&name).unwrap();
        assert_eq!((names(), fs::read_to_string(&name).unwrap()), (1, "three".to_owned()));
        // What another process has put at its path since stays.
        let created = create("four");
        fs::remove_file(&part).unwrap();
        fs::write(&part, "another").unwrap();
        assert!(!created.is_there());
        drop(created);
        assert_eq!(fs::read_to_string(&part).unwrap(), "another");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_a_folder_are_no_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        drop(create_private(&file).unwrap());
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open_plain(&file, File::options().read(true)).is_ok());
        for other in [link.as_path(), folder.path()] {
            let refused = open_plain(other, File::options().read(true)).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{}", other.display());
        }
    }
}
