//! The file of a local socket: it appears with its owner and mode, and replaces nothing but a socket without a
//! listener.

use super::folder::check_folder;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The longest name of a socket on Linux.
const LONGEST: usize = 107;
/// The socket within the private folder in which it is made.
const NAME: &str = "s";

/// The owner, group and mode of a socket's file. By default, the owner and group of this process, and 0600.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    owner: Option<u32>,
    group: Option<u32>,
    mode: Option<u32>,
}

/// The file of a socket, which is removed when this is dropped, unless another process has replaced it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    id: FileId,
}

/// The device and inode of a file.
type FileId = (u64, u64);

impl SocketOptions {
    /// Reads the options from the names or numbers of a user and a group, and a mode in octal.
    /// Without a mode, a socket with a group has 0660, and one without 0600: a user who may open a
    /// socket may at least occupy the server, so access has to be granted explicitly.
    ///
    /// # Errors
    /// All errors.
    pub fn parse(
        owner: Option<&str>,
        group: Option<&str>,
        mode: Option<&str>,
    ) -> Result<SocketOptions, Vec<String>> {
        let mut problems = Vec::new();
        let mut number = |option: &str,
                          name: Option<&str>,
                          find: fn(&str) -> Result<u32, String>| {
            match name.map(find).transpose() {
                Ok(number) => number,
                Err(problem) => {
                    problems.push(format!("{option} {problem}"));
                    None
                }
            }
        };
        let owner = number("--unix-owner", owner, super::rules::user_number);
        let group = number("--unix-group", group, super::rules::group_number);
        let mode = number("--unix-mode", mode, permissions);
        match problems.is_empty() {
            true => Ok(SocketOptions { owner, group, mode }),
            false => Err(problems),
        }
    }

    /// Returns the mode that the file has.
    pub fn mode(&self) -> u32 {
        self.mode.unwrap_or(if self.group.is_some() { 0o660 } else { 0o600 })
    }
}

fn permissions(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| mode & !0o666 == 0);
    let digits = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    mode.filter(|mode| digits && mode & 0o600 == 0o600).ok_or_else(|| {
        format!(
            "must be the octal mode of a file that its owner can read and write, such as 0660, \
                 and not {text}"
        )
    })
}

impl SocketFile {
    /// Listens on a socket at this path.
    ///
    /// It is made in a private folder next to its place, because others could connect to it before
    /// its mode is set, and then moved.
    ///
    /// # Errors
    /// The error in the path, to be read after it.
    pub(super) fn bind(
        path: &Path,
        options: SocketOptions,
    ) -> Result<(UnixListener, SocketFile), String> {
        let Some(_) = path.file_name() else { return Err("must name a file".into()) };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        check_folder(folder)?;
        let stale = stale(path)?;
        let mut private = Private::new(folder).map_err(cannot("be created"))?;
        let made = private.path.join(NAME);
        for name in [path, &made] {
            if name.as_os_str().len() > LONGEST {
                return Err(format!("is too long for a socket: shorten it, {LONGEST} bytes fit"));
            }
        }
        let listener = UnixListener::bind(&made).map_err(cannot("be created"))?;
        let id = id(&fs::symlink_metadata(&made).map_err(cannot("be created"))?);
        private.own = [id].into_iter().chain(stale).collect();
        lchown(&made, options.owner, options.group).map_err(cannot("get its owner and group"))?;
        fs::set_permissions(&made, Permissions::from_mode(options.mode()))
            .map_err(cannot("get its mode"))?;
        place(&made, path, stale)?;
        Ok((listener, SocketFile { path: path.to_owned(), id }))
    }

