//! The owner of a database, as whom commands of root use it: what root created there would not open for the service,
//! and root follows no link of another user.

use crate::admin::arguments::Database;
use crate::admin::commands::{invalid, user_name};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, geteuid, getgrouplist, setgid, setgroups, setuid};
use seconder::Result;
use std::ffi::CString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

/// The owner that this process has become, and the user who has called it.
static NOW: OnceLock<Owner> = OnceLock::new();

struct Owner {
    name: String,
    caller: String,
}

/// Returns what is known of the owner of a database file, if root runs this and the file belongs to another user, or
/// the folder where it would be created. A link belongs to the user who made it.
pub(crate) fn found(database: &Database) -> Option<Metadata> {
    let file = database.path().filter(|_| geteuid().is_root())?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Of what cannot be read, nothing is opened either.
    let found = file.symlink_metadata().or_else(|_| folder.unwrap_or(Path::new(".")).metadata());
    found.ok().filter(|found| found.uid() != 0)
}

/// Becomes the owner of the database for good, with all the groups of that user, if root runs this.
///
/// # Errors
/// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the system does not allow it.
pub(crate) fn become_owner(database: &Database) -> Result<()> {
    let Some(found) = found(database) else { return Ok(()) };
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
