//! The spool folder, which is opened once for all operations in it.
//!
//! It is in the folder of the database, whose owner could put a link in its place, or another folder, while root writes
//! to it or removes files from it.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Creates the folder, unless it is there. The messages contain codes, so only the owner has access. Returns whether it
/// was created.
fn make(folder: &Path) -> Result<bool> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

fn no_folder() -> Error {
    let what = "it is a link, or no folder: remove it, and the next message creates the folder";
    Error::new(ErrorKind::NotADirectory, what)
}

pub(super) use system::{Folder, Search};

#[cfg(target_os = "linux")]
mod system {
    use crate::engine::delivery::spool::folder::{make, no_folder};
    use nix::dir::{Dir, OwningIter, Type};
    use nix::errno::Errno;
    use nix::fcntl::{OFlag, open, openat, renameat};
    use nix::sys::stat::Mode;
    use nix::unistd::{UnlinkatFlags, unlinkat};
    use std::fs::File;
    use std::io::Result;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{MetadataExt, fchown};
    use std::path::Path;

    /// The folder itself, and no link to another one.
    pub(in super::super) struct Folder(OwnedFd);

    impl Folder {
        /// Opens the folder of the messages of this database, and creates it if it is missing.
        pub(in super::super) fn create(folder: &Path, database: &Path) -> Result<Folder> {
            if make(folder)? {
                give_to_owner(folder, database)?;
            }
            Folder::open(folder)
        }

        pub(super) fn open(folder: &Path) -> Result<Folder> {
            Ok(Folder(open_folder(folder, OFlag::O_PATH)?))
        }

        /// Creates a file, which belongs to the owner of the folder even if root writes it.
        pub(in super::super) fn create_file(&self, name: &str) -> Result<File> {
            let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
            let mode = Mode::S_IRUSR | Mode::S_IWUSR;
            let file = File::from(openat(&self.0, name, flags, mode)?);
            let (own, folder) = (file.metadata()?, nix::sys::stat::fstat(&self.0)?);
            if own.uid() != folder.st_uid {
                // Only root can. Another user who may write here stays the owner of the file.
                let _ = fchown(&file, Some(folder.st_uid), Some(folder.st_gid));
            }
            Ok(file)
        }

        pub(in super::super) fn rename(&self, from: &str, to: &str) -> Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        pub(in super::super) fn remove(&self, name: &str) -> Result<()> {
            Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
        }
    }

    /// Gives the folder that was just created to the owner of the database, or the service could not write to a folder
    /// that root has created. Another folder that was put in its place is not empty, or belongs to another user.
    fn give_to_owner(folder: &Path, database: &Path) -> Result<()> {
        let Ok(theirs) = database.metadata() else { return Ok(()) };
        let created = File::from(open_folder(folder, OFlag::O_RDONLY)?);
        let own = created.metadata()?;
        if own.uid() == theirs.uid() {
            return Ok(());
        }
        let others = |name: &[u8]| name != b"." && name != b"..";
        let mut entries =
            Dir::openat(&created, ".", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        let is_empty = !entries.iter().flatten().any(|entry| others(entry.file_name().to_bytes()));
        if is_empty && own.uid() == nix::unistd::geteuid().as_raw() && own.mode() & 0o777 == 0o700 {
            let _ = fchown(&created, Some(theirs.uid()), Some(theirs.gid()));
        }
        Ok(())
    }

    fn open_folder(folder: &Path, how: OFlag) -> Result<OwnedFd> {
        let flags = how | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match open(folder, flags, Mode::empty()) {
            Err(Errno::ENOTDIR | Errno::ELOOP) => Err(no_folder()),
            opened => Ok(opened?),
        }
    }

    /// Goes through the files of the folder.
    pub(in super::super) struct Search {
        folder: Folder,
        entries: OwningIter,
    }

    impl Search {
        pub(in super::super) fn begin(folder: &Path) -> Result<Search> {
            let folder = Folder::open(folder)?;
            let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            let entries = Dir::openat(&folder.0, ".", flags, Mode::empty())?.into_iter();
            Ok(Search { folder, entries })
        }

        /// Returns the name of the next file, `None` for anything else; and `None` at the end.
        pub(in super::super) fn next(&mut self) -> Option<Option<String>> {
            let Ok(entry) = self.entries.next()? else { return Some(None) };
            let is_file = entry.file_type().is_none_or(|kind| kind == Type::File);
            let name = entry.file_name().to_str().ok().filter(|_| is_file);
            Some(name.map(str::to_owned))
        }

        pub(in super::super) fn remove(&self, name: &str) -> Result<()> {
            self.folder.remove(name)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::engine::delivery::spool::folder::{make, no_folder};
    use std::fs;
    use std::io::Result;
    use std::path::{Path, PathBuf};

    pub(in super::super) struct Folder(PathBuf);

    impl Folder {
        pub(in super::super) fn create(folder: &Path, _: &Path) -> Result<Folder> {
            make(folder)?;
            Folder::open(folder)
        }

        pub(super) fn open(folder: &Path) -> Result<Folder> {
            match folder.symlink_metadata()?.is_dir() {
                false => Err(no_folder()),
                true => Ok(Folder(folder.to_owned())),
            }
        }

        pub(in super::super) fn create_file(&self, name: &str) -> Result<fs::File> {
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(self.0.join(name))
        }

        pub(in super::super) fn rename(&self, from: &str, to: &str) -> Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(in super::super) fn remove(&self, name: &str) -> Result<()> {
            fs::remove_file(self.0.join(name))
        }
    }

    pub(in super::super) struct Search {
        folder: Folder,
        entries: fs::ReadDir,
    }

    impl Search {
        pub(in super::super) fn begin(folder: &Path) -> Result<Search> {
            let folder = Folder::open(folder)?;
            let entries = fs::read_dir(&folder.0)?;
            Ok(Search { folder, entries })
        }

        pub(in super::super) fn next(&mut self) -> Option<Option<String>> {
            let Ok(entry) = self.entries.next()? else { return Some(None) };
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            Some(entry.file_name().to_str().filter(|_| is_file).map(str::to_owned))
        }

        pub(in super::super) fn remove(&self, name: &str) -> Result<()> {
            self.folder.remove(name)
        }
    }
}
