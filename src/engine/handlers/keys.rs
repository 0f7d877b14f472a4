//! The keyring of a database: its location, and the operations of its operator.

use crate::engine::core::Engine;
use crate::engine::handlers::settings::EngineSettings;
use crate::engine::store::{Backend, listed, wrong_ring};
use crate::keyring::{KeyId, Keyring, Ring};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Returns the ring of the database file at `path`: the one in the settings, or the one next to it.
/// It is created if nothing has been sealed in the database yet.
pub(in crate::engine) fn ring(
    database: &dyn Backend,
    path: &Path,
    settings: &EngineSettings,
) -> Result<Ring> {
    let file = settings.keyring.clone().unwrap_or_else(|| Keyring::beside(path));
    let using = database.begin()?;
    let listed = listed(database)?;
    drop(using);
    match listed.is_empty() {
        true => Ring::open_or_create(file),
        false => existing(file, path, &listed),
    }
}

/// Checks that the ring of the database at `path` has these keys, which a copy of it lists.
pub(in crate::engine) fn check(
    listed: &BTreeSet<KeyId>,
    path: &Path,
    keyring: Option<&Keyring>,
) -> Result<()> {
    if listed.is_empty() {
        return Ok(());
    }
    let file = keyring.cloned().unwrap_or_else(|| Keyring::beside(path));
    let ring = existing(file, path, listed)?;
    let keys = ring.last_keys();
    let missing: Vec<&KeyId> = listed.iter().filter(|id| keys.get(**id).is_none()).collect();
    if missing.is_empty() { Ok(()) } else { Err(wrong_ring(&ring, &missing)) }
}

/// Returns the ring in this file, which must be there because the database has secrets.
fn existing(file: Keyring, path: &Path, listed: &BTreeSet<KeyId>) -> Result<Ring> {
    if !file.exists() {
        let ids: Vec<_> = listed.iter().map(ToString::to_string).collect();
        return Err(Error::storage(format!(
            "there is no keyring {}, without which the secrets in {} cannot be read: restore it from \
             its backup, or name it with the setting `keyring`. It has the key {}. Nothing was changed",
            file.path().display(),
            path.display(),
            ids.join(" and the key ")
        )));
    }
    Ring::open(file)
}

/// Returns the ring of a database on a server. Each of its nodes would create another one, so it
/// must exist.
#[cfg(feature = "postgres")]
pub(in crate::engine) fn named_ring(settings: &EngineSettings) -> Result<Ring> {
    let Some(file) = &settings.keyring else {
        return Err(Error::invalid_argument(
            "keyring",
            "is required with postgres:, and must be the same for all who use the database: create \
             one with `seconder keyring create FILE` and copy it to each machine",
        ));
    };
    Ring::open(file.clone())
}

/// The result of [`Engine::reseal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resealed {
    /// The number of values that were sealed with another key and are sealed with the current one
    /// now.
    pub values: u64,
    /// The number of values that were sealed with another key and could not be opened: they are
    /// damaged, or the ring lacks their key. They are left as they are.
    pub unreadable: u64,
}

impl Engine {
    /// Returns the keyring of the database.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a sandbox, which has none.
    pub fn keyring(&self) -> Result<Keyring> {
        let file = self.shared.store.ring()?.file().cloned();
        file.ok_or_else(|| Error::invalid_argument("url", "names a database without a keyring"))
    }

    /// Returns the number of values in the database that were sealed with each key. This reads all
    /// sealed values, in steps that hold up no call.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a sandbox; [`Error::Storage`].
    pub fn sealed_values(&self) -> Result<BTreeMap<KeyId, u64>> {
        self.shared.store.sealed_values()
    }

    /// Seals again, with the current key of the ring, every value that was sealed with another one.
    /// This takes steps, between which calls go on; if it is interrupted, it can be started again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a sandbox; [`Error::Storage`].
    pub fn reseal(&self) -> Result<Resealed> {
        let done = self.shared.store.reseal()?;
        Ok(Resealed { values: done.values, unreadable: done.unreadable })
    }

    /// Removes a key from the ring, if no value in the database was sealed with it. A copy of the
    /// database that was made before may need it: keep a copy of the ring with it.
    ///
    /// Other databases that share the ring are not looked at.
    ///
    /// # Errors
    /// [`Error::Storage`] if values were sealed with it, if it is the current key, or if the ring was
    /// changed less than an hour ago: something might still be sealed with the other one.
    /// [`Error::InvalidArgument`] for a sandbox.
    pub fn remove_sealing_key(&self, key: KeyId) -> Result<()> {
        let ring = self.keyring()?;
        ring.check_removable(key)?;
        self.shared.store.unlist(key)?;
        ring.remove(key)
    }
}
