//! The owner of a database, as whom commands of root use it: what root created there would not open for the service,
//! and root follows no link of another user.

use crate::invalid;
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, geteuid, getgrouplist, getuid, setgid, setgroups, setuid};
use seconder::Result;
use seconder::keyring::Keyring;
use std::ffi::CString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

/// The owner that this process has become, and the user who has called it.
static NOW: OnceLock<Owner> = OnceLock::new();

/// A keyring of root's own, which was read before.
static RING: OnceLock<Keyring> = OnceLock::new();

struct Owner {
    name: String,
    caller: String,
}

/// Returns what is known of the owner of a database file, if root runs this and the file belongs to another user, or
/// the folder where it would be created. A link belongs to the user who made it.
pub(crate) fn found(database: Option<&Path>) -> Option<Metadata> {
    let file = database.filter(|_| geteuid().is_root())?;
    // Of what cannot be read, nothing is opened either.
    let found = file.symlink_metadata().or_else(|_| folder(file).metadata());
    found.ok().filter(|found| found.uid() != 0)
}

fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Becomes the owner of the database for good, with all the groups of that user, if root runs this. A keyring that
/// belongs to root is read before.
///
/// # Errors
/// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the system does not allow it, and
/// [`Error::Storage`](seconder::Error::Storage) if that keyring cannot be read.
pub(crate) fn become_owner(database: Option<&Path>, ring: Option<&Path>) -> Result<()> {
    load_keyring(database, ring)?;
    found(database).map_or(Ok(()), |found| become_user(&found))
}

/// Reads a keyring that belongs to root, if this is about to become the owner of the database.
///
/// # Errors
/// [`Error::Storage`](seconder::Error::Storage) if it cannot be read.
pub(crate) fn load_keyring(database: Option<&Path>, ring: Option<&Path>) -> Result<()> {
    let ring = found(database).and(ring).filter(|ring| is_of_root(ring));
    if let Some(keyring) = ring.map(|ring| Keyring::at(ring).load()).transpose()? {
        let _ = RING.set(keyring);
    }
    Ok(())
}

/// Becomes the owner of a keyring for good, or else of the database, if root runs this and the keyring is not root's.
///
/// # Errors
/// As for [`become_owner`].
pub(crate) fn become_owner_of_keyring(database: Option<&Path>, ring: Option<&Path>) -> Result<()> {
    match ring.filter(|ring| is_of_root(ring)) {
        Some(_) => Ok(()),
        None => become_owner(database, ring),
    }
}

/// Returns whether a file and its folder belong to root, and the file is no link of another user.
fn is_of_root(file: &Path) -> bool {
    let owners = [folder(file).metadata(), file.symlink_metadata(), file.metadata()];
    owners.into_iter().all(|found| found.is_ok_and(|found| found.uid() == 0))
}

/// Returns the keyring in this file, if it was read before.
pub(crate) fn keyring(file: &Path) -> Option<Keyring> {
    RING.get().filter(|keyring| keyring.path() == file).cloned()
}

fn become_user(found: &Metadata) -> Result<()> {
    let user = User::from_uid(Uid::from_raw(found.uid())).ok().flatten();
    let name =
        user.as_ref().map_or_else(|| format!("uid:{}", found.uid()), |user| user.name.clone());
    let failed = |error: Errno| {
        let reason = format!("belongs to {name}, and root cannot become that user: {error}");
        invalid("database", reason)
    };
    let caller = user_name();
    let (gid, groups) = match &user {
        Some(user) => {
            let name = CString::new(&*user.name).map_err(|_| failed(Errno::EINVAL))?;
            (user.gid, getgrouplist(&name, user.gid).map_err(failed)?)
        }
        None => (Gid::from_raw(found.gid()), Vec::new()),
    };
    setgroups(&groups).and_then(|()| setgid(gid)).map_err(failed)?;
    setuid(Uid::from_raw(found.uid())).map_err(failed)?;
    if setuid(Uid::from_raw(0)).is_ok() {
        return Err(failed(Errno::EPERM));
    }
    let _ = NOW.set(Owner { name, caller });
    Ok(())
}

/// Returns the user who called the command before it became another one.
pub(crate) fn caller() -> Option<String> {
    NOW.get().map(|owner| owner.caller.clone())
}

/// Returns what to say of an error of a command that has become another user.
pub(crate) fn advice(error: &str) -> Option<String> {
    let owner = NOW.get().filter(|_| error.contains("ermission denied"))?;
    let name = &owner.name;
    Some(format!(
        " (this ran as {name}, to whom the database belongs: name files and folders of that user)"
    ))
}

/// Returns the name of the user who runs the command, for the audit: by `sudo`, the one who called it.
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "sudo passes the name by this variable alone")]
pub(crate) fn user_name() -> String {
    if let Some(caller) = caller() {
        return caller;
    }
    let by_sudo = std::env::var("SUDO_USER").ok();
    // Any text can be in a variable, but not in the audit.
    let known = by_sudo.and_then(|name| User::from_name(&name).ok().flatten());
    let user = known.or_else(|| User::from_uid(getuid()).ok().flatten());
    user.map_or_else(|| format!("uid:{}", getuid()), |user| user.name)
}
