//! Files that commands write: new ones, and ones that may exist. Another user may own the folder that
//! they are in: root must not be led to another file by a link there.

use seconder::files::{AtomicFile, is_at, open_plain};
#[cfg(unix)]
use seconder::{files::of_link, links};
use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Attempts to make a file that others remove.
const ATTEMPTS: u32 = 100;

/// Creates a new file next to the one that it is going to be. Its name shows which file it is for, because one that was
/// left is removed. It is locked until this process is done with it or ends: an unlocked one was left by a process that
/// was killed.
pub(crate) fn create(of: &Path) -> Result<AtomicFile> {
    let mut path = of.as_os_str().to_owned();
    path.push(".seconder-part");
    let path = PathBuf::from(path);
    for _ in 0..ATTEMPTS {
        match AtomicFile::create(path.clone()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => remove_left_over(&path)?,
            made => {
                let part = made?;
                lock(part.file(), &path)?;
                // Another process could have taken it for one that was left, before it was locked.
                if part.is_there() {
                    return Ok(part);
                }
            }
        }
    }
    Err(busy(&path))
}

fn remove_left_over(path: &Path) -> Result<()> {
    let left = match open_plain(path, File::options().read(true)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let reason = format!("{} is in the way, so move it away: {error}", path.display());
            return Err(Error::new(error.kind(), reason));
        }
        Ok(left) => left,
    };
    lock(&left, path)?;
    if is_at(&left, path) { std::fs::remove_file(path) } else { Ok(()) }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(busy(path)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn busy(path: &Path) -> Error {
    let reason = format!("another process is writing {}", path.display());
    Error::new(ErrorKind::ResourceBusy, reason)
}

#[cfg(unix)]
fn not_led_astray() -> i32 {
    use rustix::fs::OFlags;
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// Opens a file to be written from its beginning, a new one or one that exists; or a device or a pipe that is being
/// read. A link is followed if it belongs to root or to this user, as /dev/stdout does, or to the user of the file.
///
/// # Errors
/// The errors of the system, and [`ErrorKind::InvalidInput`] for other links and for a file with several names.
pub(crate) fn open_to_replace(path: &Path) -> Result<File> {
    let file = open_followed(path)?;
    if file.metadata()?.is_file() {
        require_one_name(&file)?;
        file.set_len(0)?;
        return Ok(file);
    }
    // A pipe may be full for a while.
    #[cfg(unix)]
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::empty())?;
    Ok(file)
}

#[cfg(unix)]
fn open_followed(path: &Path) -> Result<File> {
    use std::os::unix::fs::MetadataExt;
    let invalid = |message: String| Error::new(ErrorKind::InvalidInput, message);
    let found = links::resolve(path);
    let target = found.path.symlink_metadata().ok().map(|target| target.uid());
    let known = [Some(0), Some(rustix::process::geteuid().as_raw()), target];
    if let Some(link) =
        found.links.iter().find(|link| !link.is_folder && !known.contains(&Some(link.owner)))
    {
        let (link, owner) = (link.path.display(), link.owner);
        return Err(invalid(format!(
            "{link} is a link of the user {owner}, which is not followed"
        )));
    }
    let descriptor = found.links.iter().find(|link| is_descriptor(&link.path));
    let descriptor = descriptor.map(|link| link.path.clone());
    let real = found.for_root().map_err(|foreign| invalid(foreign.to_string()))?;
    match descriptor {
        Some(descriptor) => File::options().write(true).open(descriptor),
        None => open_without_links(&real),
    }
}

/// Returns whether a link is the name of an open file of a process, which may be a pipe without any other name.
#[cfg(unix)]
fn is_descriptor(link: &Path) -> bool {
    link.starts_with("/proc") && link.parent().is_some_and(|folder| folder.ends_with("fd"))
}

/// Opens the file of a path that was resolved. Where a link was put into it since, this fails.
#[cfg(unix)]
fn open_without_links(path: &Path) -> Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match openat2(CWD, path, how, Mode::from_raw_mode(0o666), ResolveFlags::NO_SYMLINKS) {
            // Old kernels do not have it, and some containers do not allow it.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            opened => return opened.map(File::from).map_err(|error| of_link(error.into())),
        }
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, not_led_astray());
    options.open(path).map_err(of_link)
}

#[cfg(not(unix))]
fn open_followed(path: &Path) -> Result<File> {
    File::options().write(true).create(true).truncate(false).open(path)
}

/// Rejects a file with another name, which is like a link to it.
#[cfg(unix)]
fn require_one_name(file: &File) -> Result<()> {
    match std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) {
        0 | 1 => Ok(()),
        _ => {
            Err(Error::new(ErrorKind::InvalidInput, "the file has several names: name another one"))
        }
    }
}

#[cfg(not(unix))]
fn require_one_name(_: &File) -> Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{lchown, symlink};

    fn written(path: &Path) -> Result<()> {
        open_to_replace(path)?.write_all(b"new")
    }

    #[test]
    fn a_file_is_replaced_but_no_other_one_by_a_link_of_somebody_else() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, second] = ["file", "link", "second"].map(|name| folder.path().join(name));
        written(&file).unwrap();
        fs::write(&file, "longer than what is new").unwrap();
        written(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        symlink(&file, &link).unwrap();
        fs::write(&file, "old").unwrap();
        written(&link).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        fs::write(&file, "old").unwrap();
        if lchown(&link, Some(65_534), None).is_ok() {
            let error = written(&link).unwrap_err().to_string();
            assert!(error.contains("link is a link of the user 65534"), "{error}");
            // Also if a link of root leads to it.
            let first = folder.path().join("first");
            symlink(&link, &first).unwrap();
            let error = written(&first).unwrap_err().to_string();
            assert!(error.contains("link is a link of the user 65534"), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        }
        fs::hard_link(&file, &second).unwrap();
        let error = written(&second).unwrap_err().to_string();
        assert!(error.contains("the file has several names"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        written(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn what_a_descriptor_leads_to_is_written() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        written(Path::new(&format!("/proc/self/fd/{}", writer.as_raw_fd()))).unwrap();
        drop(writer);
        assert_eq!(std::io::read_to_string(&mut reader).unwrap(), "new");
    }

    #[test]
    fn root_is_led_nowhere_by_a_folder_of_somebody_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/file"), "old").unwrap();
        symlink("real", at("folder")).unwrap();
        if !rustix::process::geteuid().is_root()
            || lchown(at("folder"), Some(65_534), None).is_err()
        {
            return;
        }
        let error = written(&at("folder/file")).unwrap_err().to_string();
        assert!(error.contains("folder is a link of the user 65534"), "{error}");
        assert_eq!(fs::read_to_string(at("real/file")).unwrap(), "old");
    }
}