    /// Returns whether the file at the path is still this one.
    pub(crate) fn is_ours(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| id(&found) == self.id)
    }

    /// Removes the file, if it is still this one.
    pub(crate) fn remove(&self) {
        if self.is_ours() {
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A folder that only this user can enter, until it is dropped.
struct Private {
    path: PathBuf,
    /// The files that may be removed from it: the new socket, and the stale one. Any other file belongs to another
    /// process.
    own: Vec<FileId>,
}

impl Private {
    fn new(folder: &Path) -> io::Result<Private> {
        let mut number: u32 = 0;
        loop {
            // Short, because it is part of the name of a socket.
            let path = folder.join(format!(".{:x}{number:x}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 4096 => {
                    number += 1;
                }
                result => return result.map(|()| Private { path, own: Vec::new() }),
            }
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let made = self.path.join(NAME);
        if fs::symlink_metadata(&made).is_ok_and(|found| self.own.contains(&id(&found))) {
            let _ = fs::remove_file(made);
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Returns the socket at this path that has no listener; `None` if there is no file.
fn stale(path: &Path) -> Result<Option<FileId>, String> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("be looked at")(error)),
    };
    if !found.file_type().is_socket() {
        return Err("exists and is not a socket, so it is left alone".into());
    }
    match try_to_connect(path) {
        // The backlog of a server that hangs may be full.
        Ok(()) | Err(Errno::AGAIN) => Err("is in use: another server listens on it".into()),
        Err(Errno::CONNREFUSED) => Ok(Some(id(&found))),
        Err(error) => Err(format!(
            "exists, and it is not known whether somebody listens on it: {}",
            io::Error::from(error)
        )),
    }
}

/// Tries to connect without blocking: see above.
fn try_to_connect(path: &Path) -> Result<(), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

/// Moves a new socket to its place. The file there must still be the one that was seen before.
fn place(made: &Path, path: &Path, stale: Option<FileId>) -> Result<(), String> {
    let put = cannot("be put in its place");
    let Some(stale) = stale else {
        return match rename(made, path, Replace::Nothing) {
            Ok(()) => Ok(()),
            Err(error) if is_unsupported(&error) => link(made, path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(CREATED.into()),
            Err(error) => Err(put(error)),
        };
    };
    let is_stale = |file: &Path| fs::symlink_metadata(file).is_ok_and(|found| id(&found) == stale);
    match rename(made, path, Replace::Exchange) {
        Ok(()) if is_stale(made) => Ok(()),
        Ok(()) => {
            let _ = rename(made, path, Replace::Exchange);
            Err(CREATED.into())
        }
        Err(error) if is_unsupported(&error) && is_stale(path) => {
            fs::remove_file(path).map_err(put)?;
            link(made, path)
        }
        Err(error) => Err(put(error)),
    }
}

/// Places the socket on systems that cannot exchange files. A link does not replace anything either.
fn link(made: &Path, path: &Path) -> Result<(), String> {
    match fs::hard_link(made, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(CREATED.into()),
        result => result.map_err(cannot("be put in its place")),
    }
}

const CREATED: &str = "was created by another process just now";

/// The effect of moving a file to the path of an existing one.
#[derive(Clone, Copy)]
enum Replace {
    Nothing,
    Exchange,
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename(from: &Path, to: &Path, replace: Replace) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = match replace {
        Replace::Nothing => RenameFlags::NOREPLACE,
        Replace::Exchange => RenameFlags::EXCHANGE,
    };
    Ok(renameat_with(CWD, from, CWD, to, flags)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename(_from: &Path, _to: &Path, _replace: Replace) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether a rename is not supported: some file systems cannot rename without replacing.
fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error().is_some_and(|number| unsupported.contains(&number))
}

fn id(found: &Metadata) -> FileId {
    (found.dev(), found.ino())
}

pub(super) fn cannot(what: &str) -> impl FnOnce(io::Error) -> String {
    move |error| format!("cannot {what}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two sockets without listeners, and their folder.
    fn sockets() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (made, path) = (folder.path().join("made"), folder.path().join("path"));
        drop(UnixListener::bind(&made).unwrap());
        drop(UnixListener::bind(&path).unwrap());
        (folder, made, path)
    }

    fn id_of(path: &Path) -> FileId {
        id(&fs::symlink_metadata(path).unwrap())
    }

    #[test]
    fn what_took_the_place_meanwhile_stays() {
        let (_folder, made, path) = sockets();
        let (new, stale) = (id_of(&made), id_of(&path));
        // The file was not there when it was looked for.
        assert!(place(&made, &path, None).unwrap_err().contains("just now"));
        assert!(link(&made, &path).unwrap_err().contains("just now"));
        // The file was another one.
        fs::rename(&path, path.with_extension("stale")).unwrap();
        fs::write(&path, "notes").unwrap();
        assert!(place(&made, &path, Some(stale)).unwrap_err().contains("just now"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
        assert_eq!(id_of(&made), new);
        fs::remove_file(&path).unwrap();
        assert!(place(&made, &path, Some(stale)).is_err());
        place(&made, &path, None).unwrap();
        assert_eq!(id_of(&path), new);
    }

    #[test]
    fn a_stale_socket_is_replaced() {
        let (_folder, made, path) = sockets();
        let (new, stale) = (id_of(&made), id_of(&path));
        place(&made, &path, Some(stale)).unwrap();
        assert_eq!((id_of(&path), id_of(&made)), (new, stale));
        fs::remove_file(&path).unwrap();
        link(&made, &path).unwrap();
        assert_eq!(id_of(&path), stale);
    }

    #[test]
    fn a_foreign_file_in_the_private_folder_stays() {
        let (folder, made, _) = sockets();
        let mut private = Private::new(folder.path()).unwrap();
        let (path, foreign) = (private.path.clone(), private.path.join(NAME));
        private.own = vec![id_of(&made)];
        fs::write(&foreign, "notes").unwrap();
        drop(private);
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "notes");
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_mode_is_that_of_a_file_which_its_owner_can_use() {
        let mode = |text| SocketOptions::parse(None, None, Some(text)).map(|found| found.mode());
        for (text, wanted) in [("0600", 0o600), ("660", 0o660), ("0666", 0o666), ("0622", 0o622)] {
            assert_eq!(mode(text), Ok(wanted));
        }
        for bad in ["", "0", "0060", "0700", "1600", "0o600", "+600", "00660", "0680", "rw"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
        assert_eq!(SocketOptions::parse(None, Some("4711"), None).unwrap().mode(), 0o660);
        assert_eq!(SocketOptions::default().mode(), 0o600);
    }
}
