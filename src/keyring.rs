//! The keys that seal the secrets in a database, in a file apart from it: a copy of the database
//! alone reveals no secret of an authenticator app, no code and no API key.
//!
//! An engine seals new values with the current key of its ring, and opens each value with the key that
//! it was sealed with. [`Keyring::rotate`] adds a key, which is the current one from then on: engines
//! that run look at the file before they write, so that nothing has to be restarted.

mod file;
mod key;
mod text;

pub use key::KeyId;
pub(crate) use key::{Cipher, Key};

#[cfg(doc)]
use crate::engine::Engine;
use crate::files::sync_folder;
use crate::{Error, Result};
use file::Version;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time that must have passed since the last change of the ring before a key can be removed, in
/// seconds. By then, every value that was about to be sealed with the other key has been written.
const SETTLED: u64 = 3600;

/// The keys of a ring.
pub(crate) struct Keys {
    keys: Vec<Key>,
    /// The place of the current one.
    current: usize,
}

impl Keys {
    pub(crate) fn current(&self) -> Option<&Key> {
        self.keys.get(self.current)
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<&Key> {
        self.keys.iter().find(|key| key.id == id)
    }
}

/// A keyring file, and the operations of an operator on it.
///
/// ```
/// # fn f() -> seconder::Result<()> {
/// use seconder::keyring::Keyring;
/// let ring = Keyring::at("/etc/seconder/keyring");
/// ring.create()?;
/// for key in ring.keys()? {
///     println!("{} {}", key.id, if key.is_current { "current" } else { "" });
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Keyring {
    path: PathBuf,
    loaded: Option<Loaded>,
}

/// The keys of a file that the process may not be able to read again.
#[derive(Clone)]
struct Loaded {
    keys: Arc<Keys>,
    version: Version,
}

impl fmt::Debug for Loaded {
    /// Writes no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loaded")
    }
}

/// A key of a ring, without its key material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// The id, with which each value begins that was sealed with the key.
    pub id: KeyId,
    /// When it was made, since the Unix epoch.
    pub created_at: Duration,
    /// Set if new values are sealed with it.
    pub is_current: bool,
}

