//! Files that only root, or the user that the process runs as, can have written.

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat};
use rustix::io::Errno;
use seconder::model::Secret;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use zeroize::Zeroizing;

/// The most bytes that a file may have.
const LONGEST: u64 = 65_536;
/// The permission bits that let others write.
const OTHERS_WRITE: u32 = 0o022;
/// The permission bits of users who are neither the owner nor in the group.
const OTHERS: u32 = 0o007;
/// The sticky bit: in a folder with it, only the owner of a file may rename or remove it.
const STICKY: u32 = 0o1000;

/// The flags to look at a folder, for which the right to search it suffices.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY;

/// The users who may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Everybody.
    All,
    /// The owner and the group: the file holds a secret.
    Few,
}

/// Reads a file whose contents decide who may log in. See [`open_trusted`].
pub(crate) fn read(path: &Path, readers: Readers) -> Result<Secret, String> {
    let (file, stat) = open_trusted(path)?;
    if readers == Readers::Few && stat.st_mode & OTHERS != 0 {
        return Err(format!(
            "can be read by everybody, and holds a secret: run chmod 600 {}",
            path.display()
        ));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    File::from(file)
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("has more than {LONGEST} bytes"));
    }
    // Taken without a copy, which would not be wiped.
    match String::from_utf8(std::mem::take(&mut *bytes)) {
        Ok(text) => Ok(Secret::new(text)),
        Err(error) => {
            let before = error.utf8_error().valid_up_to();
            let bytes = Zeroizing::new(error.into_bytes());
            let line = 1 + bytes[..before].iter().filter(|byte| **byte == b'\n').count();
            Err(format!("is not text in UTF-8: see line {line}"))
        }
    }
}

/// Checks that only root or the process's effective user could have replaced a program.
pub(crate) fn check_program(path: &Path) -> Result<(), String> {
    let (_, stat) = open_trusted(path)?;
    match stat.st_mode & 0o111 {
        0 => Err("is not executable".into()),
        _ => Ok(()),
    }
}

/// Opens a regular file that belongs to root or to the process's effective user, like every folder above it, and that
/// others cannot write. A folder with the sticky bit may be written by others, since they cannot replace a file in it
/// that is not theirs. Symbolic links are rejected, because anyone who can replace one decides what is read; the path
/// that it leads to can be written instead.
///
/// The effective user is trusted like root: anyone who runs programs as that user can trace this process and change
/// what it decides.
///
/// A FIFO or a device does not block, and the file that was checked is the one that is read: each folder is opened, and
/// the next one within it.
pub(crate) fn open_trusted(path: &Path) -> Result<(OwnedFd, Stat), String> {
    let mut components = path.components();
    if components.next() != Some(Component::RootDir) {
        return Err("must be an absolute path".into());
    }
    let mut names: Vec<_> = components.collect();
    let last = names.pop().ok_or("is a folder")?;
    let flags = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut above = Path::new("/").to_path_buf();
    let mut folder =
        open("/", flags, Mode::empty()).map_err(|errno| failed("cannot open /", errno))?;
    check_owner(&stat_of(&folder)?, true).map_err(|reason| format!("is in /, which {reason}"))?;
    for name in names {
        above.push(plain(name)?);
        let failed = |errno| failed(&format!("cannot open the folder {}", above.display()), errno);
        folder = openat(&folder, plain(name)?, flags, Mode::empty()).map_err(failed)?;
        check_owner(&stat_of(&folder)?, true)
            .map_err(|reason| format!("is in {}, which {reason}", above.display()))?;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY;
    let file = openat(&folder, plain(last)?, flags, Mode::empty())
        .map_err(|errno| failed("cannot be opened", errno))?;
    let stat = stat_of(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("is not a regular file".into());
    }
    check_owner(&stat, false)?;
    Ok((file, stat))
}

fn plain(component: Component<'_>) -> Result<&Path, String> {
    match component {
        Component::Normal(name) => Ok(Path::new(name)),
        _ => Err("must be a path without `..`".into()),
    }
}

fn stat_of(file: &OwnedFd) -> Result<Stat, String> {
    fstat(file).map_err(|errno| failed("cannot be examined", errno))
}

fn check_owner(stat: &Stat, folder: bool) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    if stat.st_uid != 0 && stat.st_uid != own {
        return Err(format!("belongs to user {}: it must belong to root", stat.st_uid));
    }
    if stat.st_mode & OTHERS_WRITE != 0 && !(folder && stat.st_mode & STICKY != 0) {
        return Err("users other than its owner can write to it: run chmod go-w on it".into());
    }
    Ok(())
}

fn failed(what: &str, errno: Errno) -> String {
    match errno {
        // The error of a link with NOFOLLOW. For a folder, it is NOTDIR, as for a file in its place.
        Errno::LOOP | Errno::MLINK => {
            format!("{what}: it is a symbolic link. Write the path that it leads to")
        }
        Errno::NOTDIR => format!(
            "{what}: it is a symbolic link, or not a folder. Write the path that a link leads to"
        ),
        Errno::NXIO => "is not a regular file".into(),
        errno => format!("{what}: {}", std::io::Error::from(errno)),
    }
}
