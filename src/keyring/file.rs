//! The file of a keyring: its permissions, its creation and its replacement.

use super::Keys;
use super::key::Key;
use super::text::{self, LARGEST, Problem};
use crate::files::{AtomicFile, create_private, sync_folder};
use crate::{Error, Result, links};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use zeroize::Zeroizing;

/// Metadata that distinguishes a file from the one that replaces it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl Version {
    fn of(found: &Metadata) -> Version {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Version {
            length: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            inode: (found.dev(), found.ino(), found.ctime(), found.ctime_nsec()),
        }
    }

    /// Returns the version of the file at this path; `None` if it cannot be found.
    pub(super) fn at(path: &Path) -> Option<Version> {
        fs::metadata(path).ok().map(|found| Version::of(&found))
    }
}

/// Returns a failure to do something with the file at this path.
pub(super) fn failed(path: &Path, what: &str, error: &io::Error) -> Error {
    let error = crate::exhausted::exhausted(error).map_or_else(|| error.to_string(), str::to_owned);
    Error::storage(format!("the keyring {} cannot be {what}: {error}", path.display()))
}

/// Opens and reads the file. `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<(Keys, Version, File)>> {
    let real = followed(path)?;
    let mut options = OpenOptions::new();
    // A pipe, which is no keyring, would be waited for; and a link was put there just now.
    #[cfg(target_os = "linux")]
    {
        let flags = nix::fcntl::OFlag::O_NONBLOCK | nix::fcntl::OFlag::O_NOFOLLOW;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits());
    }
    let opened = match options.read(true).open(real) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| failed(path, "read", &error))?,
    };
    let found = opened.metadata().map_err(|error| failed(path, "read", &error))?;
    check(path, &found)?;
    // One byte more than the most that is read shows that there is more.
    let mut buffer = Zeroizing::new(vec![0; LARGEST + 1]);
    let length = fill(&opened, &mut buffer).map_err(|error| failed(path, "read", &error))?;
    let bytes = buffer.get(..length).filter(|bytes| bytes.len() <= LARGEST);
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let keys = text.ok_or(Problem::At(1)).and_then(text::parse);
    let keys = keys.map_err(|problem| not_understood(path, &problem))?;
    Ok(Some((keys, Version::of(&found), opened)))
}

fn fill(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..]) {
            Ok(0) => return Ok(length),
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn not_understood(path: &Path, problem: &Problem) -> Error {
    let shown = path.display();
    Error::storage(match problem {
        Problem::Version => format!(
            "the keyring {shown} was written by a newer version of this library: update the library"
        ),
        Problem::At(number) => format!(
            "{shown} is not a keyring, or it is damaged (line {number}): restore it from its backup"
        ),
        Problem::Current => format!(
            "the keyring {shown} is damaged: one of its keys must be the current one. Restore it \
             from its backup"
        ),
        Problem::Failed(error) => return error.clone(),
    })
}

/// Rejects a file that others may read, or that another user could replace.
fn check(path: &Path, found: &Metadata) -> Result<()> {
    let shown = path.display();
    if !found.is_file() {
        return Err(Error::storage(format!("the keyring {shown} is not a file: name a file")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // systemd gives a service its credentials as files of root, with a list of who may read them;
        // what that list allows is shown in the place of the group's rights.
        let is_credential = (found.uid(), found.gid()) == (0, 0) && found.mode() & 0o777 == 0o440;
        if found.mode() & 0o077 != 0 && !is_credential {
            return Err(Error::storage(format!(
                "the keyring {shown} can be read or written by others: restrict it with \
                 `chmod 600 {shown}`. If others may have read it, replace its keys: see `seconder \
                 keyring rotate`"
            )));
        }
        if !is_trusted(found.uid()) {
            return Err(Error::storage(format!(
                "the keyring {shown} belongs to the user {}: run this as that user, or give the \
                 file to the user of this process, or to root",
                found.uid()
            )));
        }
    }
    Ok(())
}

/// Returns the path of the file itself. Root is not led to one of root's keyrings by a link of the user whose database
/// it works on.
fn followed(path: &Path) -> Result<PathBuf> {
    let followed = links::resolve(path).for_root();
    followed.map_err(|foreign| Error::storage(format!("the keyring {foreign}")))
}

#[cfg(target_os = "linux")]
fn is_trusted(owner: u32) -> bool {
    [0, nix::unistd::geteuid().as_raw()].contains(&owner)
}

/// The standard library does not know the user of the process. Others have no rights to the file.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_trusted(_: u32) -> bool {
    true
}

/// Creates the file, with one key.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if there is a file already, which may have been created just now.
pub(super) fn create(path: &Path, now: u64) -> Result<io::Result<()>> {
    let keys = Keys { keys: vec![Key::random(now)?], current: 0 };
    let created = write_beside(path, &keys, None)?;
    let done = match created.link(path) {
        // Some file systems have no links. A process that reads the file before it is complete gets an error.
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            create_private(path).and_then(|file| write(&file, &keys, None))
        }
        linked => linked,
    };
    Ok(done.and_then(|()| sync_folder(path)))
}

/// Replaces the file by one with the keys that `change` returns. Programs that do so at the same time
/// wait for each other.
pub(super) fn replace<T>(path: &Path, change: impl FnOnce(Keys) -> Result<(T, Keys)>) -> Result<T> {
    // A link stays, and is that to the new file.
    let path = &followed(path)?;
    let (_locked, keys, found) = lock(path)?;
    let (outcome, keys) = change(keys)?;
    let created = write_beside(path, &keys, Some(&found))?;
    let done = created.replace(path).and_then(|()| sync_folder(path));
    done.map(|()| outcome).map_err(|error| failed(path, "replaced", &error))
}

/// When the file was changed, in seconds since the Unix epoch.
pub(super) fn changed_at(path: &Path) -> Option<u64> {
    let changed = fs::metadata(path).ok()?.modified().ok()?;
    changed.duration_since(SystemTime::UNIX_EPOCH).ok().map(|changed| changed.as_secs())
}

/// Locks and reads the file.
fn lock(path: &Path) -> Result<(File, Keys, Metadata)> {
    loop {
        let (_, version, locked) = read(path)?.ok_or_else(|| super::missing(path))?;
        locked.lock().map_err(|error| failed(path, "locked", &error))?;
        // Another program may have replaced the file before this one had the lock.
        let (keys, now, _) = read(path)?.ok_or_else(|| super::missing(path))?;
        if now == version {
            let found = locked.metadata().map_err(|error| failed(path, "read", &error))?;
            return Ok((locked, keys, found));
        }
    }
}

/// Writes a file next to this one, which only its owner can read.
fn write_beside(path: &Path, keys: &Keys, like: Option<&Metadata>) -> Result<AtomicFile> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(|_| Error::Internal {
        message: "the system's source of randomness failed".into(),
    })?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}", u64::from_le_bytes(number)));
    let created = AtomicFile::create(path.with_file_name(name));
    let written = created.and_then(|created| write(created.file(), keys, like).map(|()| created));
    written.map_err(|error| failed(path, "written", &error))
}

/// Writes keys to a new file, and returns once they are on disk. It gets the owner of the one that it replaces.
fn write(mut file: &File, keys: &Keys, like: Option<&Metadata>) -> io::Result<()> {
    file.write_all(text::format(keys).as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        if let Some(like) = like {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (like.uid(), like.gid()) {
                fchown(file, Some(like.uid()), Some(like.gid()))?;
            }
        }
        // Does not depend on the umask: with some, not even the owner could read it.
        let mode = like.map_or(0o600, |like| like.mode() & 0o777);
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = like;
    file.sync_all()
}