impl Keyring {
    /// Returns the keyring in this file, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Keyring {
        Keyring { path: path.into(), loaded: None }
    }

    /// Reads the keys now, for an engine that is opened when the process can no longer read the file: root has become
    /// another user, say. That engine notices no key that is added later.
    ///
    /// # Errors
    /// As for [`Keyring::keys`].
    #[doc(hidden)]
    pub fn load(mut self) -> Result<Keyring> {
        self.loaded = Some(self.latest()?);
        Ok(self)
    }

    /// Returns whether the file is there, or its keys were read.
    pub(crate) fn exists(&self) -> bool {
        self.loaded.is_some() || self.path.exists()
    }

    /// Returns the keyring that an engine creates next to a database file: `seconder.db.keys` for
    /// `seconder.db`.
    pub fn beside(database: &Path) -> Keyring {
        let mut name = database.as_os_str().to_owned();
        name.push(".keys");
        Keyring::at(name)
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file with one key, readable by its owner only. Its folder must exist.
    ///
    /// # Errors
    /// [`Error::Storage`] if there is a file already, which is left unchanged, or it cannot be
    /// written.
    pub fn create(&self) -> Result<()> {
        self.try_create()?.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::storage(format!(
                "{} exists already: a keyring is never replaced, because it would take the secrets \
                 with it",
                self.path.display()
            )),
            _ => self.not_created(&error),
        })
    }

    /// Creates the file, unless it exists by now.
    fn create_if_missing(&self) -> Result<()> {
        self.try_create()?.or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(self.not_created(&error)),
        })
    }

    fn try_create(&self) -> Result<std::io::Result<()>> {
        file::create(&self.path, now())
    }

    fn not_created(&self, error: &std::io::Error) -> Error {
        file::failed(&self.path, "created", error)
    }

    /// Returns the keys, oldest first.
    ///
    /// # Errors
    /// [`Error::Storage`] if the file does not exist, can be read by others, belongs to a user
    /// other than the process's own or root, or is damaged.
    pub fn keys(&self) -> Result<Vec<KeyInfo>> {
        let keys = self.latest()?.keys;
        let infos = keys.keys.iter().enumerate().map(|(place, key)| KeyInfo {
            id: key.id,
            created_at: Duration::from_secs(key.created_at),
            is_current: place == keys.current,
        });
        Ok(infos.collect())
    }

    /// Adds a key, and makes it the current one. Returns its id. Engines that run seal with it from
    /// their next write on; values that were sealed with other keys stay readable.
    ///
    /// # Errors
    /// As for [`Keyring::keys`]; [`Error::Storage`] if the file cannot be replaced, or has 100
    /// keys.
    pub fn rotate(&self) -> Result<KeyId> {
        // In two steps: no process may seal with a key that would be lost if the power failed now.
        let id = self.add()?;
        self.make_current(id)?;
        Ok(id)
    }

    /// Adds a key that is not the current one yet. Where several machines have copies of the ring, each
    /// gets it before any of them seals with it. Returns its id.
    ///
    /// # Errors
    /// As for [`Keyring::rotate`].
    pub fn add(&self) -> Result<KeyId> {
        let key = Key::random(now())?;
        let id = key.id;
        file::replace(&self.path, |mut keys| {
            if keys.keys.len() >= text::MOST {
                return Err(Error::storage(format!(
                    "the keyring {} has {} keys, and no more are read: remove some that no value \
                     uses",
                    self.path.display(),
                    text::MOST
                )));
            }
            keys.keys.push(key);
            Ok((id, keys))
        })
    }

    /// Makes a key of the ring the current one.
    ///
    /// # Errors
    /// [`Error::Storage`] if the ring does not have it, or the file cannot be replaced.
    pub fn make_current(&self, id: KeyId) -> Result<()> {
        file::replace(&self.path, |mut keys| {
            let place = keys.keys.iter().position(|key| key.id == id);
            keys.current = place.ok_or_else(|| self.unknown(id))?;
            Ok(((), keys))
        })
    }

    /// Removes a key. The caller must know that no value was sealed with it:
    /// [`Engine::remove_sealing_key`] makes sure of it for its database.
    pub(crate) fn remove(&self, id: KeyId) -> Result<()> {
        file::replace(&self.path, |mut keys| {
            let place = self.removable(&keys, id)?;
            keys.keys.remove(place);
            keys.current -= usize::from(place < keys.current);
            Ok(((), keys))
        })
    }

    /// Fails if the key cannot be removed, even if no value was sealed with it.
    pub(crate) fn check_removable(&self, id: KeyId) -> Result<()> {
        if self.loaded.is_some() {
            let shown = self.path.display();
            return Err(Error::storage(format!(
                "the keyring {shown} belongs to root, and this process has become the owner of the database, who cannot \
                 replace it: run this with --keyring and a copy by `cp -p` that belongs to that user, and put it back"
            )));
        }
        let keys = self.latest()?.keys;
        self.removable(&keys, id).map(drop)
    }

    fn removable(&self, keys: &Keys, id: KeyId) -> Result<usize> {
        let place = keys.keys.iter().position(|key| key.id == id);
        let place = place.ok_or_else(|| self.unknown(id))?;
        let shown = self.path.display();
        if place == keys.current {
            return Err(Error::storage(format!(
                "{id} is the current key of {shown}: add another with `seconder keyring rotate` \
                 first"
            )));
        }
        // A key may become the current one long after it was made.
        let changed = file::changed_at(&self.path).unwrap_or_else(now);
        let current = keys.current().map_or(0, |key| key.created_at);
        if current.max(changed).saturating_add(SETTLED) > now() {
            return Err(Error::storage(format!(
                "the keyring {shown} was changed less than an hour ago, so that something may still \
                 be sealed with {id}: remove it later"
            )));
        }
        Ok(place)
    }

    fn unknown(&self, id: KeyId) -> Error {
        let shown = self.path.display();
        Error::storage(format!("the keyring {shown} has no key {id}: `seconder keyring list`"))
    }

    /// Returns the keys that were loaded, or else those of the file.
    fn latest(&self) -> Result<Loaded> {
        if let Some(loaded) = &self.loaded {
            return Ok(loaded.clone());
        }
        let (keys, version, _) = self.read()?;
        Ok(Loaded { keys: Arc::new(keys), version })
    }

    fn read(&self) -> Result<(Keys, Version, File)> {
        file::read(&self.path)?.ok_or_else(|| missing(&self.path))
    }
}

