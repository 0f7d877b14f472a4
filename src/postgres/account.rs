//! The user of this process, without the environment.

use std::path::PathBuf;

pub(super) struct Account {
    pub(super) name: String,
    pub(super) home: PathBuf,
}

/// Returns the user that the process runs as, if the system knows it.
#[cfg(target_os = "linux")]
pub(super) fn current() -> Option<Account> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten()?;
    Some(Account { name: user.name, home: user.dir })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn current() -> Option<Account> {
    None
}
