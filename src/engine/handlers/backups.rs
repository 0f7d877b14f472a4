//! Backups, and the restore of one.

use super::keys;
use crate::Result;
use crate::engine::core::Engine;
use crate::engine::model::clock::{System, Time};
use crate::engine::operations::audit::AuditVerdict;
use crate::engine::store::{self, Copied};
use crate::keyring::{KeyId, Keyring};
use std::collections::BTreeSet;
use std::path::Path;

impl Engine {
    /// Copies the database file as of one moment into a new file, for its owner alone. Calls go on
    /// meanwhile. The copy is checked and on disk when this returns; after an error, there is no copy.
    /// `progress` is given the bytes that are copied, and all that are to be. If this process is forked
    /// meanwhile, the copy starts over, so that the fork does not wait for it.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if the file exists or cannot be written, if a log of
    /// another database is next to it, if the database is damaged or not in a file, or if it is locked or
    /// this process forked all the time.
    pub fn backup(&self, path: &Path, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        self.shared.store.copy_to(path, &mut progress)
    }

    /// Spends everything that may have been used since the copy was made that the database was
    /// restored from, in any way: the steps of all authenticator apps up to now, the codes by SMS and
    /// voice, and the approval requests that are open. All browsers are forgotten.
    ///
    /// A database file that was put back from a copy is recognised when it is opened, and needs no
    /// call. Call this where that is impossible: after a file system or a whole machine was set back,
    /// or a server's database was restored. It reads whole tables, and calls wait for it.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if nothing was changed, or the audit could not be written.
    pub fn spend_codes(&self) -> Result<()> {
        self.shared.store.spend(self.now().clock)?;
        self.note_of_database("spend_codes", AuditVerdict::Done, None)
    }
}

/// Puts a copy of a database in its place, and spends everything that may have been used since it was
/// made: see [`Engine::spend_codes`]. The copy is checked first; after an error, the database is as it was.
/// `progress` is given the bytes that are copied, and all that are to be.
///
/// The keyring is not in the copy: it must be in this file, or in the one next to the database.
///
/// # Errors
/// [`Error::Storage`](crate::Error::Storage) if a process has the database open, if it exists and
/// `replace` is not set, if the copy is damaged or belongs to another program, or if the keyring lacks a
/// key that it needs.
pub fn restore(
    copy: &Path,
    database: &Path,
    replace: bool,
    keyring: Option<&Keyring>,
    mut progress: impl FnMut(u64, u64),
) -> Result<()> {
    let check = |listed: &BTreeSet<KeyId>| keys::check(listed, database, keyring);
    let copy = Copied { copy, database, replace, check: &check };
    store::restore(&copy, Time::of(&System), &mut progress)
}