fn missing(path: &Path) -> Error {
    let shown = path.display();
    Error::storage(format!(
        "there is no keyring {shown}: restore it from its backup or, for a new database, create one \
         with `seconder keyring create {shown}`"
    ))
}

/// Returns the system's time, in seconds since the Unix epoch. It dates keys and decides nothing
/// else.
fn now() -> u64 {
    crate::engine::system_time().as_secs()
}

/// The keys of an engine that runs, which may be added to meanwhile.
pub(crate) struct Ring {
    /// `None` for keys that are nowhere but in memory.
    file: Option<Keyring>,
    inner: Mutex<Inner>,
}

struct Inner {
    keys: Arc<Keys>,
    /// The version of the file that the keys are from.
    version: Option<Version>,
}

impl Ring {
    /// Keys that end with the process.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Result<Ring> {
        let keys = Arc::new(Keys { keys: vec![Key::random(now())?], current: 0 });
        Ok(Ring { file: None, inner: Mutex::new(Inner { keys, version: None }) })
    }

    /// Opens the ring in a file that exists.
    pub(crate) fn open(file: Keyring) -> Result<Ring> {
        let Loaded { keys, version } = file.latest()?;
        let inner = Inner { keys, version: Some(version) };
        Ok(Ring { file: Some(file), inner: Mutex::new(inner) })
    }

    /// Opens the ring in a file, which is created if it is missing. It is on disk when this
    /// returns.
    pub(crate) fn open_or_create(file: Keyring) -> Result<Ring> {
        if file.loaded.is_some() {
            return Ring::open(file);
        }
        let found = match file::read(&file.path)? {
            Some(found) => found,
            None => {
                file.create_if_missing()?;
                file.read()?
            }
        };
        // Another process may have created it just now, and not have come this far.
        let synced = found.2.sync_all().and_then(|()| sync_folder(&file.path));
        synced.map_err(|error| file.not_created(&error))?;
        let inner = Inner { keys: Arc::new(found.0), version: Some(found.1) };
        Ok(Ring { file: Some(file), inner: Mutex::new(inner) })
    }

    pub(crate) fn file(&self) -> Option<&Keyring> {
        self.file.as_ref()
    }

    /// Returns the keys as they were when the file was looked at last.
    pub(crate) fn last_keys(&self) -> Arc<Keys> {
        Arc::clone(&self.inner.lock().unwrap_or_else(PoisonError::into_inner).keys)
    }

    /// Returns the keys as they are now: the file is read again if it was replaced. One that cannot be read leaves the
    /// keys as they are, so that no call fails for it, and is read again the next time: there may have been too few
    /// descriptors, for example.
    pub(crate) fn keys(&self) -> Arc<Keys> {
        let Some(file) = &self.file else { return self.last_keys() };
        self.follow(Version::at(&file.path), || file::read(&file.path).ok().flatten())
    }

    fn follow(
        &self,
        version: Option<Version>,
        read: impl FnOnce() -> Option<(Keys, Version, File)>,
    ) -> Arc<Keys> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if version.is_some()
            && version != inner.version
            && let Some((keys, version, _)) = read()
        {
            *inner = Inner { keys: Arc::new(keys), version: Some(version) };
        }
        Arc::clone(&inner.keys)
    }
}

#[cfg(test)]
mod tests;
